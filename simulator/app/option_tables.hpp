// All options of a scenario in one piece: as a JSON Schema and as Markdown tables.
#pragma once

#include <string>

#include "simulator/core/value.hpp"

namespace podsim {

// JSON Schema (2020-12). Options of plugins are open: they depend on the model and schedule.
[[nodiscard]] Value scenario_schema();

// scenarios/OPTIONS.md.
[[nodiscard]] std::string scenario_markdown();

}  // namespace podsim
