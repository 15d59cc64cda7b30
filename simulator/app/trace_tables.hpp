// The tables of a trace file that come from the compilation: tiles, memory, and the record of the scenario.
#pragma once

#include "simulator/app/compile.hpp"
#include "simulator/output/tables.hpp"

namespace podsim {

// Every different superstep of the stages, and where it is used.
[[nodiscard]] TileTable tile_table(const Compilation& compilation);
[[nodiscard]] MemoryTable memory_table(const Compilation& compilation);
[[nodiscard]] ScenarioRecord scenario_record(const Scenario& scenario, const Compilation& compilation);

}  // namespace podsim
