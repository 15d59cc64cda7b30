// The steps of a scheme's slots: passes with their recomputation, transfers, streaming-memory traffic and host
// streams. Private to this folder.
#pragma once

#include "schedules/assemble.hpp"
#include "schedules/tables.hpp"

namespace podsim {

// Which device iteration of a run a timetable is for (see IoOverlap), and whether it sends results.
struct IterationVariant {
  bool first = true;
  bool last = true;
  bool results = true;
};

// Passes, recomputation, transfers and streaming-memory traffic: the same in every device iteration.
[[nodiscard]] Timetable timetable_of_passes(const Execution& execution, const Scheme& scheme, const Tables& tables,
                                            const Program& program);

// Adds the host streams of one device iteration (training) or of a whole run (inference), and in inference the ends
// of iterations.
void add_streams(Timetable& timetable, const Execution& execution, const Scheme& scheme, const Program& program,
                 const IterationVariant& variant);

}  // namespace podsim
