// The weight update after the drain: reduction of gradients between replicas, streaming-memory traffic, optimiser.
// Private to this folder.
#pragma once

#include "schedules/tables.hpp"

namespace podsim {

// Appends the update to each IPU's tree. `micro_batch`: the last one of the update. Serial: one IPU after the other
// (PopART AccumulateOuterFragmentSchedule::Serial); overlapped: all at once. All IPUs leave together.
void append_weight_update(Trees& trees, const Execution& execution, const Scheme& scheme, const Tables& tables,
                          std::int64_t micro_batch);

}  // namespace podsim
