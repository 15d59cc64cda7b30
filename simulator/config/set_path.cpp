// Values as text, paths and assignments.
#include "simulator/config/set_path.hpp"

#include <charconv>
#include <system_error>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

// "[a b c]", the list form of optimum-graphcore's update strings; nested lists are JSON's alone.
bool is_plain_list(const std::string& text) {
  return text.size() >= 2 && text.front() == '[' && text.back() == ']' && text.find_first_of("[{\"", 1) == text.npos;
}

Value parse_plain_list(const std::string& text, const std::string& where) {
  const std::string separators = std::string(kBlank) + ",]";
  Value::Array items;
  std::size_t start = text.find_first_not_of(separators, 1);
  while (start != std::string::npos) {
    const std::size_t end = text.find_first_of(separators, start);
    items.push_back(parse_value(text.substr(start, end - start), where));
    start = text.find_first_not_of(separators, end);
  }
  Value list(std::move(items));
  list.locate(where + ":");
  return list;
}

std::vector<std::string> parts_of(std::string_view path, const std::string& where) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    parts.emplace_back(path.substr(start, end - start));
    if (parts.back().empty()) throw UserError(where, "the path has an empty part", "write it as section.key");
    start = end + 1;
  }
  return parts;
}

Value& element(Value& list, const std::string& part, const std::string& where) {
  Value::Array& items = list.mutable_array();
  std::size_t index = 0;
  const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == part.data() + part.size();
  if (!whole || index > items.size()) {
    throw UserError(where, "\"" + part + "\" is no index of a list of " + std::to_string(items.size()),
                    "indices start at 0");
  }
  if (index == items.size()) items.emplace_back().set_where(where);
  return items[index];
}

}  // namespace

Value parse_value(const std::string& text, const std::string& where) {
  const std::string content = trimmed(text);
  try {
    return parse_json(content, where);
  } catch (const UserError&) {
    if (is_plain_list(content)) return parse_plain_list(content, where);
    const bool meant_json =
        !content.empty() && std::string_view("[{\"").find(content.front()) != std::string_view::npos;
    if (meant_json) throw;
  }
  Value value(content);
  value.set_where(where);
  return value;
}

void set_path(Value& root, std::string_view path, const std::string& text) {
  const std::string where = "--set " + std::string(path);
  set_path(root, path, parse_value(text, where), where);
}

void set_path(Value& root, std::string_view path, Value value, const std::string& where) {
  Value* node = &root;
  std::string walked;
  for (const std::string& part : parts_of(path, where)) {
    if (node->is_array()) {
      node = &element(*node, part, where);
    } else if (node->is_object() || node->is_null()) {
      if (node->where().empty()) node->set_where(where);
      node = &node->member(part);
    } else {
      throw UserError(where,
                      "\"" + walked + "\" is " + std::string(node->type_name()) + ", it has no \"" + part + "\"");
    }
    walked += (walked.empty() ? "" : ".") + part;
  }
  *node = std::move(value);
}

std::vector<std::pair<std::string, std::string>> split_assignments(std::string_view text, const std::string& where) {
  std::vector<std::string> parts(1);
  int depth = 0;
  bool in_quotes = false;
  for (const char c : text) {
    if (c == '"') in_quotes = !in_quotes;
    if (!in_quotes && (c == '[' || c == '{')) ++depth;
    if (!in_quotes && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth == 0 && !in_quotes) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::vector<std::pair<std::string, std::string>> assignments;
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    const std::string key = trimmed(std::string_view(part).substr(0, equals));
    if (equals == std::string::npos || key.empty()) {
      throw UserError(where, "\"" + trimmed(part) + "\" is not of the form KEY=VALUE",
                      "for instance device_iterations=4,matmul_proportion=[0.1 0.2]");
    }
    assignments.emplace_back(key, trimmed(std::string_view(part).substr(equals + 1)));
  }
  return assignments;
}

}  // namespace podsim
