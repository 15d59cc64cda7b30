// Exact fast-forward: when the state of the whole system at the start of a loop's iteration is that of an earlier one,
// what lies between happens again and again. Whole periods of it are skipped: counters and totals move on, everything
// that is under way stays as it is, and the trace's clock gets ahead of the kernel's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "simulator/engine/interpreter.hpp"
#include "simulator/engine/snapshot.hpp"
#include "simulator/engine/trace_builder.hpp"

namespace podsim::engine {

class FastForward {
 public:
  FastForward(const Machinery& parts, std::deque<Ipu>& ipus, Interpreter& interpreter)
      : parts_(parts), ipus_(ipus), interpreter_(interpreter) {}

  // The first IPU has just started another iteration of its innermost loop.
  void boundary(const Ipu& first);

  [[nodiscard]] const std::vector<Skip>& skips() const { return skips_; }

 private:
  [[nodiscard]] Snapshot capture();
  bool skip(const Snapshot& before, const Snapshot& after);
  [[nodiscard]] bool in_step(const Snapshot& before, const Snapshot& after) const;
  [[nodiscard]] std::int64_t skipped_micro_batches(const Snapshot& before, const Snapshot& after) const;

  Machinery parts_;
  std::deque<Ipu>& ipus_;
  Interpreter& interpreter_;
  std::map<std::int32_t, std::deque<Snapshot>> history_;  // by loop of the first IPU
  std::vector<Skip> skips_;
};

}  // namespace podsim::engine
