// What happens before the first host call, and when another graph takes over.
#pragma once

#include "simulator/app/compile.hpp"
#include "simulator/trace/summary.hpp"

namespace podsim {

// Compilation of the graph (of both, where there are two), and with executable_cache_dir what storing it takes in the
// first run and loading it in later ones; then code and weights go to all IPUs at once over the host path, where the
// busiest link decides.
[[nodiscard]] StartupSummary startup(const Scenario& scenario, const Compilation& compilation, const DataFolder& data);

// From one executable to another: what the first has trained goes down, the other's code and variables go up.
[[nodiscard]] double switch_seconds(const Scenario& from, const Compilation& from_graph, const Scenario& to,
                                    const Compilation& to_graph);

}  // namespace podsim
