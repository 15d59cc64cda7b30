// A timetable: what a schedule runs in which slot, micro-batch m in slot period * m + offset. emit_slots() turns it
// into step trees in which everything that repeats is a Repeat, so that the size of a program does not depend on the
// number of micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/program/program.hpp"

namespace podsim {

// Step trees, one for each IPU of the replica.
using Trees = std::vector<std::vector<Step>>;

// Micro-batches first <= m < end; with `every` > 1 only those with (m + 1) % every == 0.
struct Occurrence {
  std::int64_t offset = 0;
  std::int64_t first = 0, end = 0;
  std::int64_t every = 1;
};

// Where a step stands among those of its IPU in a slot.
enum class SlotPart : std::uint8_t { StreamIn, Body, StreamOut, End };

struct SlotStep {
  Occurrence when;
  int ipu = 0;
  SlotPart part = SlotPart::Body;
  int order = 0;           // within the part; equal ones in the order in which they were added
  Step step;               // its micro-batch is filled in
  int once_per_slot = -1;  // of the steps in a slot with the same number (>= 0) only the first is written
};

struct SlotMove {
  Occurrence when;
  int transfer = 0;
};

struct Timetable {
  std::int64_t period = 1;  // slots
  std::vector<SlotStep> steps;
  std::vector<SlotMove> moves;
  std::vector<Transfer> transfers;     // as in the program
  std::optional<SyncScope> host_sync;  // after the StreamIns of a slot, where there are any
  // The number of slots up to the last step.
  [[nodiscard]] std::int64_t slots() const;
};

// Appends all slots to `trees`; micro-batch 0 of the timetable has number `base` there.
void emit_slots(const Timetable& timetable, std::int64_t base, Trees& trees);

// The bodies as one repeat on each IPU.
void append_repeat(Trees& trees, std::int64_t count, std::int64_t stride, LoopKind kind, Trees bodies);

}  // namespace podsim
