// Completes a summary with what only the composition knows: names, counts and tile memory.
#pragma once

#include "simulator/app/compile.hpp"
#include "simulator/trace/summary.hpp"

namespace podsim {

void complete(Summary& summary, const Scenario& scenario, const Compilation& compilation);

// "0.1.0"
[[nodiscard]] std::string version();

}  // namespace podsim
