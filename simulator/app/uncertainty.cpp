// Samples to processes, rows to figures.
#include "simulator/app/uncertainty.hpp"

#include <cmath>

#include "simulator/app/loaded_data.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/app/sweep_point.hpp"
#include "simulator/app/sweep_progress.hpp"
#include "simulator/app/uncertainty_parameters.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/latin_hypercube.hpp"
#include "simulator/core/state.hpp"

namespace podsim {

namespace {

constexpr double kMainShare = 0.01;  // states with less of the time in the median are left out

std::vector<SweepRow> simulate_samples(const Scenario& scenario, const DataFolder& data, const Uncertainty& drawn,
                                       const UncertaintySettings& settings) {
  std::vector<SweepRow> rows(settings.samples);
  SweepProgress progress(rows.size(), 0, settings.show_progress);
  std::size_t done = 0;
  const auto prepare = [&](std::size_t sample) {
    const double* values = drawn.values.data() + sample * drawn.parameters.size();
    const VariedData varied(data, drawn.parameters, values);
    CompileCache cache;  // its own: the cache takes the data for fixed
    return prepare_point(scenario, varied, cache, settings.fast_forward);
  };
  run_each(settings.jobs, rows.size(), prepare, [&](const ProcessResult& finished) {
    SweepRow& row = rows[finished.id];
    if (finished.failure.empty()) {
      row = row_from(parse_json(finished.output, "sample"));
    } else {
      row.error = on_one_line(finished.failure);
    }
    ++done;
    if (progress.due()) progress.show(done);
  });
  return rows;
}

void add_figure(Uncertainty& result, const std::string& name, const std::string& unit, std::vector<double> samples) {
  UncertainFigure figure = evaluate_figure(name, unit, std::move(samples), result.values);
  if (std::isfinite(figure.median)) result.figures.push_back(std::move(figure));
}

std::vector<double> column(const std::vector<SweepRow>& rows, const std::string& name) {
  std::vector<double> values;
  for (const SweepRow& row : rows) values.push_back(row.get(name));
  return values;
}

void add_figures(Uncertainty& result, const std::vector<SweepRow>& rows) {
  add_figure(result, "throughput_samples_per_second", "1/s", column(rows, "throughput_samples_per_second"));
  for (const char* name : {"weight_update_seconds", "run_seconds", "makespan_seconds"}) {
    add_figure(result, name, "s", column(rows, name));
  }
  for (const char* name : {"utilization_busy", "utilization_flops"}) add_figure(result, name, "1", column(rows, name));
  for (const std::string_view state : kStateNames) {
    std::vector<double> shares;
    for (const SweepRow& row : rows) {
      shares.push_back(row.get("state_seconds_" + std::string(state)) / row.get("makespan_seconds"));
    }
    UncertainFigure figure =
        evaluate_figure("state_share_" + std::string(state), "1", std::move(shares), result.values);
    if (figure.median >= kMainShare) result.figures.push_back(std::move(figure));
  }
  add_figure(result, "peak_tile_bytes", "B", column(rows, "peak_tile_bytes"));
}

}  // namespace

Uncertainty sample_uncertainty(const Scenario& scenario, const UncertaintySettings& settings) {
  const LoadedData data;
  Uncertainty result;
  result.seed = settings.seed;
  result.parameters = varied_parameters(scenario, data);
  const std::size_t parameters = result.parameters.size();
  result.values = latin_hypercube(settings.samples, parameters, settings.seed);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = value_at(result.parameters[i % parameters], result.values[i]);
  }
  const std::vector<SweepRow> rows = simulate_samples(scenario, data, result, settings);
  for (const SweepRow& row : rows) result.errors.push_back(row.error);
  add_figures(result, rows);
  return result;
}

}  // namespace podsim
