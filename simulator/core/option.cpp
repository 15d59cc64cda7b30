// The checks behind declared options.
#include "simulator/core/option.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "simulator/core/format.hpp"

namespace podsim {

namespace {

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(const std::string& left, const std::string& right) {
  std::vector<std::vector<std::size_t>> cost(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= right.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t substitution = cost[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[left.size()][right.size()];
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) return "did you mean \"" + nearest + "\"?";
  return known.empty() ? "it takes no options" : "known: " + joined(known);
}

void check_range(const Value& value, const Option& option) {
  const double number = value.number();
  if (std::isfinite(number) && number >= option.minimum && number <= option.highest()) return;
  std::string limits;
  if (std::isfinite(option.minimum) && std::isfinite(option.highest())) {
    limits = "must be between " + format_exact(option.minimum) + " and " + format_exact(option.highest());
  } else if (std::isfinite(option.minimum)) {
    limits = "must be at least " + format_exact(option.minimum);
  } else if (std::isfinite(option.highest())) {
    limits = "must be at most " + format_exact(option.highest());
  } else {
    limits = "must be finite";
  }
  throw UserError(value.where(), limits + ", found " + format_exact(number));
}

Value at_place_of(Value value, const Value& original) {
  value.set_where(original.where());
  return value;
}

Value checked_integer(const Value& given, const Option& option) {
  Value value = at_place_of(Value(given.integer()), given);
  check_range(value, option);
  return value;
}

Value checked_number(const Value& given, const Option& option) {
  static_cast<void>(given.number());
  check_range(given, option);
  return given;
}

Value checked_text(const Value& given, const Option& /*option*/) {
  static_cast<void>(given.text());
  return given;
}

Value checked_choice(const Value& given, const Option& option) {
  const std::string& text = given.text();
  if (std::find(option.choices.begin(), option.choices.end(), text) == option.choices.end()) {
    throw UserError(given.where(), "unknown choice \"" + text + "\"", "one of " + joined(option.choices));
  }
  return given;
}

// A list, or a single value that stands for a list of one.
Value checked_list(const Value& given, const Option& option, Value (*checked_element)(const Value&, const Option&)) {
  Value::Array items;
  if (given.is_array()) {
    for (const Value& item : given.array()) items.push_back(checked_element(item, option));
  } else {
    items.push_back(checked_element(given, option));
  }
  return at_place_of(Value(std::move(items)), given);
}

Value checked(const Value& given, const Option& option) {
  switch (option.type) {
    case OptionType::Boolean: static_cast<void>(given.boolean()); return given;
    case OptionType::Integer: return checked_integer(given, option);
    case OptionType::Number: return checked_number(given, option);
    case OptionType::Text: return checked_text(given, option);
    case OptionType::Choice: return checked_choice(given, option);
    case OptionType::Integers: return checked_list(given, option, checked_integer);
    case OptionType::Numbers: return checked_list(given, option, checked_number);
    case OptionType::Texts: return checked_list(given, option, checked_text);
    case OptionType::Object: static_cast<void>(given.object()); return given;
    case OptionType::Any: return given;
  }
  throw InternalError("option \"" + option.name + "\" has an unknown type");
}

std::vector<std::string> names_of(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

// A default is declared in code, so a bad one is our bug.
Value default_of(const Option& option, const std::string& where) {
  if (option.default_value.is_null()) return {};
  Value value = option.default_value;
  value.locate(where + "/" + option.name);
  try {
    return checked(value, option);
  } catch (const UserError& error) {
    throw InternalError(std::string("bad default: ") + error.what());
  }
}

}  // namespace

double Option::highest() const {
  const bool integers = type == OptionType::Integer || type == OptionType::Integers;
  return integers && std::isinf(maximum) ? kLargestSize : maximum;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = lower(name);
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::string text = lower(candidate);
    const bool part = wanted.size() >= 3 && (text.starts_with(wanted) || wanted.starts_with(text));
    const std::size_t distance = edit_distance(wanted, text);
    const std::size_t rank = part ? std::min<std::size_t>(distance, 2) : distance;
    if (rank < least) {
      least = rank;
      nearest = candidate;
    }
  }
  return nearest;
}

UserError unknown_key(const std::string& where, std::string_view name, const std::vector<std::string>& known) {
  return {where, "unknown key \"" + std::string(name) + "\"", suggestion(name, known)};
}

std::string joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

Options read_options(const Value& object, const std::vector<Option>& declared) {
  if (!object.is_null()) {
    for (const auto& [name, value] : object.object()) {
      const auto has_name = [&key = name](const Option& option) { return option.name == key; };
      if (std::none_of(declared.begin(), declared.end(), has_name)) {
        throw unknown_key(value.where(), name, names_of(declared));
      }
    }
  }
  Value::Object values;
  values.reserve(declared.size());
  std::set<std::string, std::less<>> names_given;
  for (const Option& option : declared) {
    const Value* given = object.find(option.name);
    if (given != nullptr && !given->is_null()) {
      names_given.insert(option.name);
      values.emplace_back(option.name, checked(*given, option));
    } else if (option.required) {
      throw UserError(object.where(), "\"" + option.name + "\" is missing", option.help);
    } else {
      values.emplace_back(option.name, default_of(option, object.where()));
    }
  }
  return {object.where(), std::move(values), std::move(names_given)};
}

Options::Options(std::string where, Value::Object values, std::set<std::string, std::less<>> given)
    : where_(std::move(where)), values_(std::move(values)), given_(std::move(given)) {}

const Value& Options::value(std::string_view name) const {
  const auto it =
      std::find_if(values_.begin(), values_.end(), [&](const auto& member) { return member.first == name; });
  if (it == values_.end()) throw InternalError("option \"" + std::string(name) + "\" was not declared");
  return it->second;
}

bool Options::given(std::string_view name) const {
  if (given_.contains(name)) return true;
  static_cast<void>(value(name));  // declared?
  return false;
}

bool Options::has(std::string_view name) const { return !value(name).is_null(); }

std::string Options::where(std::string_view name) const {
  const std::string& place = value(name).where();
  return place.empty() ? where_ + "/" + std::string(name) : place;
}

bool Options::boolean(std::string_view name) const { return value(name).boolean(); }
std::int64_t Options::integer(std::string_view name) const { return value(name).integer(); }
double Options::number(std::string_view name) const { return value(name).number(); }
const std::string& Options::text(std::string_view name) const { return value(name).text(); }

std::vector<std::int64_t> Options::integers(std::string_view name) const {
  std::vector<std::int64_t> result;
  for (const Value& item : value(name).array()) result.push_back(item.integer());
  return result;
}

std::vector<double> Options::numbers(std::string_view name) const {
  std::vector<double> result;
  for (const Value& item : value(name).array()) result.push_back(item.number());
  return result;
}

std::vector<std::string> Options::texts(std::string_view name) const {
  std::vector<std::string> result;
  for (const Value& item : value(name).array()) result.push_back(item.text());
  return result;
}

}  // namespace podsim
