// Repeated windows of a trace, expanded again: the whole timeline of an IPU, or only the part that is looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "simulator/trace/trace.hpp"

namespace podsim {

struct Interval {
  std::int32_t ipu = 0;
  State state = State::Forward;
  std::int32_t stage = -1;
  std::int64_t micro_batch = -1;
  double start = 0, end = 0;
};

// The repeated windows of the trace by start time, in which order each one's body lies before its repetitions.
[[nodiscard]] std::vector<RepeatedWindow> sorted_windows(const Trace& trace);

// Index of the first interval of `ipu`, and of the one behind its last.
struct IntervalRange {
  std::size_t begin = 0, end = 0;
};
[[nodiscard]] IntervalRange range_of(const Intervals& intervals, int ipu);

// Visits the intervals of `ipu` within [from, to) in time order, repeats expanded and nested windows with them.
// Intervals are cut at `from` and `to`; those that a window's edge had cut in two are one again. Memory and time
// do not depend on what lies outside of the range.
void visit_intervals(const Trace& trace, int ipu, double from, double to,
                     const std::function<void(const Interval&)>& visit);

// The same for all IPUs, as columns.
[[nodiscard]] Intervals expand_repeats(const Trace& trace, double from = 0,
                                       double to = std::numeric_limits<double>::infinity());

}  // namespace podsim
