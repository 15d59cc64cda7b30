// Reads measurements, compares them with predictions, and prints both. The runs are in validation_runs.cpp.
#include "simulator/app/validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/app/csv.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/trace/uncertainty.hpp"

namespace podsim {

namespace {

double parse_positive(const std::string& text, const std::string& where) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || !(value > 0) || !std::isfinite(value)) {
    throw UserError(where, "\"" + text + "\" is not a positive number", "give milliseconds");
  }
  return value;
}

ErrorStatistics statistics_of(const std::string& name, const std::vector<const Prediction*>& rows) {
  std::vector<double> errors;
  for (const Prediction* row : rows) errors.push_back(std::abs(row->relative_error()));
  return {name, static_cast<int>(rows.size()), quantile(errors, 0.5), *std::max_element(errors.begin(), errors.end())};
}

std::string percent(double share) { return fmt::format("{:+.1f}%", 100 * share); }

std::string row_text(const Prediction& row) {
  std::string text =
      fmt::format("{:<28} {:>12} ", row.measurement.id, format_seconds(row.measurement.measured_seconds));
  if (!row.error.empty()) return text + row.error + "\n";
  text += fmt::format("{:>12} {:>8} ", format_seconds(row.predicted_seconds), percent(row.relative_error()));
  if (row.interval) {
    text += fmt::format("{:>10} to {:>10} {:<8}", format_seconds(row.interval->low), format_seconds(row.interval->high),
                        row.interval->contains(row.measurement.measured_seconds) ? "" : "outside");
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(row.shares.size(), 4); ++i) {
    text += fmt::format(" {} {:.0f}%", row.shares[i].first, 100 * row.shares[i].second);
  }
  return text + "\n";
}

}  // namespace

std::vector<Measurement> read_measurements(const std::filesystem::path& file) {
  const CsvTable table = read_csv(file);
  std::vector<Measurement> measurements;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string where = file.string() + ":" + std::to_string(row + 2);
    measurements.push_back({table.cell(row, "id"), table.cell(row, "family"), table.cell(row, "scenario"),
                            1e-3 * parse_positive(table.cell(row, "weight_update_ms"), where)});
  }
  if (measurements.empty()) throw UserError(file.string(), "holds no measurements", "one row each, below the header");
  return measurements;
}

std::vector<ErrorStatistics> statistics(const std::vector<Prediction>& predictions) {
  std::vector<std::string> families;
  std::map<std::string, std::vector<const Prediction*>> rows;
  for (const Prediction& prediction : predictions) {
    const std::string& family = prediction.measurement.family;
    if (rows.find(family) == rows.end()) families.push_back(family);
    rows[family].push_back(&prediction);
    rows["all"].push_back(&prediction);
  }
  families.emplace_back("all");
  std::vector<ErrorStatistics> result;
  for (const std::string& family : families) result.push_back(statistics_of(family, rows[family]));
  return result;
}

std::vector<RatioError> ratio_errors(const std::vector<Prediction>& predictions) {
  std::map<std::string, const Prediction*> first;
  std::vector<RatioError> ratios;
  for (const Prediction& row : predictions) {
    if (!row.error.empty()) continue;
    const auto [place, inserted] = first.try_emplace(row.measurement.family, &row);
    if (inserted) continue;
    const Prediction& base = *place->second;
    ratios.push_back({row.measurement.family, base.measurement.id, row.measurement.id,
                      row.measurement.measured_seconds / base.measurement.measured_seconds,
                      row.predicted_seconds / base.predicted_seconds});
  }
  return ratios;
}

Coverage coverage(const std::vector<Prediction>& predictions) {
  Coverage result;
  std::vector<double> widths;
  for (const Prediction& row : predictions) {
    if (!row.interval) continue;
    ++result.rows;
    result.inside += static_cast<int>(row.interval->contains(row.measurement.measured_seconds));
    widths.push_back((row.interval->high - row.interval->low) / row.predicted_seconds);
  }
  if (result.rows > 0) result.median_width = quantile(widths, 0.5);
  return result;
}

std::string validation_text(const std::vector<Prediction>& predictions) {
  const Coverage covered = coverage(predictions);
  std::string text = fmt::format("{:<28} {:>12} {:>12} {:>8} {:<33}{}\n", "row", "measured", "predicted", "error",
                                 covered.rows > 0 ? "         5% to 95%" : "", "largest shares of the time");
  for (const Prediction& row : predictions) text += row_text(row);
  if (covered.rows > 0) {
    text += fmt::format("\n{} of {} measured times lie between 5% and 95% of their samples (median width {:.0f}%)\n",
                        covered.inside, covered.rows, 100 * covered.median_width);
  }
  text += fmt::format("\n{:<28} {:>5} {:>8} {:>8}\n", "family", "rows", "median", "worst");
  for (const ErrorStatistics& family : statistics(predictions)) {
    text += fmt::format("{:<28} {:>5} {:>7.1f}% {:>7.1f}%\n", family.name, family.rows, 100 * family.median,
                        100 * family.worst);
  }
  text += fmt::format("\n{:<58} {:>9} {:>9} {:>8}\n", "ratio within a family", "measured", "predicted", "error");
  for (const RatioError& ratio : ratio_errors(predictions)) {
    text += fmt::format("{:<58} {:>9.3f} {:>9.3f} {:>8}\n", ratio.to + " / " + ratio.from, ratio.measured,
                        ratio.predicted, percent(ratio.relative_error()));
  }
  return text;
}

Value validation_value(const std::vector<Prediction>& predictions) {
  Value::Array rows;
  for (const Prediction& prediction : predictions) {
    Value row{Value::Object{}};
    row.set("id", prediction.measurement.id);
    row.set("family", prediction.measurement.family);
    row.set("measured_seconds", prediction.measurement.measured_seconds);
    row.set("predicted_seconds", prediction.predicted_seconds);
    row.set("relative_error", prediction.relative_error());
    if (!prediction.error.empty()) row.set("error", prediction.error);
    if (prediction.interval) {
      row.set("interval_seconds", Value::Array{prediction.interval->low, prediction.interval->high});
      row.set("inside", prediction.interval->contains(prediction.measurement.measured_seconds));
    }
    Value shares{Value::Object{}};
    for (const auto& [state, share] : prediction.shares) shares.set(state, share);
    row.set("shares", std::move(shares));
    rows.push_back(std::move(row));
  }
  Value::Array families;
  for (const ErrorStatistics& family : statistics(predictions)) {
    Value row{Value::Object{}};
    row.set("name", family.name);
    row.set("rows", family.rows);
    row.set("median_absolute_error", family.median);
    row.set("worst_absolute_error", family.worst);
    families.push_back(std::move(row));
  }
  Value::Array ratios;
  for (const RatioError& ratio : ratio_errors(predictions)) {
    Value row{Value::Object{}};
    row.set("family", ratio.family);
    row.set("from", ratio.from);
    row.set("to", ratio.to);
    row.set("measured", ratio.measured);
    row.set("predicted", ratio.predicted);
    row.set("relative_error", ratio.relative_error());
    ratios.push_back(std::move(row));
  }
  Value value{Value::Object{}};
  if (const Coverage covered = coverage(predictions); covered.rows > 0) {
    Value intervals{Value::Object{}};
    intervals.set("rows", covered.rows);
    intervals.set("inside", covered.inside);
    intervals.set("median_width", covered.median_width);
    value.set("intervals", std::move(intervals));
  }
  value.set("rows", Value(std::move(rows)));
  value.set("statistics", Value(std::move(families)));
  value.set("ratios", Value(std::move(ratios)));
  return value;
}

}  // namespace podsim
