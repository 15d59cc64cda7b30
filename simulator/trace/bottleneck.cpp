// Groups the states into avoidable causes and words the largest one.
#include "simulator/trace/bottleneck.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "simulator/core/format.hpp"

namespace podsim {
namespace {

constexpr double kEqualWork = 0.01;    // share of the work by which equally slow IPUs differ
constexpr double kWorthNaming = 0.05;  // share of the time from which a cause is the bottleneck

enum class Cause {
  Imbalance,
  Ramps,
  HostInput,
  HostTransfer,
  HostCall,
  HostOutput,
  SecondGraph,
  Exchange,
  AllReduce,
  RemoteMemory,
  WeightUpdate,
  Sync
};

constexpr std::array<std::pair<State, Cause>, 3> kHost = {{{State::HostInputStall, Cause::HostInput},
                                                           {State::HostTransfer, Cause::HostTransfer},
                                                           {State::HostOutputStall, Cause::HostOutput}}};

struct Share {
  Cause cause;
  double share;
};

double seconds_of(const PerState& seconds, State state) { return seconds[index_of(state)]; }

double work_of(const PerState& seconds) {
  return seconds_of(seconds, State::Forward) + seconds_of(seconds, State::Recompute) +
         seconds_of(seconds, State::Backward);
}

bool pipelined(const Program& program) {
  return program.schedule.find("sharded") == std::string::npos &&
         program.schedule.find("sequential") == std::string::npos;
}

// The IPU that the others of a slot wait for, and by how much, as shares of the time.
struct Slowest {
  std::size_t ipu = 0;
  double more_work = 0;  // than the mean of the IPUs, in stage passes
  double more_time = 0;  // … host data of the stage included
  Cause cause = Cause::Imbalance;
};

Slowest find_slowest(const Summary& summary) {
  Slowest slowest;
  double most = -1, mean_time = 0, mean_work = 0;
  for (std::size_t i = 0; i < summary.ipus.size(); ++i) {
    const PerState& seconds = summary.ipus[i].state_seconds;
    double time = work_of(seconds);
    mean_work += time / static_cast<double>(summary.ipus.size());
    for (const auto& [state, cause] : kHost) time += seconds_of(seconds, state);
    mean_time += time / static_cast<double>(summary.ipus.size());
    if (time > most) {
      most = time;
      slowest.ipu = i;
    }
  }
  const PerState& seconds = summary.ipus[slowest.ipu].state_seconds;
  slowest.more_work = (work_of(seconds) - mean_work) / summary.makespan_seconds;
  slowest.more_time = (most - mean_time) / summary.makespan_seconds;
  if (slowest.more_work < slowest.more_time / 2) {
    const auto worst = std::max_element(kHost.begin(), kHost.end(), [&](const auto& left, const auto& right) {
      return seconds_of(seconds, left.first) < seconds_of(seconds, right.first);
    });
    slowest.cause = worst->second;
  }
  return slowest;
}

double& share_of(std::vector<Share>& shares, Cause cause) {
  return std::find_if(shares.begin(), shares.end(), [cause](const Share& share) { return share.cause == cause; })
      ->share;
}

// Waiting in slots is the slowest IPU's doing as far as that one has more to do than the mean; the rest comes with
// the unequal slots of ramp-up and ramp-down.
void book_imbalance(std::vector<Share>& shares, const Summary& summary) {
  const Slowest slowest = find_slowest(summary);
  const double uneven = std::clamp(slowest.more_time, 0.0, share_of(shares, Cause::Imbalance));
  share_of(shares, Cause::Ramps) += share_of(shares, Cause::Imbalance) - uneven;
  share_of(shares, Cause::Imbalance) = 0;
  share_of(shares, slowest.cause) += uneven;
}

// Waiting for other replicas is the host's doing as far as one of them has waited longer for the host.
void book_sync(std::vector<Share>& shares, const Summary& summary) {
  std::vector<double> left;
  for (const IpuSummary& ipu : summary.ipus) left.push_back(seconds_of(ipu.state_seconds, State::Sync));
  for (const auto& [state, cause] : kHost) {
    double longest = 0;
    for (const IpuSummary& ipu : summary.ipus) longest = std::max(longest, seconds_of(ipu.state_seconds, state));
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double hosts = std::min(left[i], longest - seconds_of(summary.ipus[i].state_seconds, state));
      const double share = hosts / summary.makespan_seconds / static_cast<double>(left.size());
      left[i] -= hosts;
      share_of(shares, cause) += share;
      share_of(shares, Cause::Sync) -= share;
    }
  }
}

Share largest_cause(const Summary& summary, const Program& program) {
  const auto share = [&summary](State state) {
    return seconds_of(summary.state_seconds, state) / summary.makespan_seconds;
  };
  std::vector<Share> shares = {
      {Cause::Imbalance, share(State::Imbalance)},       {Cause::Ramps, share(State::RampUp) + share(State::RampDown)},
      {Cause::HostInput, share(State::HostInputStall)},  {Cause::HostTransfer, share(State::HostTransfer)},
      {Cause::HostCall, share(State::HostCall)},         {Cause::HostOutput, share(State::HostOutputStall)},
      {Cause::SecondGraph, share(State::SecondGraph)},   {Cause::Exchange, share(State::Exchange)},
      {Cause::AllReduce, share(State::AllReduce)},       {Cause::RemoteMemory, share(State::RemoteMemory)},
      {Cause::WeightUpdate, share(State::WeightUpdate)}, {Cause::Sync, share(State::Sync)},
  };
  book_sync(shares, summary);
  if (pipelined(program)) {
    book_imbalance(shares, summary);
  } else {
    shares[0].share += std::exchange(shares[1].share, 0);  // all waiting is for the one IPU that works
  }
  return *std::max_element(shares.begin(), shares.end(),
                           [](const Share& left, const Share& right) { return left.share < right.share; });
}

std::string list(const std::string& noun, const std::vector<int>& numbers) {
  std::string text = noun + (numbers.size() == 1 ? " " : "s ");
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ") + std::to_string(numbers[i]);
  }
  return text;
}

