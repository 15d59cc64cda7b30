// The axes are stored as they are, the rest by digest.
#include "simulator/app/sweep_header.hpp"

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr int kFormat = 1;  // of journals and parts

Value texts(const std::vector<std::string>& items) {
  Value::Array array;
  for (const std::string& item : items) array.emplace_back(item);
  return Value(std::move(array));
}

std::vector<std::string> texts_of(const Value& value) {
  std::vector<std::string> items;
  for (const Value& item : value.array()) items.push_back(item.text());
  return items;
}

Value to_value(const SweepAxis& axis) {
  Value value{Value::Object{}};
  value.set("keys", texts(axis.keys));
  Value::Array rows;
  for (const auto& row : axis.rows) rows.push_back(texts(row));
  value.set("values", Value(std::move(rows)));
  Value::Array first;
  for (const std::size_t position : axis.first) first.emplace_back(static_cast<std::int64_t>(position));
  value.set("first", Value(std::move(first)));
  return value;
}

SweepAxis axis_from_header(const Value& value) {
  SweepAxis axis;
  axis.keys = texts_of(value.at("keys"));
  for (const Value& row : value.at("values").array()) axis.rows.push_back(texts_of(row));
  for (const Value& item : value.at("first").array()) axis.first.push_back(static_cast<std::size_t>(item.integer()));
  return axis;
}

bool equal_axes(const SweepGrid& left, const SweepGrid& right) {
  if (left.axes().size() != right.axes().size()) return false;
  for (std::size_t i = 0; i < left.axes().size(); ++i) {
    if (left.axes()[i].keys != right.axes()[i].keys || left.axes()[i].rows != right.axes()[i].rows) return false;
  }
  return true;
}

}  // namespace

std::vector<bool> SweepHeader::runnable() const {
  std::vector<bool> runs(grid.points(), false);
  for (std::size_t point = shard.index; point < runs.size(); point += shard.count) {
    runs[grid.representative(point)] = true;
  }
  return runs;
}

std::vector<std::size_t> SweepHeader::points() const {
  std::vector<std::size_t> result;
  for (std::size_t point = shard.index; point < grid.points(); point += shard.count) result.push_back(point);
  return result;
}

Value to_value(const SweepHeader& header) {
  Value value{Value::Object{}};
  value.set("podsim_sweep", kFormat);
  value.set("name", header.name);
  value.set("program", header.program);
  value.set("scenario", header.scenario);
  value.set("data", header.data);
  value.set("fast_forward", header.fast_forward);
  value.set("shard", std::to_string(header.shard.index) + "/" + std::to_string(header.shard.count));
  Value::Array axes;
  for (const SweepAxis& axis : header.grid.axes()) axes.push_back(to_value(axis));
  value.set("axes", Value(std::move(axes)));
  return value;
}

SweepHeader header_from(const Value& value) {
  if (!value.is_object() || !value.contains("podsim_sweep") || value.at("podsim_sweep").integer() != kFormat) {
    throw UserError(value.where(), "is not written by this version's podsim sweep", "run the sweep again");
  }
  SweepHeader header;
  header.name = value.at("name").text();
  header.program = value.at("program").text();
  header.scenario = value.at("scenario").text();
  header.data = value.at("data").text();
  header.fast_forward = value.at("fast_forward").boolean();
  header.shard = parse_shard(value.at("shard").text());
  std::vector<SweepAxis> axes;
  for (const Value& axis : value.at("axes").array()) axes.push_back(axis_from_header(axis));
  header.grid = SweepGrid(std::move(axes));
  return header;
}

std::string difference(const SweepHeader& left, const SweepHeader& right) {
  if (left.scenario != right.scenario) return "the scenario";
  if (!equal_axes(left.grid, right.grid)) return "the axes";
  if (left.data != right.data) return "the data folder";
  if (left.program != right.program) return "the version of podsim";
  if (left.fast_forward != right.fast_forward) return "--no-fast-forward";
  return {};
}

}  // namespace podsim
