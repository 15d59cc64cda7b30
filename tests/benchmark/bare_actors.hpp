// The floor that the engine is measured against: the same pipeline written directly for SimGrid.
#pragma once

namespace podsim::benchmark {

struct BareResult {
  double makespan_seconds = 0;
  double activities = 0;
};

// `replicas` pipelines of `stages` actors, one host each: in each slot an actor sleeps, puts to its neighbours and gets
// from them, on links of its own. One call per process.
BareResult run_bare_actors(int stages, int micro_batches, int replicas, double bytes);

}  // namespace podsim::benchmark
