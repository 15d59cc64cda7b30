// Small graphs, and workloads by name, for the tests of partition().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/partition/partition.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim::test {

inline std::unique_ptr<WorkloadGraph> workload(const std::string& model, const std::string& options = "{}",
                                               bool training = true, std::int64_t micro_batch_size = 1) {
  const Workload& found = find_workload(model, "test");
  WorkloadRequest request;
  request.options = read_options(parse_json(options, "options.json"), found.options());
  request.training = training;
  request.micro_batch_size = micro_batch_size;
  return found.build(request);
}

// A chain of one elementwise operator for each block, with outputs of `elements` fp16 numbers.
inline WorkloadGraph chain(int blocks, std::int64_t elements = 10) {
  WorkloadGraph graph;
  graph.model = "chain";
  std::vector<WorkloadGraph::Vertex> previous;
  for (int index = 0; index < blocks; ++index) {
    graph.blocks.push_back({"B" + std::to_string(index + 1)});
    Operator op;
    op.name = "op" + std::to_string(index);
    op.block = index;
    op.outputs = {{op.name, {elements}, ElementType::Float16}};
    previous = {graph.add(std::move(op), previous)};
  }
  return graph;
}

inline std::vector<int> ipus_of(const StagedModel& model) {
  std::vector<int> ipus;
  for (const Stage& stage : model.stages) ipus.push_back(stage.ipu);
  return ipus;
}

// Layers of each stage, counted by their feed-forward blocks.
inline std::vector<int> layers_of(const StagedModel& model, const std::string& ending = "/ffn") {
  std::vector<int> layers;
  for (const Stage& stage : model.stages) {
    int count = 0;
    for (const std::string& block : stage.blocks) count += block.ends_with(ending) ? 1 : 0;
    layers.push_back(count);
  }
  return layers;
}

inline std::string message_of(const WorkloadGraph& graph, const PartitionRequest& request) {
  try {
    static_cast<void>(partition(graph, request));
  } catch (const UserError& error) {
    return error.where() + "|" + error.problem() + "|" + error.remedy();
  }
  return "no error";
}

}  // namespace podsim::test
