// simulate(): the flow from a scenario to its trace and summary.
#pragma once

#include "simulator/app/compile.hpp"
#include "simulator/engine/run.hpp"
#include "simulator/trace/summary.hpp"
#include "simulator/trace/trace.hpp"

namespace podsim {

struct Simulation {
  Compilation compilation;
  Trace trace;
  Summary summary;
};

// Runs once per process (see engine/run.hpp).
[[nodiscard]] Simulation simulate(const Scenario& scenario, const DataFolder& data, const RunSettings& settings);
// The same from a compilation of the scenario on.
[[nodiscard]] Simulation simulate(Compilation compilation, const Scenario& scenario, const DataFolder& data,
                                  const RunSettings& settings);

}  // namespace podsim
