// Runs the scenarios of measurements, each in a process of its own.
#include <algorithm>
#include <sstream>

#include "simulator/app/process_pool.hpp"
#include "simulator/app/simulate.hpp"
#include "simulator/app/uncertainty.hpp"
#include "simulator/app/validation.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// What a child sends back: an error, or the prediction and the shares of its time.
Value predict_one(const std::filesystem::path& file) {
  Value result{Value::Object{}};
  try {
    const Scenario scenario = load_scenario(file);
    RunSettings settings;
    settings.record_intervals = false;
    const Summary summary = simulate(scenario, DataFolder(), settings).summary;
    // As published: samples of an update over throughput, so the host call's share is included.
    result.set("seconds", summary.run_seconds / static_cast<double>(scenario.execution.device_iterations));
    Value shares{Value::Object{}};
    for (std::size_t i = 0; i < kStateCount; ++i) {
      shares.set(std::string(kStateNames[i]), summary.state_seconds[i] / summary.makespan_seconds);
    }
    result.set("shares", std::move(shares));
  } catch (const UserError& error) {
    result.set("error", std::string(error.what()));
  }
  return result;
}

void read_result(const ProcessResult& finished, Prediction& prediction) {
  if (!finished.failure.empty()) {
    prediction.error = finished.failure;
    return;
  }
  const Value result = parse_json(finished.output, prediction.measurement.id);
  if (const Value* error = result.find("error"); error != nullptr) {
    prediction.error = error->text();
    return;
  }
  prediction.predicted_seconds = result.at("seconds").number();
  for (const auto& [state, share] : result.at("shares").object()) {
    if (share.number() >= 0.005) prediction.shares.emplace_back(state, share.number());
  }
  std::stable_sort(prediction.shares.begin(), prediction.shares.end(),
                   [](const auto& left, const auto& right) { return left.second > right.second; });
}

}  // namespace

std::vector<Prediction> predict(const std::vector<Measurement>& measurements, const std::filesystem::path& folder,
                                int jobs) {
  std::vector<Prediction> predictions;
  for (const Measurement& measurement : measurements) predictions.push_back({measurement, 0, "", {}});
  run_each(
      jobs, predictions.size(),
      [&](std::size_t row) -> Prepared {
        return {{}, [file = folder / predictions[row].measurement.scenario] { return to_json(predict_one(file), -1); }};
      },
      [&](const ProcessResult& finished) { read_result(finished, predictions[finished.id]); });
  return predictions;
}

void add_intervals(std::vector<Prediction>& predictions, const std::filesystem::path& folder, std::size_t samples,
                   int jobs) {
  for (Prediction& prediction : predictions) {
    if (!prediction.error.empty()) continue;
    const Scenario scenario = load_scenario(folder / prediction.measurement.scenario);
    const Uncertainty uncertainty =
        sample_uncertainty(scenario, {.samples = samples, .seed = scenario.host.seed, .jobs = jobs});
    const UncertainFigure* call = uncertainty.find("run_seconds");
    if (call == nullptr) continue;
    const double iterations = static_cast<double>(scenario.execution.device_iterations);
    prediction.interval = {call->low / iterations, call->high / iterations};
  }
}

}  // namespace podsim
