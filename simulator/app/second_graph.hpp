// The second graph of a scenario: another executable that takes turns with the first one on the same IPUs (evaluation
// between the epochs of training, another batch shape).
#pragma once

#include <filesystem>

#include "simulator/app/compile.hpp"
#include "simulator/engine/run.hpp"

namespace podsim {

// Reads host.second_graph: the scenario itself with changes. UserError where a change concerns the system, which both
// share, or names no value of a scenario.
void read_second_graph(Scenario& scenario, const std::filesystem::path& folder);

// Simulates one turn of the second graph, in a process of its own since SimGrid simulates once per process, and enters
// its time into the first graph's host plan. Nothing to do where there is none, or only a copy of the first.
void run_second_graph(Compilation& compilation, const RunSettings& settings);

}  // namespace podsim
