// Value: a JSON-like tree that remembers where each node came from, so that any module can read a
// configuration and blame the exact place without knowing the JSON library (which stays in config).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace podsim {

class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;  // keeps the order of the file

  Value() = default;  // null
  Value(bool value) : data_(value) {}
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(Array value) : data_(std::move(value)) {}
  Value(Object value) : data_(std::move(value)) {}

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_boolean() const;
  [[nodiscard]] bool is_integer() const;
  [[nodiscard]] bool is_number() const;  // integer or double
  [[nodiscard]] bool is_text() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] std::string_view type_name() const;  // "an integer", "an object", …

  // Checked reads: a UserError that names where() and the expected type, otherwise. No silent
  // conversion: integer() refuses 3.7 and true; number() takes integers.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const Array& array() const;
  [[nodiscard]] const Object& object() const;

  // Object members. find(): null pointer where absent; at(): UserError where absent.
  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] const Value& at(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }

  // Sets or replaces a member of an object (a null becomes an object first); returns *this.
  Value& set(std::string key, Value value);
  // Removes a member if it is there.
  void erase(std::string_view key);
  // Mutable access to a member, made (null) where absent.
  [[nodiscard]] Value& member(std::string_view key);
  [[nodiscard]] Array& mutable_array();

  // "file.json:/workload/model"; set by the reader for the whole tree.
  [[nodiscard]] const std::string& where() const { return where_; }
  void set_where(std::string where) { where_ = std::move(where); }
  // Sets where() of this node and of everything below it, as JSON pointers under `root`.
  void locate(const std::string& root);

  // Structural equality; locations do not count, and 1 differs from 1.0.
  friend bool operator==(const Value& left, const Value& right) { return left.data_ == right.data_; }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
  std::string where_;
};

// One token of a JSON pointer (RFC 6901, section 3): "~" and "/" escaped.
[[nodiscard]] std::string escape_pointer_token(std::string_view key);

}  // namespace podsim
