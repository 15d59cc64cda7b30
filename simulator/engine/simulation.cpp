// Building, running and collecting.
#include "simulator/engine/simulation.hpp"

#include <algorithm>
#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/engine/link_bytes.hpp"
#include "simulator/engine/trace_builder.hpp"

namespace podsim::engine {
namespace {

constexpr double kProgressStep = 0.01;

std::vector<Code> flatten_all(const Topology& topology, const Program& program) {
  const int needed = program.replicas * program.ipus_per_replica;
  if (program.replicas < 1 || program.ipus_per_replica < 1 ||
      static_cast<int>(program.ipus.size()) != program.ipus_per_replica) {
    throw InternalError("engine: a program for " + std::to_string(program.ipus_per_replica) + " IPUs per replica has " +
                        std::to_string(program.ipus.size()) + " trees, " + std::to_string(program.replicas) +
                        " replicas");
  }
  if (needed > topology.ipu_count()) {
    throw UserError({},
                    std::to_string(program.replicas) + " replicas of " + std::to_string(program.ipus_per_replica) +
                        " IPUs need " + std::to_string(needed) + " IPUs; " + topology.name() + " has " +
                        std::to_string(topology.ipu_count()),
                    "take fewer replicas or pipeline stages, or a larger pod");
  }
  std::vector<Code> codes;
  for (int local = 0; local < program.ipus_per_replica; ++local) codes.push_back(flatten(program, local));
  return codes;
}

}  // namespace

Simulation::Simulation(const Topology& topology, const Program& program, RunSettings settings, Platform* platform)
    : topology_(topology),
      program_(program),
      settings_(std::move(settings)),
      codes_(flatten_all(topology, program)),
      kernel_(topology, platform),
      link_users_(topology),
      exchanges_(topology, program, kernel_, settings_.closed_form),
      collectives_(topology, program, kernel_, settings_.closed_form),
      memory_(topology, program, kernel_),
      streams_(topology, program, codes_, kernel_, settings_.record_intervals),
      calls_(topology, program, kernel_, streams_),
      parts_{program_, kernel_, exchanges_, collectives_, memory_, calls_, streams_},
      interpreter_(parts_) {
  exchanges_.register_links(link_users_);
  collectives_.register_links(link_users_);
  memory_.register_links(link_users_);
  streams_.register_links(link_users_);
  exchanges_.set_link_users(link_users_,
                            [this](int group, int replica) { return collectives_.has_member_in(group, replica); });
  collectives_.set_link_users(link_users_);
}

void Simulation::spawn_ipus() {
  for (int replica = 0; replica < program_.replicas; ++replica) {
    for (int local = 0; local < program_.ipus_per_replica; ++local) {
      const int index = replica * program_.ipus_per_replica + local;
      Ipu& ipu = ipus_.emplace_back(replica, local, index, codes_[static_cast<std::size_t>(local)],
                                    settings_.record_intervals);
      kernel_.spawn(ipu.process, topology_.ipu_vertex(index), "ipu" + std::to_string(index),
                    [this, &ipu] { interpreter_.execute(ipu); });
    }
  }
}

Trace Simulation::run() {
  kernel_.start();
  calls_.spawn(executions(codes_.front(), OpKind::HostCall));
  spawn_ipus();
  streams_.spawn();
  if (settings_.fast_forward && !streams_.random()) {
    fast_forward_.emplace(parts_, ipus_, interpreter_);
    interpreter_.on_iteration([this](Ipu& ipu) { fast_forward_->boundary(ipu); });
  }
  if (settings_.progress) interpreter_.on_exchange([this](Ipu& ipu) { report_progress(ipu); });
  const bool complete = kernel_.run();
  const bool all_finished = std::all_of(ipus_.begin(), ipus_.end(), [](const Ipu& ipu) { return ipu.finished; });
  if (!complete || !all_finished) throw InternalError(describe_deadlock(ipus_, program_));
  return collect();
}

// The share of the outermost loops that the first IPU has behind it.
void Simulation::report_progress(const Ipu& ipu) {
  double share = 0;
  double width = 1;
  for (std::size_t level = 0; level < ipu.cursor.depth(); ++level) {
    const Cursor::Frame& frame = ipu.cursor.frame(level);
    const auto count = static_cast<double>(codes_.front().loops[static_cast<std::size_t>(frame.loop)].count);
    share += width * static_cast<double>(frame.iteration) / count;
    width /= count;
  }
  if (share < reported_share_ + kProgressStep) return;
  reported_share_ = share;
  settings_.progress(share);
}

std::vector<LinkUse> Simulation::link_uses() const {
  LinkBytes bytes(topology_);
  for (const Exchanges::Pattern* pattern : exchanges_.patterns()) {
    for (const FlowRequest& flow : pattern->flows) bytes.add(flow, static_cast<double>(pattern->executions));
  }
  for (const Collectives::Group& group : collectives_.groups()) {
    for (const CollectiveGroup::Step& step : group.plan.steps) {
      const auto times = static_cast<double>(group.executions * step.repeat);
      for (const FlowRequest& flow : step.flows) bytes.add(flow, times);
    }
  }
  memory_.add_bytes(bytes, codes_);
  streams_.add_bytes(bytes);
  return bytes.uses();
}

Trace Simulation::collect() {
  Trace trace;
  const std::vector<Skip> skips = fast_forward_ ? fast_forward_->skips() : std::vector<Skip>{};
  build_timelines(ipus_, program_.ipus_per_replica, skips, trace);
  trace.update_ends = interpreter_.update_ends().times();
  trace.run_ends = interpreter_.run_ends().times();
  trace.links = link_uses();
  trace.queues = std::move(streams_.samples());
  for (const HostStream& stream : program_.streams) trace.streams.push_back(stream.name);
  const TraceClock clock(skips);
  for (QueueSample& sample : trace.queues) sample.time = clock(sample.time);
  trace.amp_flops = interpreter_.amp_flops();
  trace.activities = kernel_.activities();
  return trace;
}

}  // namespace podsim::engine
