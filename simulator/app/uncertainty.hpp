// Uncertainty: a scenario simulated many times, each time with other values of the parameters that are only inferred.
#pragma once

#include "simulator/app/scenario.hpp"
#include "simulator/trace/uncertainty.hpp"

namespace podsim {

struct UncertaintySettings {
  std::size_t samples = 64;
  std::uint64_t seed = 0;  // of the sampling; the scenario's own draws keep theirs
  int jobs = 1;
  bool fast_forward = true;
  bool show_progress = false;  // on standard error
};

// Latin hypercube samples of varied_parameters(), each simulated in a process of its own, and the intervals of the main
// figures. A sample that cannot run counts as failed, with its memory among the figures where that is known. The same
// seed gives the same result for any number of jobs. Call it before SimGrid or HDF5 are used in this process. UserError
// where nothing varies.
[[nodiscard]] Uncertainty sample_uncertainty(const Scenario& scenario, const UncertaintySettings& settings);

}  // namespace podsim
