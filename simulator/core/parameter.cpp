// Reads parameter files and applies a scenario's overrides.
#include "simulator/core/parameter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/core/option.hpp"

namespace podsim {

namespace {

constexpr std::array<std::pair<Confidence, std::string_view>, 6> kConfidences = {
    {{Confidence::Vendor, "vendor"},
     {Confidence::Measured, "measured"},
     {Confidence::Software, "software"},
     {Confidence::ReverseEngineered, "reverse-engineered"},
     {Confidence::Inferred, "inferred"},
     {Confidence::User, "user"}}};

std::vector<Option> file_options() {
  return {{.name = "name", .type = OptionType::Text, .help = "name of the set", .required = true},
          {.name = "kind", .type = OptionType::Text, .help = "what the set describes"},
          {.name = "description", .type = OptionType::Text, .help = "one sentence"},
          {.name = "parameters", .type = OptionType::Object, .help = "parameters by name", .required = true},
          {.name = "attributes", .type = OptionType::Object, .help = "free object for the reader of the kind"}};
}

std::vector<Option> parameter_options() {
  std::vector<std::string> confidences;
  for (const auto& [confidence, name] : kConfidences) confidences.emplace_back(name);
  return {{.name = "value", .type = OptionType::Number, .help = "in `unit`", .required = true},
          {.name = "unit", .type = OptionType::Text, .help = "SI unit, or 1", .required = true},
          {.name = "source", .type = OptionType::Text, .help = "where the figure is stated", .required = true},
          {.name = "confidence",
           .type = OptionType::Choice,
           .help = "how well it is known",
           .choices = confidences,
           .required = true},
          {.name = "range", .type = OptionType::Numbers, .help = "[lowest, highest] that the source allows"}};
}

Confidence confidence_of(const std::string& text) {
  for (const auto& [confidence, name] : kConfidences) {
    if (name == text) return confidence;
  }
  throw InternalError("no confidence named " + text);
}

Parameter read_parameter(const std::string& name, const Value& value, const std::vector<Option>& declared) {
  const Options options = read_options(value, declared);
  Parameter parameter{.name = name,
                      .value = options.number("value"),
                      .unit = options.text("unit"),
                      .source = options.text("source"),
                      .confidence = confidence_of(options.text("confidence")),
                      .minimum = options.number("value"),
                      .maximum = options.number("value")};
  if (parameter.source.empty()) throw UserError(options.where("source"), "a parameter needs a source");
  if (options.has("range")) {
    const std::vector<double> range = options.numbers("range");
    if (range.size() != 2 || !(range[0] <= parameter.value && parameter.value <= range[1])) {
      throw UserError(options.where("range"),
                      "expected [lowest, highest] around the value " + format_exact(parameter.value));
    }
    parameter.minimum = range[0];
    parameter.maximum = range[1];
  }
  return parameter;
}

}  // namespace

std::string_view name_of(Confidence confidence) {
  for (const auto& [known, name] : kConfidences) {
    if (known == confidence) return name;
  }
  return "";
}

ParameterSet::ParameterSet(const Value& file) {
  const Options options = read_options(file, file_options());
  name_ = options.text("name");
  const std::vector<Option> declared = parameter_options();
  for (const auto& [name, value] : options.value("parameters").object()) {
    parameters_.push_back(read_parameter(name, value, declared));
  }
  if (options.has("attributes")) attributes_ = options.value("attributes");
}

const Parameter* ParameterSet::find(std::string_view name) const {
  const auto it = std::find_if(parameters_.begin(), parameters_.end(),
                               [&](const Parameter& parameter) { return parameter.name == name; });
  return it == parameters_.end() ? nullptr : &*it;
}

double ParameterSet::get(std::string_view name) const {
  if (const Parameter* parameter = find(name)) return parameter->value;
  throw InternalError("parameter set \"" + name_ + "\" has no parameter \"" + std::string(name) + "\"");
}

void ParameterSet::override_with(const Value& overrides) {
  if (overrides.is_null()) return;
  std::vector<Option> declared;
  for (const Parameter& parameter : parameters_) {
    declared.push_back({.name = parameter.name, .type = OptionType::Number, .help = "in " + parameter.unit});
  }
  const Options options = read_options(overrides, declared);
  for (Parameter& parameter : parameters_) {
    if (!options.has(parameter.name)) continue;
    const double value = options.number(parameter.name);
    if (!(value > 0)) {
      throw UserError(options.where(parameter.name),
                      "must be more than 0 " + parameter.unit + ", found " + format_exact(value));
    }
    parameter.value = parameter.minimum = parameter.maximum = value;
    parameter.source = options.where(parameter.name);
    parameter.confidence = Confidence::User;
  }
}

}  // namespace podsim
