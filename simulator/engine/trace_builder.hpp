// From the timelines of the IPUs to the columns of the trace.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "simulator/engine/ipu.hpp"
#include "simulator/trace/trace.hpp"

namespace podsim::engine {

// A stretch that was skipped, at a time of the kernel's clock. The trace's clock is ahead of it by all skips before.
struct Skip {
  double kernel_time = 0;
  double start = 0;  // in the trace
  double period = 0;
  std::int64_t count = 0;
  std::int64_t micro_batches = 0;

  [[nodiscard]] double seconds() const { return period * static_cast<double>(count); }
};

// Times of the kernel's clock as times of the trace.
class TraceClock {
 public:
  explicit TraceClock(const std::vector<Skip>& skips);
  // Times at a skip count as before it.
  [[nodiscard]] double operator()(double kernel_time) const;

  struct Cut {
    double kernel_time = 0;
    double offset = 0;  // from here on
  };
  [[nodiscard]] const std::vector<Cut>& cuts() const { return cuts_; }

 private:
  std::vector<Cut> cuts_;
};

// Fills trailing time, and moves pieces, repeats, totals and makespan into the trace. Empties the timelines.
void build_timelines(std::deque<Ipu>& ipus, int ipus_per_replica, const std::vector<Skip>& skips, Trace& trace);

}  // namespace podsim::engine
