// compile(): a scenario -> everything that is known before the first simulated second.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "simulator/app/compile_cache.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/machine/lower.hpp"
#include "simulator/machine/memory.hpp"
#include "simulator/partition/staged_model.hpp"
#include "simulator/program/program.hpp"
#include "simulator/program/remote_residency.hpp"
#include "topology/topology.hpp"

namespace podsim {

struct Compilation {
  std::shared_ptr<const Topology> topology;
  StagedModel model;
  Program program;                                   // codes and host filled in
  std::vector<std::int64_t> live_micro_batches;      // per stage
  std::vector<BuffersBeside> buffers_beside;         // per stage
  std::vector<LoweredStage> lowered;                 // per stage; empty for stage_times
  std::vector<std::shared_ptr<Lowering>> lowerings;  // per IPU of a replica; empty for stage_times
  std::vector<MemoryReport> memory;                  // per IPU of a replica; empty for stage_times
  std::vector<int> io_tiles_needed;                  // per IPU of a replica: for its data of a micro-batch
  std::int64_t parameters = 0;                       // of the model, tied ones once
  std::vector<std::string> warnings;
  std::shared_ptr<Compilation> second_graph;  // null: none, or a copy of this one
  double second_graph_throughput = 0;         // samples/s, once simulated
};

// UserError where the scenario cannot run: too few IPUs (both numbers), a split that does not add up, … Running out
// of tile memory is not reported here: see require_fit().
[[nodiscard]] Compilation compile(const Scenario& scenario, const DataFolder& data);
// The same with what compilations before it have left in `cache`.
[[nodiscard]] Compilation compile(const Scenario& scenario, const DataFolder& data, CompileCache& cache);

// The same in two steps, for searches that look at times first: everything but memory, host switches and the second
// graph; and these.
[[nodiscard]] Compilation compile_times(const Scenario& scenario, const DataFolder& data, CompileCache& cache);
void add_memory(Compilation& compilation, const Scenario& scenario, const DataFolder& data, CompileCache& cache);

// Replicas that share the shards of a class of tensors; 1 where it is not sharded.
[[nodiscard]] int shards_of(const VariableLocation& location, int replicas);

// UserError that names IPU, tile, bytes, limit, largest contributors and what would help, where a tile's memory
// overflows; with allow_out_of_memory a warning is added instead.
void require_fit(Compilation& compilation, const Scenario& scenario);

}  // namespace podsim
