// The flow of simulate.cpp, interrupted where a sweep wants figures of scenarios that go no further.
#include "simulator/app/sweep_point.hpp"

#include <algorithm>
#include <limits>

#include "simulator/app/process_pool.hpp"
#include "simulator/app/second_graph.hpp"
#include "simulator/app/summary_memory.hpp"
#include "simulator/core/error.hpp"
#include "simulator/engine/run.hpp"
#include "simulator/trace/summary.hpp"

namespace podsim {

namespace {

void set_simulated(SweepRow& row, const Summary& summary) {
  row.set("throughput_samples_per_second", summary.throughput_samples_per_second);
  row.set("weight_update_seconds", summary.weight_update_seconds);
  row.set("run_seconds", summary.run_seconds);
  row.set("makespan_seconds", summary.makespan_seconds);
  row.set("samples_per_run", summary.samples_per_run);
  row.set("slots_per_update", static_cast<double>(summary.slots_per_update));
  row.set("utilization_busy", summary.busy);
  row.set("utilization_flops", summary.flops);
  for (std::size_t i = 0; i < kStateCount; ++i) {
    row.set("state_seconds_" + std::string(kStateNames[i]), summary.state_seconds[i]);
  }
  row.bottleneck = summary.bottleneck;
}

void set_compiled(SweepRow& row, const Compilation& compilation) {
  row.set("slots_per_update", static_cast<double>(compilation.program.slots_per_update));
  if (compilation.memory.empty()) return;
  double peak = 0;
  double headroom = std::numeric_limits<double>::infinity();
  for (const MemoryReport& report : compilation.memory) {
    peak = std::max(peak, static_cast<double>(report.peak_tile_bytes));
    headroom =
        std::min(headroom, static_cast<double>(report.limit_bytes) - static_cast<double>(report.peak_tile_bytes));
  }
  row.set("peak_tile_bytes", peak);
  row.set("memory_headroom_bytes", headroom);
}

}  // namespace

std::optional<SharedSystem> share_system(const Value& source, const std::filesystem::path& folder,
                                         const DataFolder& data) {
  const auto build = [&] {
    const Scenario scenario = read_scenario(source, folder);
    return SharedSystem{scenario.source.at("system"), build_system(scenario, data)};
  };
  ProcessPool pool(1, 0);
  pool.start(0, [&] { return build().section.where(); });
  std::vector<ProcessResult> results;
  while (results.empty()) results = pool.wait(1);
  if (!results.front().failure.empty()) return std::nullopt;
  return build();
}

SweepRow simulate_compiled(Compilation compilation, const Scenario& scenario, const PointSettings& settings) {
  SweepRow row;
  try {
    set_compiled(row, compilation);
    require_fit(compilation, scenario);
    RunSettings run_settings;
    run_settings.fast_forward = settings.fast_forward;
    run_settings.record_intervals = false;
    run_second_graph(compilation, run_settings);
    const Trace trace = run(compilation.topology, compilation.program, run_settings);
    Summary summary = summarize(trace, compilation.program);
    complete(summary, scenario, compilation);
    set_simulated(row, summary);
  } catch (const UserError& error) {
    row.error = on_one_line(error.what());
  }
  return row;
}

SweepRow simulate_point(Value source, const std::filesystem::path& folder, const DataFolder& data,
                        const PointSettings& settings) {
  try {
    const Scenario scenario = read_scenario(std::move(source), folder);
    const Value* section = scenario.source.find("system");
    const bool shared = settings.system != nullptr && section != nullptr && *section == settings.system->section;
    Compilation compilation =
        shared ? compile(scenario, data, std::move(settings.system->system)) : compile(scenario, data);
    return simulate_compiled(std::move(compilation), scenario, settings);
  } catch (const UserError& error) {
    SweepRow row;
    row.error = on_one_line(error.what());
    return row;
  }
}

}  // namespace podsim
