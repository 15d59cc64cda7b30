// Groups about the model and the run as a whole: tiles, memory, summary and scenario.
#include <array>

#include "simulator/output/summary_json.hpp"
#include "simulator/output/trace_groups.hpp"

namespace podsim {
namespace {

void note_absence(Hdf5Group& group) {
  group.attribute("note", std::string("no chip model: stage times were given directly"));
}

// Names as an attribute wants them.
template <typename Names>
std::vector<std::string> strings(const Names& names) {
  return {names.begin(), names.end()};
}

std::vector<std::string> names_of_states() { return strings(kStateNames); }

template <typename Enumeration>
std::span<const std::uint8_t> bytes_of(const std::vector<Enumeration>& values) {
  static_assert(sizeof(Enumeration) == 1);
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size()};
}

void write_supersteps(Hdf5Group& group, const TileTable& table) {
  group.count_axis("superstep", table.names.size(), "row number; equal supersteps are listed once");
  group.column("name", {"superstep"}, std::span<const std::string>(table.names),
               "pass/operator/phase; the first operator that runs it, use_operator has all");
  group.column("phase", {"superstep"}, std::span<const std::string>(table.phases), "part of the operator");
  group.enumeration("pass", {"superstep"}, bytes_of(table.passes), strings(kTilePassNames), "work of the operator");
  group.enumeration("activity", {"superstep"}, bytes_of(table.activities), strings(kTileActivityNames),
                    "what the tiles do");
}

void write_uses(Hdf5Group& group, const TileTable& table) {
  group.count_axis("use", table.use_ipu.size(), "row number; where supersteps run");
  group.column("use_ipu", {"use"}, table.use_ipu, "1", "IPU within the replica");
  group.column("use_stage", {"use"}, table.use_stage, "1", "pipeline stage");
  group.enumeration("use_state", {"use"}, bytes_of(table.use_state), names_of_states(), "pass of the stage");
  group.column("use_superstep", {"use"}, table.use_superstep, "1", "index of the superstep");
  group.column("use_count", {"use"}, table.use_count, "1", "executions in one pass");
  group.axis("operator", table.operators, "operator, or for updates the weight");
  group.column("use_operator", {"use"}, table.use_operator, "1", "index of the operator");
}

void write_liveness(Hdf5Group& group, const MemoryTable& table) {
  group.count_axis("step", table.step_names.size(), "row number; program order, IPU by IPU");
  group.column("step_ipu", {"step"}, table.step_ipu, "1", "IPU within the replica");
  group.column("step_name", {"step"}, std::span<const std::string>(table.step_names), "pass and operator");
  group.column("step_bytes", {"step"}, table.step_bytes, "B", "not-always-live bytes on the fullest tile");
  group.column("step_total_bytes", {"step"}, table.step_total_bytes, "B", "not-always-live bytes of all tiles");
}

}  // namespace

void write_tiles(const Hdf5Builder& file, const TileTable* table) {
  Hdf5Group group = file.group("tiles");
  if (table == nullptr || table->tiles == 0) return note_absence(group);
  group.attribute("clock_hertz", table->clock_hertz);
  write_supersteps(group, *table);
  group.count_axis("tile", static_cast<std::size_t>(table->tiles), "tile of an IPU");
  group.column("sync_cycles", {"superstep"}, table->sync_cycles, "cycles", "internal synchronisation");
  group.column("exchange_cycles", {"superstep"}, table->exchange_cycles, "cycles", "exchange, fixed part included");
  group.column("compute_cycles", {"superstep", "tile"}, table->compute_cycles, "cycles", "compute of one execution");
  group.column("bytes_in", {"superstep", "tile"}, table->bytes_in, "B", "received in one execution");
  group.column("bytes_out", {"superstep", "tile"}, table->bytes_out, "B", "sent in one execution");
  write_uses(group, *table);
}

void write_memory(const Hdf5Builder& file, const MemoryTable* table) {
  Hdf5Group group = file.group("memory");
  if (table == nullptr || table->ipus == 0) return note_absence(group);
  group.count_axis("ipu", static_cast<std::size_t>(table->ipus), "IPU within the replica");
  group.axis("category", table->categories, "kind of memory");
  group.count_axis("tile", static_cast<std::size_t>(table->tiles), "tile of an IPU");
  group.column("bytes", {"ipu", "category", "tile"}, table->bytes, "B", "at the peak of the IPU");
  group.column("always_live", {"category"}, table->always_live, "1", "1: held all the time, 0: at the peak");
  group.column("limit", {"ipu"}, table->limit_bytes, "B", "memory of one tile");
  group.column("peak_tile", {"ipu"}, table->peak_tile, "1", "the fullest tile");
  group.column("peak_tile_bytes", {"ipu"}, table->peak_tile_bytes, "B", "bytes on the fullest tile");
  group.column("always_live_bytes", {"ipu"}, table->always_live_bytes, "B", "always live, on the fullest tile");
  write_liveness(group, *table);
}

