// Groups the states into avoidable causes and words the largest one.
#include "simulator/trace/bottleneck.hpp"

#include <algorithm>
#include <array>

#include "simulator/core/format.hpp"

namespace podsim {
namespace {

constexpr double kWorthNaming = 0.05;  // share of the time from which a cause is the bottleneck

enum class Cause {
  Imbalance,
  Ramps,
  HostInput,
  HostTransfer,
  HostCall,
  HostOutput,
  Exchange,
  AllReduce,
  RemoteMemory,
  WeightUpdate,
  Sync
};

struct Share {
  Cause cause;
  double share;
};

double seconds_of(const PerState& seconds, State state) { return seconds[index_of(state)]; }

double work_of(const PerState& seconds) {
  return seconds_of(seconds, State::Forward) + seconds_of(seconds, State::Recompute) +
         seconds_of(seconds, State::Backward);
}

Share largest_cause(const Summary& summary) {
  const auto share = [&summary](State state) {
    return seconds_of(summary.state_seconds, state) / summary.makespan_seconds;
  };
  const std::array<Share, 11> shares = {{
      {Cause::Imbalance, share(State::Imbalance)},
      {Cause::Ramps, share(State::RampUp) + share(State::RampDown)},
      {Cause::HostInput, share(State::HostInputStall)},
      {Cause::HostTransfer, share(State::HostTransfer)},
      {Cause::HostCall, share(State::HostCall)},
      {Cause::HostOutput, share(State::HostOutputStall)},
      {Cause::Exchange, share(State::Exchange)},
      {Cause::AllReduce, share(State::AllReduce)},
      {Cause::RemoteMemory, share(State::RemoteMemory)},
      {Cause::WeightUpdate, share(State::WeightUpdate)},
      {Cause::Sync, share(State::Sync)},
  }};
  return *std::max_element(shares.begin(), shares.end(),
                           [](const Share& left, const Share& right) { return left.share < right.share; });
}

std::string stage_list(const std::vector<int>& stages) {
  std::string text = stages.size() == 1 ? "stage " : "stages ";
  for (std::size_t i = 0; i < stages.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == stages.size() ? " and " : ", ") + std::to_string(stages[i]);
  }
  return text;
}

bool pipelined(const Program& program) {
  return program.schedule.find("sharded") == std::string::npos &&
         program.schedule.find("sequential") == std::string::npos;
}

std::string name_imbalance(const Summary& summary, const Program& program, const std::string& percent) {
  if (!pipelined(program)) {
    return "one IPU at a time works: the others wait " + percent +
           " of the time; a pipelined schedule would let them work on other micro-batches";
  }
  const auto more_work = [](const IpuSummary& left, const IpuSummary& right) {
    return work_of(left.state_seconds) < work_of(right.state_seconds);
  };
  const IpuSummary& slowest = *std::max_element(summary.ipus.begin(), summary.ipus.end(), more_work);
  double mean = 0;
  for (const IpuSummary& ipu : summary.ipus) mean += work_of(ipu.state_seconds);
  mean /= static_cast<double>(summary.ipus.size());
  const double ratio = mean > 0 ? work_of(slowest.state_seconds) / mean - 1 : 0;
  return stage_list(slowest.stages) + " on IPU " + std::to_string(slowest.ipu) +
         (slowest.stages.size() == 1 ? " is" : " are") + " the slowest (" + format_share(ratio) +
         " more work than the mean): IPUs wait " + percent + " of the time for slower ones; move layers off it";
}

std::string name_ramps(const Program& program, const std::string& percent) {
  if (!pipelined(program)) return name_imbalance({}, program, percent);
  const bool training = program.execution.mode == Mode::Training;
  return "ramp-up and ramp-down of the pipeline take " + percent + " of the time: raise " +
         (training ? "gradient accumulation (now " + format_count(program.execution.micro_batches)
                   : "device iterations (now " + format_count(program.execution.device_iterations)) +
         ") or use fewer stages (now " + std::to_string(program.stages) + ")";
}

std::string name_host(Cause cause, const Program& program, const std::string& percent) {
  switch (cause) {
    case Cause::HostInput:
      return "host input: " + percent +
             " of the time is waiting for data that the host has not prepared; use more "
             "instances or hosts (now " +
             std::to_string(program.host.instances) + " instances), cheaper preprocessing or deeper prefetch (now " +
             std::to_string(program.host.prefetch_depth) + ")";
    case Cause::HostTransfer:
      return "host transfer: " + percent +
             " of the time is data on its way between host and IPU; overlap it with IO "
             "tiles, send smaller types, or use more hosts";
    case Cause::HostOutput:
      return "host output: " + percent +
             " of the time is waiting for the host to take results; return fewer of them "
             "(output mode)";
    default:
      return "host calls take " + percent + " of the time: raise device iterations (now " +
             format_count(program.execution.device_iterations) + ")";
  }
}

std::string name_cause(Cause cause, const Summary& summary, const Program& program, const std::string& percent) {
  switch (cause) {
    case Cause::Imbalance: return name_imbalance(summary, program, percent);
    case Cause::Ramps: return name_ramps(program, percent);
    case Cause::Exchange:
      return "inter-IPU exchange takes " + percent + " of the time: cut the model where activations are small";
    case Cause::AllReduce:
      return "the all-reduce between " + std::to_string(program.replicas) + " replicas takes " + percent +
             " of the time: raise gradient accumulation (now " + format_count(program.execution.micro_batches) + ")";
    case Cause::RemoteMemory:
      return "loads from and stores to streaming memory take " + percent +
             " of the time: keep more on chip, shard it over replicas, or raise gradient accumulation";
    case Cause::WeightUpdate:
      return "the weight update takes " + percent +
             " of the time: raise gradient accumulation, shard it over replicas, or overlap the IPUs' updates";
    case Cause::Sync: return "synchronisation: IPUs wait " + percent + " of the time for other replicas";
    default: return name_host(cause, program, percent);
  }
}

}  // namespace

std::string find_bottleneck(const Summary& summary, const Program& program) {
  if (summary.makespan_seconds <= 0 || summary.ipus.empty()) return "nothing was executed";
  const Share largest = largest_cause(summary);
  const std::string percent = format_share(largest.share);
  if (largest.share >= kWorthNaming) return name_cause(largest.cause, summary, program, percent);
  const auto share = [&summary](State state) {
    return format_share(seconds_of(summary.state_seconds, state) / summary.makespan_seconds);
  };
  const bool training = program.execution.mode == Mode::Training;
  return "compute bound: IPUs spend " + format_share(work_of(summary.state_seconds) / summary.makespan_seconds) +
         " of the time in stage passes (forward " + share(State::Forward) +
         (training ? ", recompute " + share(State::Recompute) + ", backward " + share(State::Backward) : "") +
         "); nothing else takes more than " + percent;
}

}  // namespace podsim
