// Differences of the integral at the edges of the bins.
#include "simulator/trace/utilization.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"
#include "simulator/trace/state_integral.hpp"

namespace podsim {

Utilization utilization_over_time(const Trace& trace, int bins) {
  if (bins <= 0) throw UserError("", "utilisation over time needs at least one bin", "give a number above 0");
  if (trace.intervals.size() == 0 || trace.makespan_seconds <= 0) return {};
  Utilization result{bins, trace.makespan_seconds / bins, {}};
  const auto ipus = static_cast<std::size_t>(trace.ipus);
  result.shares.resize(static_cast<std::size_t>(bins) * ipus * kStateCount);
  for (std::size_t ipu = 0; ipu < ipus; ++ipu) {
    const StateIntegral integral(trace, static_cast<int>(ipu));
    PerState before{};
    for (int bin = 0; bin < bins; ++bin) {
      const PerState after = integral.until(trace.makespan_seconds * (bin + 1) / bins);
      float* const row = &result.shares[(static_cast<std::size_t>(bin) * ipus + ipu) * kStateCount];
      for (std::size_t state = 0; state < kStateCount; ++state) {
        row[state] = static_cast<float>(std::max(0.0, (after[state] - before[state]) / result.bin_seconds));
      }
      before = after;
    }
  }
  return result;
}

}  // namespace podsim
