// host_plan(): the host section of a scenario, completed with the figures of framework and pod.
#pragma once

#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"

namespace podsim {

[[nodiscard]] HostPlan host_plan(const Scenario& scenario, const Topology& topology, const DataFolder& data);

}  // namespace podsim
