// IO tiles hold the data that moves between host and IPU beside compute.
#pragma once

#include <vector>

#include "simulator/app/scenario.hpp"
#include "simulator/machine/chip.hpp"
#include "simulator/partition/staged_model.hpp"

namespace podsim {

// For each IPU of a replica the tiles that its host data of a micro-batch needs: 1.05 x bytes / tile memory, since
// about 5% of an IO tile is exchange code and buffers (memory and performance guide, 4.4.2). UserError where
// host.io_tiles is above 0 and less.
[[nodiscard]] std::vector<int> io_tiles_needed(const Scenario& scenario, const StagedModel& model, const Chip& chip);

}  // namespace podsim
