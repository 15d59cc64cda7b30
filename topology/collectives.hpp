// Collectives as sequences of steps of flows on the real links (facts: GCL's methods). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/collective_kind.hpp"
#include "topology/topology.hpp"

namespace podsim {

struct Flow {
  int from_ipu = 0, to_ipu = 0;  // of the pod
  double bytes = 0;
};

// `repeat` equal steps one after the other: each costs the fixed overhead, then its flows run at once.
struct CollectiveSteps {
  std::int64_t repeat = 1;
  std::vector<Flow> flows;
};

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::vector<int> ranks;      // IPUs of the pod
  double bytes = 0;            // full tensor on each rank
  int ipus_per_replica = 1;
  std::string algorithm;       // "" or "auto", or one of collective_algorithms()
};

struct CollectivePlan {
  std::string algorithm;       // the one chosen
  std::vector<CollectiveSteps> steps;
};

[[nodiscard]] CollectivePlan plan_collective(const Topology& topology, const CollectiveRequest& request);
[[nodiscard]] const std::vector<std::string>& collective_algorithms();

// Time of plans that run in lockstep side by side with nothing else on their links: for each step the fixed cost
// plus the largest sum of bytes on a link over its bandwidth (equal to max-min fair flows of equal size).
[[nodiscard]] double uncontended_seconds(const Topology& topology, const std::vector<const CollectivePlan*>& plans,
                                         double fixed_seconds_per_step);

}  // namespace podsim
