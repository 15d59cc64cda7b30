// Two tables: aligned columns, help behind them.
#include "simulator/app/describe.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "simulator/config/json.hpp"

namespace podsim {

namespace {

std::string type_text(const Option& option) {
  switch (option.type) {
    case OptionType::Boolean: return "true or false";
    case OptionType::Integer: return "integer";
    case OptionType::Number: return "number";
    case OptionType::Text: return "text";
    case OptionType::Choice: return fmt::format("{}", fmt::join(option.choices, " | "));
    case OptionType::Integers: return "integers";
    case OptionType::Numbers: return "numbers";
    case OptionType::Texts: return "texts";
    case OptionType::Object: return "object";
    case OptionType::Any: return "file or object";
  }
  return "";
}

std::string limits_text(const Option& option) {
  if (std::isfinite(option.minimum) && std::isfinite(option.highest())) {
    return fmt::format(" {:g} … {:g}", option.minimum, option.highest());
  }
  if (std::isfinite(option.minimum)) return fmt::format(" from {:g}", option.minimum);
  if (std::isfinite(option.highest())) return fmt::format(" up to {:g}", option.highest());
  return "";
}

std::string default_text(const Option& option) {
  if (option.required) return "required";
  return option.default_value.is_null() ? "no default" : "default " + to_json(option.default_value, -1);
}

// The type of one value, or of one element of a list.
std::string_view schema_type(OptionType type) {
  switch (type) {
    case OptionType::Boolean: return "boolean";
    case OptionType::Integer:
    case OptionType::Integers: return "integer";
    case OptionType::Number:
    case OptionType::Numbers: return "number";
    case OptionType::Text:
    case OptionType::Choice:
    case OptionType::Texts: return "string";
    case OptionType::Object: return "object";
    case OptionType::Any: return "";
  }
  return "";
}

Value option_schema(const Option& option) {
  Value value{Value::Object{}};
  if (option.type != OptionType::Any) value.set("type", std::string(schema_type(option.type)));
  if (std::isfinite(option.minimum)) value.set("minimum", option.minimum);
  if (std::isfinite(option.highest())) value.set("maximum", option.highest());
  if (option.type == OptionType::Choice) {
    Value::Array choices;
    for (const std::string& choice : option.choices) choices.emplace_back(choice);
    value.set("enum", Value(std::move(choices)));
  }
  const bool list =
      option.type == OptionType::Integers || option.type == OptionType::Numbers || option.type == OptionType::Texts;
  if (list) {  // a single value stands for a list of one
    Value array{Value::Object{}};
    array.set("type", "array");
    array.set("items", value);
    Value either{Value::Object{}};
    either.set("oneOf", Value::Array{value, array});
    value = std::move(either);
  }
  value.set("description", option.help);
  if (!option.default_value.is_null()) value.set("default", option.default_value);
  return value;
}

}  // namespace

std::string describe_options(const std::vector<Option>& options) {
  std::size_t width = 0;
  for (const Option& option : options) width = std::max(width, option.name.size());
  std::string text;
  for (const Option& option : options) {
    text += fmt::format("  {:<{}}  {}\n", option.name, width, option.help);
    text += fmt::format("  {:<{}}    ({}{}; {})\n", "", width, type_text(option), limits_text(option),
                        default_text(option));
  }
  return options.empty() ? "  no options\n" : text;
}

std::string markdown_options(const std::vector<Option>& options) {
  std::string text = "| option | meaning | values | default |\n|---|---|---|---|\n";
  for (const Option& option : options) {
    std::string values = type_text(option) + limits_text(option);
    for (std::size_t at = 0; (at = values.find(" | ", at)) != std::string::npos;) values.replace(at, 3, ", ");
    const std::string value = option.required                  ? "required"
                              : option.default_value.is_null() ? ""
                                                               : to_json(option.default_value, -1);
    text += fmt::format("| `{}` | {} | {} | {} |\n", option.name, option.help, values, value);
  }
  return text;
}

Value options_schema(const std::vector<Option>& options) {
  Value properties{Value::Object{}};
  Value::Array required;
  for (const Option& option : options) {
    properties.set(option.name, option_schema(option));
    if (option.required) required.emplace_back(option.name);
  }
  Value schema{Value::Object{}};
  schema.set("type", "object");
  schema.set("properties", std::move(properties));
  if (!required.empty()) schema.set("required", Value(std::move(required)));
  schema.set("additionalProperties", false);
  return schema;
}

std::string describe_parameters(const ParameterSet& parameters) {
  std::size_t width = 0;
  for (const Parameter& parameter : parameters.parameters()) width = std::max(width, parameter.name.size());
  std::string text = fmt::format("parameters of {} (override them under system.parameters)\n", parameters.name());
  for (const Parameter& parameter : parameters.parameters()) {
    text += fmt::format("  {:<{}}  {:g} {}", parameter.name, width, parameter.value, parameter.unit);
    if (parameter.minimum < parameter.maximum) {
      text += fmt::format("  [{:g} … {:g}]", parameter.minimum, parameter.maximum);
    }
    text += fmt::format("  ({}) {}\n", name_of(parameter.confidence), parameter.source);
  }
  return text;
}

}  // namespace podsim
