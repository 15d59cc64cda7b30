// Seconds that an IPU had spent in each state by any moment, repeats included but never expanded: the basis of
// utilisation over time and of the check that a trace adds up.
#pragma once

#include "simulator/trace/repeats.hpp"

namespace podsim {

class StateIntegral {
 public:
  // Keeps a reference to the trace.
  StateIntegral(const Trace& trace, int ipu);

  // Seconds in each state within [0, time).
  [[nodiscard]] PerState until(double time) const;

 private:
  [[nodiscard]] PerState recorded_until(double time) const;

  const Trace& trace_;
  IntervalRange range_;
  std::vector<RepeatedWindow> windows_;
  std::vector<PerState> bodies_;       // of each window, once
  std::vector<PerState> before_;       // all repetitions of earlier windows
  std::vector<PerState> checkpoints_;  // recorded ones before every kStride-th interval
};

}  // namespace podsim
