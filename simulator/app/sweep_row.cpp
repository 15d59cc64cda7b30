// One table of columns decides names, order and units everywhere.
#include "simulator/app/sweep_row.hpp"

#include <cmath>

#include "simulator/core/error.hpp"
#include "simulator/core/state.hpp"

namespace podsim {

namespace {

std::vector<SweepColumn> make_columns() {
  std::vector<SweepColumn> columns = {
      {"throughput_samples_per_second", "1/s", "samples per second"},
      {"weight_update_seconds", "s", "mean time of a weight update (inference: of a device iteration)"},
      {"run_seconds", "s", "mean time of a host call"},
      {"makespan_seconds", "s", "simulated time"},
      {"samples_per_run", "1", "samples of a host call"},
      {"slots_per_update", "1", "pipeline slots from fill to drain"},
      {"utilization_busy", "1", "share of IPU time spent computing"},
      {"utilization_flops", "1", "share of the peak arithmetic rate"}};
  for (const std::string_view state : kStateNames) {
    columns.push_back({"state_seconds_" + std::string(state), "s", "time in this state, mean over IPUs"});
  }
  columns.push_back({"peak_tile_bytes", "B", "memory of the fullest tile of all IPUs"});
  columns.push_back({"memory_headroom_bytes", "B", "what is left on the fullest tile; negative: out of memory"});
  return columns;
}

std::size_t column_index(std::string_view name) {
  const std::vector<SweepColumn>& columns = sweep_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  throw InternalError("a sweep has no column " + std::string(name));
}

}  // namespace

const std::vector<SweepColumn>& sweep_columns() {
  static const std::vector<SweepColumn> kColumns = make_columns();
  return kColumns;
}

void SweepRow::set(std::string_view column, double value) { numbers[column_index(column)] = value; }

double SweepRow::get(std::string_view column) const { return numbers[column_index(column)]; }

std::string on_one_line(std::string_view text) {
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      line += text[i];
      continue;
    }
    while (i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\n')) ++i;
    if (i + 1 < text.size()) line += "; ";
  }
  return line;
}

Value to_value(const SweepRow& row) {
  Value value{Value::Object{}};
  const std::vector<SweepColumn>& columns = sweep_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double number = row.numbers[i];
    value.set(columns[i].name, std::isfinite(number) ? Value(number) : Value());
  }
  value.set("bottleneck", row.bottleneck.empty() ? Value() : Value(row.bottleneck));
  value.set("error", row.error.empty() ? Value() : Value(row.error));
  return value;
}

SweepRow row_from(const Value& value) {
  SweepRow row;
  const std::vector<SweepColumn>& columns = sweep_columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Value& number = value.at(columns[i].name);
    if (!number.is_null()) row.numbers[i] = number.number();
  }
  if (const Value& text = value.at("bottleneck"); !text.is_null()) row.bottleneck = text.text();
  if (const Value& text = value.at("error"); !text.is_null()) row.error = text.text();
  return row;
}

}  // namespace podsim
