// Physical and software parameters: each has a value, a unit, a source and a confidence tag, comes
// from one data file, and can be overridden from the scenario.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

// How well a figure is known: vendor statement, measured, from the vendor's own open software,
// reverse engineered, inferred, or given by the user's scenario.
enum class Confidence { Vendor, Measured, Software, ReverseEngineered, Inferred, User };

struct Parameter {
  std::string name;
  double value = 0;
  std::string unit;
  std::string source;
  Confidence confidence = Confidence::Inferred;
  double minimum = 0;  // range that the source allows; equal to value where it is a plain fact
  double maximum = 0;

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// A named set of parameters, e.g. one chip. File form:
//   { "name": "bow", "kind": "chip", "parameters": { "clock": { "value": 1.85e9, "unit": "Hz",
//     "source": "…", "confidence": "vendor", "range": [1.85e9, 1.85e9] }, … } }
class ParameterSet {
 public:
  ParameterSet() = default;
  // UserError on a malformed file. Keys other than name, kind, description, parameters and
  // `attributes` (a free object for its owner) are refused.
  explicit ParameterSet(const Value& file);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double get(std::string_view name) const;  // InternalError where absent
  [[nodiscard]] const Parameter* find(std::string_view name) const;
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const Value& attributes() const { return attributes_; }

  // Overrides values from an object {"clock": 1.6e9, …}; an unknown name is a UserError with the
  // nearest known one, a non-positive or non-finite number as well.
  void override_with(const Value& overrides);

  friend bool operator==(const ParameterSet&, const ParameterSet&) = default;

 private:
  std::string name_;
  std::vector<Parameter> parameters_;
  Value attributes_;
};

[[nodiscard]] std::string_view name_of(Confidence confidence);

}  // namespace podsim
