// Builds workloads for tests from options as a scenario would give them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "simulator/config/json.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim::test {

struct Asked {
  std::string options = "{}";  // JSON
  std::string config = "null";
  std::filesystem::path folder = ".";
  bool training = true;
  std::int64_t micro_batch_size = 1;
  ElementType precision = ElementType::Float16;
  std::int64_t embedding_serialization = 1;
  std::int64_t projection_serialization = 1;
};

inline std::unique_ptr<WorkloadGraph> build(const std::string& model, const Asked& asked = {}) {
  const Workload& workload = find_workload(model, "test");
  WorkloadRequest request;
  request.options = read_options(parse_json(asked.options, "options.json"), workload.options());
  request.folder = asked.folder;
  request.config = parse_json(asked.config, "config.json");
  request.training = asked.training;
  request.micro_batch_size = asked.micro_batch_size;
  request.precision = asked.precision;
  request.embedding_serialization = asked.embedding_serialization;
  request.projection_serialization = asked.projection_serialization;
  return workload.build(request);
}

inline const Operator& operator_named(const WorkloadGraph& graph, const std::string& name) {
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph.graph))) {
    if (graph.graph[vertex].name == name) return graph.graph[vertex];
  }
  throw std::runtime_error("no operator " + name);
}

}  // namespace podsim::test