void write_summary(const Hdf5Builder& file, const TraceContent& content) {
  Hdf5Group group = file.group("summary");
  const Summary& summary = content.summary;
  group.attribute("name", summary.name);
  group.attribute("bottleneck", summary.bottleneck);
  group.attribute("sample_name", summary.sample_name);
  group.attribute("weight_update_seconds", summary.weight_update_seconds);
  group.attribute("run_seconds", summary.run_seconds);
  group.attribute("makespan_seconds", summary.makespan_seconds);
  group.attribute("throughput_samples_per_second", summary.throughput_samples_per_second);
  group.attribute("samples_per_run", summary.samples_per_run);
  const StartupSummary& startup = summary.startup;
  if (startup.compile_seconds) group.attribute("startup_compile_seconds", *startup.compile_seconds);
  if (startup.store_seconds) group.attribute("startup_store_seconds", *startup.store_seconds);
  if (startup.load_seconds) group.attribute("startup_load_seconds", *startup.load_seconds);
  group.attribute("startup_executable_upload_seconds", startup.executable_upload_seconds);
  group.attribute("startup_weight_upload_seconds", startup.weight_upload_seconds);
  group.attribute("slots_per_update", summary.slots_per_update);
  group.attribute("utilization_busy", summary.busy);
  group.attribute("utilization_flops", summary.flops);
  group.attribute("batch_size_factor", summary.batch_size_factor);
  group.attribute("replicas", std::int64_t{summary.replicas});
  group.attribute("ipus_per_replica", std::int64_t{summary.ipus_per_replica});
  group.count_axis("ipu", content.trace.state_seconds.size(), "IPU of the pod");
  group.axis("state", names_of_states(), "what the IPU does");
  const std::vector<double> mean(summary.state_seconds.begin(), summary.state_seconds.end());
  group.column("state_seconds", {"state"}, mean, "s", "mean over the IPUs; adds up to the makespan");
  std::vector<double> all;
  for (const PerState& seconds : content.trace.state_seconds) all.insert(all.end(), seconds.begin(), seconds.end());
  group.column("ipu_state_seconds", {"ipu", "state"}, all, "s", "per IPU; adds up to the makespan");
  group.count_axis("update", content.trace.update_ends.size(), "weight update (inference: device iteration)");
  group.column("update_end", {"update"}, content.trace.update_ends, "s", "when all IPUs had finished it");
  group.count_axis("run", content.trace.run_ends.size(), "host call");
  group.column("run_end", {"run"}, content.trace.run_ends, "s", "when all IPUs had finished it");
  group.text("json", summary_json(summary), "the summary as printed with --json");
}

void write_uncertainty(const Hdf5Builder& file, const std::optional<Uncertainty>& uncertainty) {
  if (!uncertainty) return;
  Hdf5Group group = file.group("uncertainty");
  group.attribute("seed", static_cast<std::int64_t>(uncertainty->seed));
  const std::size_t samples = uncertainty->samples(), figures = uncertainty->figures.size();
  const std::size_t parameters = uncertainty->parameters.size();
  std::vector<std::string> parameter_names, parameter_units, figure_names, figure_units;
  std::vector<double> ranges, quantiles, shares(figures * parameters), sampled(samples * figures);
  for (const VariedParameter& parameter : uncertainty->parameters) {
    parameter_names.push_back(parameter.set + "/" + parameter.name);
    parameter_units.push_back(parameter.unit);
    ranges.insert(ranges.end(), {parameter.minimum, parameter.value, parameter.maximum});
  }
  for (std::size_t i = 0; i < figures; ++i) {
    const UncertainFigure& figure = uncertainty->figures[i];
    figure_names.push_back(figure.name);
    figure_units.push_back(figure.unit);
    quantiles.insert(quantiles.end(), {figure.low, figure.median, figure.high});
    for (const Influence& influence : figure.influences) shares[i * parameters + influence.parameter] = influence.share;
    for (std::size_t sample = 0; sample < samples; ++sample) sampled[sample * figures + i] = figure.samples[sample];
  }
  group.count_axis("sample", samples, "row number");
  group.axis("parameter", parameter_names, "data file and name of a parameter that is only inferred");
  group.axis("figure", figure_names, "figure of the summary");
  group.axis("end", std::vector<std::string>{"minimum", "value", "maximum"}, "of a parameter's range");
  constexpr std::array kQuantiles = {0.05, 0.5, 0.95};
  group.axis("quantile", std::span<const double>(kQuantiles), "1", "share of the samples below");
  group.column("parameter_unit", {"parameter"}, parameter_units, "unit of the parameter");
  group.column("figure_unit", {"figure"}, figure_units, "unit of the figure");
  group.column("parameter_range", {"parameter", "end"}, ranges, "parameter_unit", "as in the data files");
  group.column("parameter_value", {"sample", "parameter"}, uncertainty->values, "parameter_unit", "drawn");
  group.column("figure_value", {"sample", "figure"}, sampled, "figure_unit", "NaN where the sample could not run");
  group.column("figure_quantile", {"figure", "quantile"}, quantiles, "figure_unit", "of the samples that could run");
  group.column("share", {"figure", "parameter"}, shares, "1",
               "of the variance of the figure's ranks that the parameter explains, stepwise regression");
  group.column("error", {"sample"}, uncertainty->errors, "why the sample could not run; empty where it could");
}

void write_scenario(const Hdf5Builder& file, const ScenarioRecord& scenario) {
  Hdf5Group group = file.group("scenario");
  group.text("text", scenario.text, "the scenario as given");
  group.text("resolved", scenario.resolved, "JSON with every default filled in");
  group.text("program", scenario.program, "the program of one replica");
  const auto table = [&group](const std::string& name, const auto& pairs, std::string_view description) {
    std::vector<std::string> keys, values;
    for (const auto& [key, value] : pairs) {
      keys.push_back(key);
      values.push_back(value);
    }
    group.axis(name, std::span<const std::string>(keys), description);
    group.column(name + "_value", {name}, std::span<const std::string>(values), description);
  };
  table("version", scenario.versions, "versions of the program and its libraries");
  table("setting", scenario.settings, "settings of the simulation core");
}

}  // namespace podsim
