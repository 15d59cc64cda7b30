// SweepRow: what a sweep keeps of one point, and its form in files.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

struct SweepColumn {
  std::string name;
  std::string units;
  std::string description;
};

// The numbers of a row, in order: those of the summary under their names there, nested ones with "_" for ".", then
// memory. All rows have all of them.
[[nodiscard]] const std::vector<SweepColumn>& sweep_columns();

struct SweepRow {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();  // no such figure

  std::vector<double> numbers = std::vector<double>(sweep_columns().size(), kUnknown);  // as sweep_columns()
  std::string bottleneck;
  std::string error;  // why the point could not run; empty where it could

  void set(std::string_view column, double value);  // InternalError for a column that does not exist
  [[nodiscard]] double get(std::string_view column) const;
};

// A message of several lines on one, as tables want it: line ends and what is indented behind them become "; ".
[[nodiscard]] std::string on_one_line(std::string_view text);

// {"throughput_samples_per_second":…, …, "bottleneck":…, "error":…}, absent figures and texts as null.
[[nodiscard]] Value to_value(const SweepRow& row);
// The reverse; keys that are no columns are left alone. UserError where one is missing or of the wrong type.
[[nodiscard]] SweepRow row_from(const Value& value);

}  // namespace podsim
