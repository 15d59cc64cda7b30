// run(): executes a program on a topology in SimGrid. SimGrid appears in this folder's .cpp files only.
#pragma once

#include <functional>
#include <memory>

#include "simulator/engine/platform.hpp"
#include "simulator/program/program.hpp"
#include "simulator/trace/trace.hpp"
#include "topology/topology.hpp"

namespace podsim {

namespace engine {
class Simulation;
}

struct RunSettings {
  bool fast_forward = true;      // skip whole periods of repeated bodies, exactly
  bool record_intervals = true;  // false: totals only
  bool closed_form = true;       // exchanges and collectives alone on their links are computed, not simulated as flows
  std::function<void(double share)> progress = {};  // called now and then with the finished share; may be empty
};

// One call per process (SimGrid's clock is global): a second one is an InternalError; fork for more.
// InternalError that names IPU, stage, micro-batch and what is waited for, when the program cannot finish.
// UserError when the program does not fit the topology (more IPUs than the pod has, no route).
[[nodiscard]] Trace run(const Topology& topology, const Program& program, const RunSettings& settings);

// Starts SimGrid now instead of in run(), so that processes forked from this one need not. For processes that fork and
// never call run() themselves.
void prepare_run();

// All of run() that comes before the first simulated second. A process may prepare as many runs as it likes, and throws
// them away or forks for each: only one of them can run in a process.
class PreparedRun {
 public:
  // Topology, program and platform (of this topology, or null) outlive it. UserError as run().
  PreparedRun(const Topology& topology, const Program& program, const RunSettings& settings, Platform* platform);
  ~PreparedRun();
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;

  [[nodiscard]] Trace run();

 private:
  std::unique_ptr<engine::Simulation> simulation_;
};

}  // namespace podsim
