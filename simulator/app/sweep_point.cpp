// The flow of simulate.cpp, interrupted where a sweep wants figures of scenarios that go no further.
#include "simulator/app/sweep_point.hpp"

#include <algorithm>
#include <limits>

#include "simulator/app/second_graph.hpp"
#include "simulator/app/summary_memory.hpp"
#include "simulator/config/json.hpp"
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

std::string text_of(const SweepRow& row) { return to_json(to_value(row), 0); }

std::string text_of_failed(SweepRow row, const UserError& error) {
  row.error = on_one_line(error.what());
  return text_of(row);
}

// Once per process (see engine/run.hpp).
std::string simulated(const CompiledPoint& point, PreparedRun& run, SweepRow row) {
  try {
    const Trace trace = run.run();
    Summary summary = summarize(trace, point.compilation.program);
    complete(summary, point.scenario, point.compilation);
    set_simulated(row, summary);
  } catch (const UserError& error) {
    return text_of_failed(row, error);
  }
  return text_of(row);
}

}  // namespace

std::string row_of_error(const std::string& error) {
  SweepRow row;
  row.error = on_one_line(error);
  return text_of(row);
}

Prepared prepare_simulation(const std::shared_ptr<CompiledPoint>& point, CompileCache& cache, bool fast_forward) {
  prepare_run();
  Compilation& compilation = point->compilation;
  SweepRow row;
  set_compiled(row, compilation);
  try {
    require_fit(compilation, point->scenario);
    RunSettings settings;
    settings.fast_forward = fast_forward;
    settings.record_intervals = false;
    run_second_graph(compilation, settings);
    Platform* platform = cache.platform(*compilation.topology);
    const auto run = std::make_shared<PreparedRun>(*compilation.topology, compilation.program, settings, platform);
    return {{}, [point, run, row] { return simulated(*point, *run, row); }};
  } catch (const UserError& error) {
    return {text_of_failed(row, error), {}};
  }
}

Prepared prepare_point(Scenario scenario, const DataFolder& data, CompileCache& cache, bool fast_forward) {
  try {
    Compilation compilation = compile(scenario, data, cache);
    return prepare_simulation(
        std::make_shared<CompiledPoint>(CompiledPoint{std::move(scenario), std::move(compilation)}), cache,
        fast_forward);
  } catch (const UserError& error) {
    return {row_of_error(error.what()), {}};
  }
}

Prepared prepare_point(Value source, const std::filesystem::path& folder, const DataFolder& data, CompileCache& cache,
                       bool fast_forward) {
  try {
    return prepare_point(read_scenario(std::move(source), folder), data, cache, fast_forward);
  } catch (const UserError& error) {
    return {row_of_error(error.what()), {}};
  }
}

}  // namespace podsim
