// Which blocks form a stage, and on which IPU it is: the first half of partition(), one function for each way.
#pragma once

#include <vector>

#include "simulator/partition/partition.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

struct StageSlot {
  std::vector<int> blocks;  // in order of execution
  int ipu = 0;
};
using Assignment = std::vector<StageSlot>;

[[nodiscard]] Assignment assign_explicit(const WorkloadGraph& graph, const PartitionRequest& request);
[[nodiscard]] Assignment assign_by_layers(const WorkloadGraph& graph, const PartitionRequest& request);
[[nodiscard]] Assignment assign_balanced(const WorkloadGraph& graph, const PartitionRequest& request);
// The IPUs given with the blocks (poptorch.Block(ipu_id=…)); consecutive blocks of one IPU form a stage, unless the
// graph is profiled, where each block is a stage as its times were given.
[[nodiscard]] Assignment assign_annotated(const WorkloadGraph& graph, const PartitionRequest& request);
[[nodiscard]] Assignment assign_one_stage(const WorkloadGraph& graph);
[[nodiscard]] Assignment assign_stage_per_block(const WorkloadGraph& graph);  // block k on IPU k

// Layers of each IPU with the -1 wildcards replaced: a single -1 stands for every IPU of the replica; the layers that
// remain are spread evenly over the wildcards, the later ones having one more where they do not divide.
[[nodiscard]] std::vector<std::int64_t> resolve_layers(const std::vector<std::int64_t>& layers_per_ipu,
                                                       std::int64_t layers, const PartitionRequest& request);

// Contiguous parts of `costs` such that the costliest part is as cheap as possible; sizes of the parts, each at
// least 1. `first_extra` is added to the first part. Dynamic programming, O(parts x costs^2).
[[nodiscard]] std::vector<int> balance(const std::vector<double>& costs, int parts, double first_extra = 0);

// Layer number of each block: blocks of role Layer count up, those with an equal `layer` share a number; -1 for others.
[[nodiscard]] std::vector<int> layer_numbers(const WorkloadGraph& graph);

[[nodiscard]] bool is_profiled(const WorkloadGraph& graph);

}  // namespace podsim
