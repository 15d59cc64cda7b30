// Validation: scenarios of measured systems, predicted against measured.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

// One row of the measurements file.
struct Measurement {
  std::string id;
  std::string family;           // rows of a family differ in few things: their ratios are compared as well
  std::string scenario;         // file, relative to the measurements file
  double measured_seconds = 0;  // of one weight update (in inference: one device iteration), host call included
};

// 5% and 95% of a prediction (see uncertainty.hpp).
struct SecondsInterval {
  double low = 0, high = 0;
  [[nodiscard]] bool contains(double seconds) const { return low <= seconds && seconds <= high; }
};

struct Prediction {
  Measurement measurement;
  double predicted_seconds = 0;                            // 0 where the scenario could not run
  std::string error;                                       // why not
  std::vector<std::pair<std::string, double>> shares;      // of the time, largest first
  std::optional<SecondsInterval> interval = std::nullopt;  // where it was asked for and the row can run

  [[nodiscard]] double relative_error() const { return predicted_seconds / measurement.measured_seconds - 1; }
};

struct ErrorStatistics {
  std::string name;  // a family, or "all"
  int rows = 0;
  double median = 0, worst = 0;  // absolute relative errors
};

struct RatioError {
  std::string family, from, to;  // ids
  double measured = 0, predicted = 0;
  [[nodiscard]] double relative_error() const { return predicted / measured - 1; }
};

// Columns id, family, scenario, weight_update_ms (further ones are notes). UserError for a malformed file.
[[nodiscard]] std::vector<Measurement> read_measurements(const std::filesystem::path& file);

// Runs every scenario in a process of its own, `jobs` at a time.
[[nodiscard]] std::vector<Prediction> predict(const std::vector<Measurement>& measurements,
                                              const std::filesystem::path& folder, int jobs);

// Adds the intervals of rows that can run: `samples` simulations each, seeded as their scenarios. Call it where SimGrid
// is not used.
void add_intervals(std::vector<Prediction>& predictions, const std::filesystem::path& folder, std::size_t samples,
                   int jobs);

// Rows with an interval, and those of them whose measured time lies inside: of 5% to 95% intervals that are right, 90%.
struct Coverage {
  int rows = 0, inside = 0;
  double median_width = 0;  // of the intervals, relative to the prediction
};
[[nodiscard]] Coverage coverage(const std::vector<Prediction>& predictions);

// Per family in order of appearance, then "all". Rows that could not run count as an error of 1.
[[nodiscard]] std::vector<ErrorStatistics> statistics(const std::vector<Prediction>& predictions);
// Each row of a family against the first one.
[[nodiscard]] std::vector<RatioError> ratio_errors(const std::vector<Prediction>& predictions);

[[nodiscard]] std::string validation_text(const std::vector<Prediction>& predictions);
[[nodiscard]] Value validation_value(const std::vector<Prediction>& predictions);

}  // namespace podsim
