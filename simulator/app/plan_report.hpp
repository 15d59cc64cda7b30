// The report of `podsim plan`: parameters, stage times, memory by category, operators with their roofline.
#pragma once

#include <string>

#include "simulator/app/compile.hpp"

namespace podsim {

[[nodiscard]] std::string plan_text(const Scenario& scenario, const Compilation& compilation);
[[nodiscard]] std::string operators_text(const Compilation& compilation);
[[nodiscard]] Value plan_value(const Scenario& scenario, const Compilation& compilation, bool operators);

}  // namespace podsim
