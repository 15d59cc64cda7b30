// Trace: everything that happened, in columns. Times are seconds from the start of the first run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/core/state.hpp"

namespace podsim {

// Columns of equal length, sorted by (ipu, start). Disjoint per IPU; together with the repeats below they cover
// [0, makespan]. stage and micro_batch are -1 where they have no meaning.
struct Intervals {
  std::vector<std::int32_t> ipu;
  std::vector<State> state;
  std::vector<std::int32_t> stage;
  std::vector<std::int64_t> micro_batch;
  std::vector<double> start, end;
  [[nodiscard]] std::size_t size() const { return ipu.size(); }
};

// A stretch of time that was not simulated step by step: the window [start - period, start) of all IPUs happened
// `count` more times, back to back, in [start, start + count * period). Micro-batches advance by `micro_batches`
// each time. Windows nest: an outer one contains the inner ones of its body.
struct RepeatedWindow {
  double start = 0;
  double period = 0;
  std::int64_t count = 0;
  std::int64_t micro_batches = 0;
};

struct QueueSample {  // depth of a host stream's ring buffer after a change
  std::int32_t replica = 0;
  std::int32_t stream = 0;
  double time = 0;
  std::int32_t depth = 0;
};

struct LinkUse {
  std::string name, kind;
  double bytes = 0;             // carried over the whole run
  double bytes_per_second = 0;  // capacity
};

struct Trace {
  int ipus = 0;
  double makespan_seconds = 0;
  Intervals intervals;
  std::vector<RepeatedWindow> repeats;
  std::vector<PerState> state_seconds;  // per IPU, exact, repeats included; sums to makespan
  std::vector<double> update_ends;      // times at which all IPUs had finished update 0, 1, … (inference: iteration)
  std::vector<double> run_ends;         // … and host call 0, 1, …
  std::vector<LinkUse> links;           // only those that carried something
  std::vector<QueueSample> queues;
  std::vector<std::string> streams;  // names of the program's host streams, as QueueSample counts them
  double amp_flops = 0;              // executed by all IPUs
  std::int64_t activities = 0;       // simulated ones (sleeps, waits, flows)
};

}  // namespace podsim
