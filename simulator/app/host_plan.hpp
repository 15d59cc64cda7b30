// host_plan(): the host section of a scenario, completed with the figures of framework and pod.
#pragma once

#include <string>
#include <vector>

#include "simulator/app/compile.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"

namespace podsim {

[[nodiscard]] HostPlan host_plan(const Scenario& scenario, const Compilation& compilation, const DataFolder& data);

// Parameters of software/frameworks that decide what a host call of the scenario and the start of an epoch cost; none
// where the scenario says it itself, or has given stage times and names no framework.
[[nodiscard]] std::vector<std::string> call_parameters(const Scenario& scenario);

// Part of a host call that handles its inputs one after the other, before the IPUs start: a cost for each sample of
// this instance and for each of its bytes (frameworks.json). PopTorch checks, converts and hands over the tensors of
// the whole call; PopART, TensorFlow and PopXL fetch data in callbacks while the IPUs run.
[[nodiscard]] double call_input_seconds(const ParameterSet& frameworks, const std::string& framework, double samples,
                                        double bytes);

}  // namespace podsim
