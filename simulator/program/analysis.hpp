// What can be said of a program without running it: soundness, the grid of slots x IPUs, and how many
// micro-batches are live at each stage (which is what sizes the activation stashes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/program/program.hpp"

namespace podsim {

// InternalError (a schedule's bug; it names IPU, stage, micro-batch and step) unless: table indices are in
// range; every send has its receive in the same exchange and the other way round, none to itself; all
// members meet in the same order (no deadlock); each micro-batch passes each stage exactly once each way,
// forward in stage order and backward in reverse, never before its input arrived; a pass is not run twice.
// Repeats in which IPUs meet must be entered by all IPUs of the replica together, with equal count and stride. A
// repeat whose iteration only moves the state along is followed for its first and last iterations, so the cost does
// not grow with the number of micro-batches.
void check(const Program& program);

// One cell: what an IPU runs in a slot. After the last slot of an update, each Sync opens a column of its own, so that
// a serial weight update shows as a staircase.
struct GridCell {
  int ipu = 0;
  std::int64_t slot = 0;
  int stage = 0;
  Pass pass = Pass::Forward;
  std::int64_t micro_batch = 0;
};

// The runs of one weight update (training) or one host call (inference), first `maximum_slots` slots.
[[nodiscard]] std::vector<GridCell> grid(const Program& program, std::int64_t maximum_slots);

// The grid as text: a row for each IPU, a column for each slot; "F3" forward of micro-batch 3, "B1", "." idle,
// "U" update, several in a slot joined by "+".
[[nodiscard]] std::string print_grid(const std::vector<GridCell>& cells, int ipus);

// The grid as an SVG picture.
[[nodiscard]] std::string grid_svg(const std::vector<GridCell>& cells, int ipus);

// The program as text, for golden tests and --dump: indented steps and tables.
[[nodiscard]] std::string print(const Program& program);

// Per stage: the largest number of micro-batches whose forward pass has run and whose backward pass has not
// ended (the live activation included); 1 in inference. InternalError as check().
[[nodiscard]] std::vector<std::int64_t> live_micro_batches(const Program& program);

// Per stage: the activations that must have room, as the documents count them: the live ones and the receive buffer
// (Graphcore "Memory and Performance Optimisation on the IPU", section 4.2: 2N+1, 2(N-1)+1, … grouped, N+1
// interleaved).
[[nodiscard]] std::vector<std::int64_t> stash_micro_batches(const Program& program);

}  // namespace podsim
