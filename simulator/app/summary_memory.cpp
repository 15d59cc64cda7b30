// The trace knows no tiles and no scenario; their figures join here.
#include "simulator/app/summary_memory.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

IpuMemorySummary memory_summary(const MemoryReport& report) {
  IpuMemorySummary summary;
  summary.peak_tile_bytes = report.peak_tile_bytes;
  summary.always_live_bytes = report.always_live_tile_bytes;
  summary.limit_bytes = report.limit_bytes;
  summary.peak_tile = report.peak_tile;
  for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    summary.categories.emplace_back(name_of(category), report.total_bytes(category));
  }
  return summary;
}

}  // namespace

std::string version() { return PODSIM_VERSION; }

namespace {

SecondGraphSummary second_graph_summary(const Compilation& compilation) {
  const HostPlan& host = compilation.program.host;
  const Compilation& second = *compilation.second_graph;
  SecondGraphSummary summary;
  summary.every = host.switch_every;
  summary.calls = second.program.execution.runs;
  summary.turn_seconds = host.second_graph_seconds;
  summary.switch_seconds = host.switch_seconds;
  summary.switch_back_seconds = host.switch_back_seconds;
  summary.samples_per_second = compilation.second_graph_throughput;
  for (const MemoryReport& report : second.memory) {
    summary.peak_tile_bytes = std::max(summary.peak_tile_bytes, report.peak_tile_bytes);
  }
  return summary;
}

}  // namespace

void complete(Summary& summary, const Scenario& scenario, const Compilation& compilation) {
  const Program& program = compilation.program;
  summary.name = scenario.name;
  summary.version = version();
  summary.sample_name = compilation.model.sample_name;
  summary.batch_size_factor = scenario.ipu_config.batch_size_factor(scenario.execution.mode == Mode::Inference);
  summary.warnings = compilation.warnings;
  if (compilation.second_graph != nullptr) {
    summary.second_graph = second_graph_summary(compilation);
    for (const std::string& warning : compilation.second_graph->warnings) {
      summary.warnings.push_back("second graph: " + warning);
    }
  }
  for (IpuSummary& ipu : summary.ipus) {
    const int local = ipu.ipu % program.ipus_per_replica;
    if (!compilation.memory.empty()) {
      ipu.memory = memory_summary(compilation.memory[static_cast<std::size_t>(local)]);
    }
    for (const int stage : ipu.stages) {
      ipu.stash_micro_batches += compilation.live_micro_batches[static_cast<std::size_t>(stage)];
    }
  }
}

}  // namespace podsim
