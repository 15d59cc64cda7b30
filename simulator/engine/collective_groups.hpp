// The groups of IPUs that run collectives together, with their plans on the links.
#pragma once

#include <span>
#include <vector>

#include "simulator/engine/kernel.hpp"
#include "simulator/program/program.hpp"
#include "topology/collectives.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

struct CollectiveGroup {
  int collective = 0;        // index into Program::collectives
  std::vector<int> ranks{};  // IPUs of the pod
  bool between_replicas = true;

  struct Step {
    std::int64_t repeat = 1;
    double overhead_seconds = 0;  // of each repetition, before its flows
    std::vector<FlowRequest> flows;
  };
  std::vector<Step> steps{};  // none for a group of one
};

// All groups of a program. `routes` of the topology are borrowed.
[[nodiscard]] std::vector<CollectiveGroup> collective_groups(const Topology& topology, const Program& program);

// Groups that start at the same instant and share their links with nothing else: the seconds each takes where all run
// in lockstep, step by step; empty where they do not, because their steps differ or take different times.
[[nodiscard]] std::vector<double> lockstep_seconds(const Topology& topology,
                                                   std::span<const CollectiveGroup* const> groups);

}  // namespace podsim::engine
