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
  if (std::isfinite(option.minimum) && std::isfinite(option.maximum)) {
    return fmt::format(" {:g} … {:g}", option.minimum, option.maximum);
  }
  if (std::isfinite(option.minimum)) return fmt::format(" from {:g}", option.minimum);
  if (std::isfinite(option.maximum)) return fmt::format(" up to {:g}", option.maximum);
  return "";
}

std::string default_text(const Option& option) {
  if (option.required) return "required";
  return option.default_value.is_null() ? "no default" : "default " + to_json(option.default_value, -1);
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
