// Figures of the summary from the trace's exact totals and the program's counts.
#include "simulator/trace/summary.hpp"

#include <algorithm>

#include "simulator/trace/bottleneck.hpp"
#include "simulator/trace/verify.hpp"

namespace podsim {
namespace {

// Mean distance of consecutive ends; the first one counts from 0 and only where there is no other.
double mean_distance(const std::vector<double>& ends) {
  if (ends.empty()) return 0;
  if (ends.size() == 1) return ends.front();
  return (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
}

// Steady state: distances within host calls, without the first update of each, which pays for the call and, in
// inference, for filling the pipeline. With one update to a call: distances between calls.
double mean_update_seconds(const std::vector<double>& ends, std::int64_t updates_per_run) {
  const auto per_run = static_cast<std::size_t>(std::max<std::int64_t>(1, updates_per_run));
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t first = 0; first < ends.size(); first += per_run) {
    const std::size_t last = std::min(first + per_run, ends.size()) - 1;
    sum += ends[last] - ends[first];
    count += last - first;
  }
  return count > 0 ? sum / static_cast<double>(count) : mean_distance(ends);
}

std::vector<std::vector<int>> stages_of_ipus(const Program& program) {
  std::vector<std::vector<int>> stages(static_cast<std::size_t>(program.ipus_per_replica));
  for (std::size_t stage = 0; stage < program.ipu_of_stage.size(); ++stage) {
    const auto first = static_cast<std::size_t>(program.ipu_of_stage[stage]);
    for (std::size_t ipu = first; ipu < first + static_cast<std::size_t>(program.ipus_per_stage); ++ipu) {
      stages.at(ipu).push_back(static_cast<int>(stage));
    }
  }
  return stages;
}

std::vector<IpuSummary> summarize_ipus(const Trace& trace, const Program& program) {
  const std::vector<std::vector<int>> stages = stages_of_ipus(program);
  std::vector<IpuSummary> ipus(static_cast<std::size_t>(trace.ipus));
  for (std::size_t i = 0; i < ipus.size(); ++i) {
    IpuSummary& ipu = ipus[i];
    ipu.ipu = static_cast<int>(i);
    ipu.state_seconds = trace.state_seconds[i];
    ipu.stages = stages[i % stages.size()];
  }
  return ipus;
}

std::vector<LinkSummary> summarize_links(const Trace& trace) {
  std::vector<LinkSummary> links;
  links.reserve(trace.links.size());
  for (const LinkUse& link : trace.links) {
    const double possible = link.bytes_per_second * trace.makespan_seconds;
    links.push_back({link.name, link.kind, link.bytes, possible > 0 ? link.bytes / possible : 0});
  }
  std::stable_sort(links.begin(), links.end(), [](const LinkSummary& left, const LinkSummary& right) {
    return left.utilization > right.utilization;
  });
  return links;
}

double busy_share(const PerState& seconds, double makespan_seconds) {
  if (makespan_seconds <= 0) return 0;
  double busy = 0;
  for (const State state : {State::Forward, State::Backward, State::Recompute, State::WeightUpdate}) {
    busy += seconds[index_of(state)];
  }
  return busy / makespan_seconds;
}

double flops_share(const Trace& trace, const Program& program) {
  const double possible = program.peak_flops_per_ipu * trace.ipus * trace.makespan_seconds;
  return possible > 0 ? trace.amp_flops / possible : 0;
}

void count_samples(Summary& summary, const Program& program) {
  const Execution& execution = program.execution;
  const std::int64_t micro_batches = execution.mode == Mode::Training ? execution.micro_batches : 1;
  summary.batch_size_factor = program.replicas * micro_batches * execution.device_iterations;
  summary.samples_per_run = static_cast<double>(summary.batch_size_factor) * program.host.samples_per_micro_batch;
  summary.replicas = program.replicas;
  summary.ipus_per_replica = program.ipus_per_replica;
  summary.slots_per_update = program.slots_per_update;
}

}  // namespace

Summary summarize(const Trace& trace, const Program& program) {
  verify_sums(trace);
  Summary summary;
  count_samples(summary, program);
  summary.makespan_seconds = trace.makespan_seconds;
  summary.weight_update_seconds = mean_update_seconds(trace.update_ends, program.execution.device_iterations);
  const bool whole_epochs = program.host.calls_per_epoch > 0;  // their start is in the mean
  summary.run_seconds = whole_epochs ? trace.makespan_seconds / static_cast<double>(program.execution.runs)
                                     : mean_distance(trace.run_ends);
  if (summary.run_seconds > 0) {
    summary.throughput_samples_per_second = summary.samples_per_run / summary.run_seconds;
  }
  for (const PerState& seconds : trace.state_seconds) {
    for (std::size_t state = 0; state < kStateCount; ++state) {
      summary.state_seconds[state] += seconds[state] / static_cast<double>(trace.ipus);
    }
  }
  summary.busy = busy_share(summary.state_seconds, trace.makespan_seconds);
  summary.flops = flops_share(trace, program);
  summary.ipus = summarize_ipus(trace, program);
  summary.links = summarize_links(trace);
  summary.simulated_activities = trace.activities;
  summary.bottleneck = find_bottleneck(summary, program);
  return summary;
}

}  // namespace podsim
