// Reads axes and finds equal positions and keys that exclude each other.
#include "simulator/app/sweep_axes.hpp"

#include <map>

#include "simulator/app/overrides.hpp"
#include "simulator/app/sweep_range.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/set_path.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Splits at `separator` outside brackets, braces and quotes.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool quoted = false;
  for (const char letter : text) {
    if (letter == '"') quoted = !quoted;
    if (!quoted && (letter == '[' || letter == '{')) ++depth;
    if (!quoted && (letter == ']' || letter == '}')) --depth;
    if (letter == separator && depth == 0 && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

std::vector<std::string> read_keys(const std::string& text, const std::string& where) {
  std::vector<std::string> keys = split(text, ',');
  for (const std::string& key : keys) {
    if (key.empty()) throw UserError(where, "a key is missing", "for example --vary replication_factor=1,2,4");
    try {
      (void)full_path(key);
    } catch (const UserError& error) {
      throw UserError(where, error.problem(), error.remedy());
    }
  }
  return keys;
}

std::vector<std::string> read_row(const std::string& text, const std::vector<std::string>& keys,
                                  const std::string& where) {
  const std::vector<std::string> row = keys.size() == 1 ? std::vector<std::string>{text} : split(text, '/');
  if (row.size() != keys.size()) {
    throw UserError(
        where,
        "\"" + text + "\" has " + std::to_string(row.size()) + " values for " + std::to_string(keys.size()) + " keys",
        "zipped values stand side by side with \"/\": --vary \"K1,K2=1/2,2/4\"");
  }
  for (const std::string& value : row) {
    if (value.empty()) throw UserError(where, "a value is missing", "for example --vary replication_factor=1,2,4");
    (void)parse_value(value, where);
    if (keys.size() > 1 && range_values(value, where)) {
      throw UserError(where, "the range " + value + " cannot stand in zipped values", "write its values out");
    }
  }
  return row;
}

void read_rows(SweepAxis& axis, const std::string& text) {
  for (const std::string& part : split(text, ',')) {
    if (axis.keys.size() == 1) {
      if (const auto values = range_values(part, axis.where)) {
        for (const std::string& value : *values) axis.rows.push_back({value});
        continue;
      }
    }
    axis.rows.push_back(read_row(part, axis.keys, axis.where));
  }
}

void find_equal_rows(SweepAxis& axis) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < axis.rows.size(); ++i) {
    std::string content;
    for (const std::string& value : axis.rows[i]) content += to_json(parse_value(value, axis.where), 0) + "\n";
    axis.first.push_back(seen.emplace(content, i).first->second);
  }
}

// "a.b" holds "a.b" and "a.b.c".
bool holds(const std::string& outer, const std::string& inner) {
  return inner.compare(0, outer.size(), outer) == 0 && (inner.size() == outer.size() || inner[outer.size()] == '.');
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  SweepAxis axis;
  axis.where = "--vary " + text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw UserError(axis.where, "is not of the form KEY=VALUES", "for example --vary replication_factor=1,2,4");
  }
  axis.keys = read_keys(text.substr(0, equals), axis.where);
  read_rows(axis, text.substr(equals + 1));
  find_equal_rows(axis);
  return axis;
}

SweepAxis axis_from(const std::string& keys, const Value& values) {
  SweepAxis axis;
  axis.where = values.where();
  axis.keys = read_keys(keys, axis.where);
  if (values.is_text()) {
    read_rows(axis, values.text());
    find_equal_rows(axis);
    return axis;
  }
  for (const Value& item : values.array()) {
    std::vector<std::string> row;
    if (axis.keys.size() == 1) {
      row.push_back(to_json(item, 0));
    } else {
      for (const Value& value : item.array()) row.push_back(to_json(value, 0));
    }
    if (row.size() != axis.keys.size()) {
      throw UserError(item.where(),
                      std::to_string(row.size()) + " values for " + std::to_string(axis.keys.size()) + " keys",
                      "give one value for each key: [[1, 2], [2, 4]]");
    }
    axis.rows.push_back(std::move(row));
  }
  if (axis.rows.empty()) throw UserError(axis.where, "an axis without values", "give at least one, or leave it out");
  find_equal_rows(axis);
  return axis;
}

void require_distinct_keys(const std::vector<SweepAxis>& axes, const std::vector<std::string>& sets) {
  std::vector<std::string> seen;
  const auto require = [&](const std::string& key, const std::string& where) {
    const std::string path = full_path(key);
    for (const std::string& other : seen) {
      const std::string other_path = full_path(other);
      if (!holds(path, other_path) && !holds(other_path, path)) continue;
      throw UserError(where, key + (key == other ? " is given twice" : " and " + other + " set the same value"),
                      "give it once");
    }
  };
  for (const std::string& key : sets) seen.push_back(key);
  for (const SweepAxis& axis : axes) {
    for (const std::string& key : axis.keys) {
      require(key, axis.where);
      seen.push_back(key);
    }
  }
}

}  // namespace podsim
