// Options and parameters as readable text.
#pragma once

#include <string>
#include <vector>

#include "simulator/core/option.hpp"
#include "simulator/core/parameter.hpp"

namespace podsim {

// A line for each option: name, type with limits or choices, default, help.
[[nodiscard]] std::string describe_options(const std::vector<Option>& options);
// A line for each parameter: name, value, unit, range, confidence, source.
[[nodiscard]] std::string describe_parameters(const ParameterSet& parameters);

// The same as a Markdown table.
[[nodiscard]] std::string markdown_options(const std::vector<Option>& options);
// JSON Schema (2020-12) of an object with these options; nothing else may be in it.
[[nodiscard]] Value options_schema(const std::vector<Option>& options);

}  // namespace podsim
