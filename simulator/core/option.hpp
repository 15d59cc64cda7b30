// Options declared once: name, type, default, limits and help. Validation, `podsim describe`, the
// README tables and the JSON schema all come from the declaration.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/core/error.hpp"
#include "simulator/core/value.hpp"

namespace podsim {

enum class OptionType : std::uint8_t {
  Boolean,
  Integer,
  Number,
  Text,
  Choice,    // one of `choices`
  Integers,  // a list of integers; a single one stands for a list of one
  Numbers,   // a list of numbers; a single one stands for a list of one
  Texts,     // a list of strings
  Object,    // an object that its owner reads further
  Any,       // anything that its owner reads further (object or file name, …)
};

// Of integers without a limit of their own: sizes of models, whose products must not overflow.
constexpr double kLargestSize = 1e7;

struct Option {
  std::string name{};
  OptionType type = OptionType::Text;
  Value default_value{};                                      // null: no default (see `required`)
  std::string help{};                                         // one sentence, with the unit
  double minimum = -std::numeric_limits<double>::infinity();  // inclusive; for each element of a list
  double maximum = std::numeric_limits<double>::infinity();   // inclusive
  std::vector<std::string> choices{};
  bool required = false;

  [[nodiscard]] double highest() const;  // maximum, or kLargestSize for integers without one
};

// The values of declared options, checked. Reading a name that was not declared is an InternalError.
class Options {
 public:
  Options() = default;
  Options(std::string where, Value::Object values, std::set<std::string, std::less<>> given);

  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  [[nodiscard]] const Value& value(std::string_view name) const;
  // False where the option has neither a given value nor a default.
  [[nodiscard]] bool has(std::string_view name) const;
  // True where the option was given, be it with its default value.
  [[nodiscard]] bool given(std::string_view name) const;
  // Where the option was given, for error messages ("file:/pointer/name").
  [[nodiscard]] std::string where(std::string_view name) const;
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const Value::Object& values() const { return values_; }

 private:
  std::string where_;
  Value::Object values_;  // each declared name, with its given or default value, in declared order
  std::set<std::string, std::less<>> given_;
};

// Checks `object` against the declaration and fills in defaults. Unknown keys (with the nearest
// known name), wrong types, lossy numbers, out-of-range values and missing required options are
// UserErrors that name the place. `object` may be null: all defaults.
[[nodiscard]] Options read_options(const Value& object, const std::vector<Option>& declared);

// The known name nearest to `name` by edit distance, or "" when none is near.
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

// The error for a key that nobody declared, with the nearest known name.
[[nodiscard]] UserError unknown_key(const std::string& where, std::string_view name,
                                    const std::vector<std::string>& known);

// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& names, std::string_view separator = ", ");

}  // namespace podsim
