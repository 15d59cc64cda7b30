// What happens before the first host call, and when another graph takes over.
#pragma once

#include "simulator/app/compile.hpp"
#include "simulator/trace/summary.hpp"

namespace podsim {

// Compilation of the graph (of both, where there are two), or with executable_cache_dir the load of the cached
// executable; then code and weights go to all IPUs at once over the host path, where the busiest link decides.
[[nodiscard]] StartupSummary startup(const Scenario& scenario, const Compilation& compilation, const DataFolder& data);

// Another executable of the same size: its code up; weights down, and up again. 0 with one graph.
[[nodiscard]] double switch_seconds(const Scenario& scenario, const Compilation& compilation);

}  // namespace podsim
