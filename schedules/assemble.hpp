// From a scheme's decisions (which pass of which stage in which slot) to a whole program: transfers, host streams,
// streaming-memory traffic, weight update, and the nest of runs, device iterations and slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/timetable.hpp"
#include "simulator/partition/staged_model.hpp"
#include "simulator/program/program.hpp"

namespace podsim {

// Micro-batch m runs `pass` of `stage` in slot period * m + offset.
struct StagePass {
  int stage = 0;
  Pass pass = Pass::Forward;
  std::int64_t offset = 0;
  int order = 0;                     // among the passes of an IPU in a slot
  std::int64_t first = 0, end = -1;  // micro-batches [first, end) of an update; -1: all
};

// In which order the IPUs' streaming-memory traffic of a weight update is done (PopART AccumulateOuterFragment and
// batch schedules of execution phases).
enum class UpdateTraffic : std::uint8_t {
  Interleaving,  // stage after stage: reduce, load, update, store
  Batch,         // all loads beside all reductions, then all updates, then all stores
  Clustered,     // loads of the next stage and stores of the previous one beside the update of a stage
};

struct Scheme {
  std::string name;         // of the schedule, for messages and the program
  std::string where;        // of its options, for messages
  std::int64_t period = 1;  // slots from one micro-batch to the next
  std::vector<StagePass> passes;
  // Where several IPUs share each stage, "IPU" means such a group up to the end of assemble().
  std::vector<int> ipu_of_stage;
  int ipus_per_replica = 1;
  int ipus_per_stage = 1;
  int receive_buffers = 0;        // see Program
  bool host_overlap = false;      // host IO may run beside compute
  bool phased = false;            // streaming memory is loaded one slot ahead, and what was used lately stays
  bool overlapped_loads = false;  // phased: loads and stores run beside compute
  UpdateTraffic update_traffic = UpdateTraffic::Interleaving;
};

// The model's own placement.
[[nodiscard]] Scheme scheme_of(std::string name, std::string where, const StagedModel& model);

// UserError for combinations that no scheme can run.
[[nodiscard]] Program assemble(const StagedModel& model, const Execution& execution, const Scheme& scheme);

// Micro-batches between two drains: gradient accumulation in training, device iterations in inference.
[[nodiscard]] std::int64_t micro_batches_per_drain(const Execution& execution);

}  // namespace podsim
