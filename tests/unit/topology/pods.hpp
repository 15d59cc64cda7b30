// Pods from the project's own data files, and questions that several tests ask of them.
#pragma once

#include <string>
#include <vector>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "topology/topology.hpp"

namespace podsim {

class DataFolder : public ParameterSource {
 public:
  [[nodiscard]] Value load(const std::string& name) const override {
    return read_json(std::string(PODSIM_SOURCE_DIR) + "/topology/data/" + name + ".json");
  }
};

inline Topology make_pod(const std::string& name, int hosts = 0, const std::string& overrides = "{}") {
  PodRequest request;
  request.pod = name;
  request.hosts = hosts;
  request.overrides = parse_json(overrides, "scenario.json");
  request.where = "scenario.json:/system";
  return build_topology(request, DataFolder());
}

inline Topology make_custom(const std::string& text, int hosts = 0, const std::string& overrides = "{}") {
  PodRequest request;
  request.custom = parse_json(text, "my_pod.json");
  request.hosts = hosts;
  request.overrides = parse_json(overrides, "scenario.json");
  request.where = "scenario.json:/system";
  return build_topology(request, DataFolder());
}

// What the user reads: "where: problem (remedy)", or "" where nothing is wrong.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.where() + ": " + error.problem() + " (" + error.remedy() + ")";
  }
  return "";
}

inline std::vector<std::string> names_on(const Topology& topology, const Route& route) {
  std::vector<std::string> names;
  for (const int link : route.links) names.push_back(topology.links()[static_cast<std::size_t>(link)].name);
  return names;
}

inline std::vector<std::string> names_between(const Topology& topology, int from_ipu, int to_ipu) {
  return names_on(topology, topology.route(topology.ipu_vertex(from_ipu), topology.ipu_vertex(to_ipu)));
}

}  // namespace podsim
