// The search of `podsim tune`: best first, with bounds that no simulation can beat, so that what is left out is known
// to be worse than what was found.
#pragma once

#include <string>
#include <vector>

#include "simulator/app/sweep_row.hpp"
#include "simulator/app/tune_space.hpp"

namespace podsim {

struct TuneResult {
  Value source;  // the scenario
  std::string description;
  double score = 0;  // higher is better: samples per second, or minus the seconds of a host call
  SweepRow row;
};

struct TuneOutcome {
  std::vector<TuneResult> best;  // best first
  std::size_t candidates = 0;    // in the whole space
  std::size_t simulated = 0;
  std::size_t infeasible = 0;  // of those looked at
  std::string first_error;     // of the infeasible ones
};

// `jobs` processes at a time. The best ones do not depend on it.
[[nodiscard]] TuneOutcome tune(const TuneRequest& request, const TuneSpace& space, const DataFolder& data, int jobs,
                               bool show_progress);

// Lower bound of the seconds of one host call, from the program itself: each IPU runs its own steps one after the
// other, so none is shorter than the sum of its stage passes.
[[nodiscard]] double least_run_seconds(const Program& program);

// The same before schedule, offload and sharding are chosen: every micro-batch needs a forward and a backward pass, and
// with recomputation at least the shorter form of that.
[[nodiscard]] double least_run_seconds(const Compilation& compilation, const Scenario& scenario);

}  // namespace podsim