std::string name_imbalance(const Summary& summary, const Program& program, const std::string& percent) {
  if (!pipelined(program)) {
    return "one IPU at a time works: the others wait " + percent +
           " of the time; a pipelined schedule would let them work on other micro-batches";
  }
  const Slowest found = find_slowest(summary);
  const double most = work_of(summary.ipus[found.ipu].state_seconds);
  const auto replica = std::min(summary.ipus.size(), static_cast<std::size_t>(program.ipus_per_replica));
  const std::size_t first = found.ipu - found.ipu % replica;
  std::vector<int> slow_stages, slow_ipus;
  std::size_t idlest = first;
  for (std::size_t i = first; i < first + replica; ++i) {
    const double work = work_of(summary.ipus[i].state_seconds);
    if (work < work_of(summary.ipus[idlest].state_seconds)) idlest = i;
    if (work < most * (1 - kEqualWork)) continue;
    slow_ipus.push_back(summary.ipus[i].ipu);
    // IPUs that share a stage all name it.
    for (const int stage : summary.ipus[i].stages) {
      const bool named = std::find(slow_stages.begin(), slow_stages.end(), stage) != slow_stages.end();
      if (!named || program.ipus_per_stage == 1) slow_stages.push_back(stage);
    }
  }
  const double share = most / summary.makespan_seconds;
  return list("stage", slow_stages) + " on " + list("IPU", slow_ipus) + (slow_stages.size() == 1 ? " is" : " are") +
         " the slowest (" + format_share(found.more_work / (share - found.more_work)) +
         " more work than the mean): IPUs wait " + percent + " of the time for slower ones; move work to IPU " +
         std::to_string(summary.ipus[idlest].ipu) + ", which has least";
}

std::string name_ramps(const Program& program, const std::string& percent) {
  const bool training = program.execution.mode == Mode::Training;
  return "ramp-up and ramp-down of the pipeline take " + percent + " of the time: raise " +
         (training ? "gradient accumulation (now " + format_count(program.execution.micro_batches)
                   : "device iterations (now " + format_count(program.execution.device_iterations)) +
         ") or use fewer stages (now " + std::to_string(program.stages) + ")";
}

std::string name_all_reduce(const Program& program, const std::string& percent) {
  const std::string accumulation =
      "raise gradient accumulation (now " + format_count(program.execution.micro_batches) + ")";
  const std::string replicas = std::to_string(program.replicas) + " replicas";
  if (program.ipus_per_stage == 1) {
    return "the all-reduce between " + replicas + " takes " + percent + " of the time: " + accumulation;
  }
  const std::string stages = "between the " + std::to_string(program.ipus_per_stage) + " IPUs of each stage";
  const std::string fewer = "let fewer IPUs share a stage";
  if (program.replicas == 1) return "all-reduces " + stages + " take " + percent + " of the time: " + fewer;
  return "all-reduces " + stages + " and between " + replicas + " take " + percent + " of the time: " + fewer +
         ", or " + accumulation;
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
             format_count(program.execution.device_iterations) + ")" +
             (program.host.switch_every > 0 ? ", or switch between the graphs less often" : "");
  }
}

std::string name_cause(Cause cause, const Summary& summary, const Program& program, const std::string& percent) {
  switch (cause) {
    case Cause::Imbalance: return name_imbalance(summary, program, percent);
    case Cause::Ramps: return name_ramps(program, percent);
    case Cause::Exchange:
      return "inter-IPU exchange takes " + percent + " of the time: cut the model where activations are small";
    case Cause::AllReduce: return name_all_reduce(program, percent);
    case Cause::RemoteMemory:
      return "loads from and stores to streaming memory take " + percent +
             " of the time: keep more on chip, shard it over replicas, or raise gradient accumulation";
    case Cause::WeightUpdate:
      return "the weight update takes " + percent +
             " of the time: raise gradient accumulation, shard it over replicas, or overlap the IPUs' updates";
    case Cause::Sync: return "synchronisation: IPUs wait " + percent + " of the time for other replicas";
    case Cause::SecondGraph:
      return "the second graph has the IPUs " + percent + " of the time: run it less often (now after every " +
             format_count(program.host.switch_every) + " host calls)";
    default: return name_host(cause, program, percent);
  }
}

}  // namespace

std::string find_bottleneck(const Summary& summary, const Program& program) {
  if (summary.makespan_seconds <= 0 || summary.ipus.empty()) return "nothing was executed";
  const Share largest = largest_cause(summary, program);
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
