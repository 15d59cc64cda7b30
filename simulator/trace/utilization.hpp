// Shares of states over time, in bins of equal length, repeats included.
#pragma once

#include <vector>

#include "simulator/trace/trace.hpp"

namespace podsim {

struct Utilization {
  int bins = 0;
  double bin_seconds = 0;
  std::vector<float> shares;  // bins x IPUs x states, row by row; the states of an IPU in a bin add up to 1
};

// UserError unless bins > 0. Empty where the trace has no intervals.
[[nodiscard]] Utilization utilization_over_time(const Trace& trace, int bins);

}  // namespace podsim
