// verify(): proof that a trace's accounting is exact.
#pragma once

#include "simulator/trace/trace.hpp"

namespace podsim {

// InternalError (it names IPU, times and states) unless, for every IPU, the intervals are sorted and disjoint and
// cover [0, makespan] together with the repeated windows, the seconds per state that they add up to equal
// state_seconds, and these add up to the makespan; all within 1e-9 of the makespan. A trace without intervals is
// checked for its sums only.
void verify(const Trace& trace);

// The sums alone: one per IPU, each equal to the makespan.
void verify_sums(const Trace& trace);

}  // namespace podsim
