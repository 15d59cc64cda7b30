// Checked access to the nodes of a Value, and their places.
#include "simulator/core/value.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53: above it, neighbouring integers share a double

// What the user wrote, short enough for a message.
std::string found(const Value& value) {
  if (value.is_text()) return "the string \"" + value.text() + "\"";
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.integer());
  if (value.is_number()) return format_exact(value.number());
  return std::string(value.type_name());
}

[[noreturn]] void refuse(const Value& value, std::string_view expected) {
  throw UserError(value.where(), "expected " + std::string(expected) + ", found " + found(value));
}

}  // namespace

std::string escape_pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

bool Value::is_null() const { return std::holds_alternative<std::monostate>(data_); }
bool Value::is_boolean() const { return std::holds_alternative<bool>(data_); }
bool Value::is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
bool Value::is_number() const { return is_integer() || std::holds_alternative<double>(data_); }
bool Value::is_text() const { return std::holds_alternative<std::string>(data_); }
bool Value::is_array() const { return std::holds_alternative<Array>(data_); }
bool Value::is_object() const { return std::holds_alternative<Object>(data_); }

std::string_view Value::type_name() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "a number",
                                         "a string", "a list",    "an object"};
  return kNames[data_.index()];
}

bool Value::boolean() const {
  if (const bool* value = std::get_if<bool>(&data_)) return *value;
  refuse(*this, "true or false");
}

std::int64_t Value::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return *value;
  if (const auto* value = std::get_if<double>(&data_)) {
    if (std::trunc(*value) == *value && std::abs(*value) <= kLargestExactInteger) {
      return static_cast<std::int64_t>(*value);
    }
  }
  refuse(*this, "an integer");
}

double Value::number() const {
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&data_)) return *value;
  refuse(*this, "a number");
}

const std::string& Value::text() const {
  if (const auto* value = std::get_if<std::string>(&data_)) return *value;
  refuse(*this, "a string");
}

const Value::Array& Value::array() const {
  if (const auto* value = std::get_if<Array>(&data_)) return *value;
  refuse(*this, "a list");
}

const Value::Object& Value::object() const {
  if (const auto* value = std::get_if<Object>(&data_)) return *value;
  refuse(*this, "an object");
}

const Value* Value::find(std::string_view key) const {
  if (is_null()) return nullptr;
  const Object& members = object();
  const auto it = std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
  return it == members.end() ? nullptr : &it->second;
}

const Value& Value::at(std::string_view key) const {
  if (const Value* value = find(key)) return *value;
  throw UserError(where_, "\"" + std::string(key) + "\" is missing");
}

Value& Value::set(std::string key, Value value) {
  member(key) = std::move(value);
  return *this;
}

void Value::erase(std::string_view key) {
  if (auto* members = std::get_if<Object>(&data_)) {
    std::erase_if(*members, [&](const auto& member) { return member.first == key; });
  }
}

Value& Value::member(std::string_view key) {
  if (is_null()) data_ = Object{};
  auto* members = std::get_if<Object>(&data_);
  if (members == nullptr) throw InternalError("member of a Value that is " + std::string(type_name()));
  for (auto& [name, value] : *members) {
    if (name == key) return value;
  }
  return members->emplace_back(std::string(key), Value()).second;
}

Value::Array& Value::mutable_array() {
  if (is_null()) data_ = Array{};
  if (auto* items = std::get_if<Array>(&data_)) return *items;
  throw InternalError("elements of a Value that is " + std::string(type_name()));
}

void Value::locate(const std::string& root) {
  where_ = root;
  if (auto* members = std::get_if<Object>(&data_)) {
    for (auto& [name, value] : *members) value.locate(root + "/" + escape_pointer_token(name));
  } else if (auto* items = std::get_if<Array>(&data_)) {
    for (std::size_t i = 0; i < items->size(); ++i) (*items)[i].locate(root + "/" + std::to_string(i));
  }
}

}  // namespace podsim
