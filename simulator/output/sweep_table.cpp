// Coordinates are integers or numbers where all values are, else texts.
#include "simulator/output/sweep_table.hpp"

#include <algorithm>
#include <span>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/output/hdf5_builder.hpp"

namespace podsim {
namespace {

std::string text_of(const Value& value) {
  if (value.is_text()) return value.text();
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_number()) return format_exact(value.number());
  if (value.is_null()) return "null";
  std::string text;
  if (value.is_array()) {
    for (const Value& item : value.array()) text += (text.empty() ? "" : ",") + text_of(item);
    return "[" + text + "]";
  }
  for (const auto& [key, member] : value.object()) text += (text.empty() ? "" : ",") + key + ":" + text_of(member);
  return "{" + text + "}";
}

// Calls `put` with the values as the simplest of integers, numbers and texts that they all are.
template <typename Put>
void with_type(const std::vector<Value>& values, const Put& put) {
  if (std::all_of(values.begin(), values.end(), [](const Value& value) { return value.is_integer(); })) {
    std::vector<std::int64_t> integers;
    for (const Value& value : values) integers.push_back(value.integer());
    put(std::span<const std::int64_t>(integers));
  } else if (std::all_of(values.begin(), values.end(), [](const Value& value) { return value.is_number(); })) {
    std::vector<double> numbers;
    for (const Value& value : values) numbers.push_back(value.number());
    put(std::span<const double>(numbers));
  } else {
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(text_of(value));
    put(std::span<const std::string>(texts));
  }
}

struct PutAxis {
  Hdf5Group& group;
  const std::string& name;
  void operator()(std::span<const std::string> texts) const { group.axis(name, texts, "swept value"); }
  template <typename Number>
  void operator()(std::span<const Number> numbers) const {
    group.axis(name, numbers, "1", "swept value");
  }
};

struct PutCoordinate {
  Hdf5Group& group;
  const std::string& name;
  const std::string& axis;
  void operator()(std::span<const std::string> texts) const { group.column(name, {axis}, texts, "swept value"); }
  template <typename Number>
  void operator()(std::span<const Number> numbers) const {
    group.column(name, {axis}, numbers, "1", "swept value");
  }
};

// Returns the names of the dimensions.
std::vector<std::string> write_axes(Hdf5Group& group, const std::vector<SweepTableAxis>& axes) {
  std::vector<std::string> names;
  std::string coordinates;
  for (const SweepTableAxis& axis : axes) {
    names.push_back(axis.keys.front());
    with_type(axis.values.front(), PutAxis{group, axis.keys.front()});
    for (std::size_t key = 1; key < axis.keys.size(); ++key) {
      with_type(axis.values[key], PutCoordinate{group, axis.keys[key], axis.keys.front()});
      coordinates += (coordinates.empty() ? "" : " ") + axis.keys[key];
    }
  }
  if (!coordinates.empty()) group.attribute("coordinates", coordinates);  // CF conventions 1.8, section 5
  return names;
}

}  // namespace

std::vector<char> sweep_image(const SweepTable& table) {
  try {
    const Hdf5Builder builder;
    {
      Hdf5Group group = builder.group("/");
      for (const auto& [name, value] : table.attributes) group.attribute(name, value);
      const std::vector<std::string> axes = write_axes(group, table.axes);
      for (const SweepTableNumbers& column : table.numbers) {
        group.column(column.name, axes, column.values, column.units, column.description);
      }
      for (const SweepTableTexts& column : table.texts) {
        group.column(column.name, axes, std::span<const std::string>(column.values), column.description);
      }
    }
    return builder.image();
  } catch (const Hdf5Error& error) {
    throw InternalError(std::string("sweep file: ") + error.what());
  }
}

}  // namespace podsim
