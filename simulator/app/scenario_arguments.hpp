// Loads the scenario that a command line names.
#pragma once

#include "simulator/app/commands.hpp"
#include "simulator/app/scenario.hpp"

namespace podsim {

[[nodiscard]] Scenario load_scenario(const ScenarioArguments& arguments);

}  // namespace podsim
