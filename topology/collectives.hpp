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
  double added_seconds = 0;  // per step, where flows leave the IPU-Link domain: their latency, on top of the fixed cost
};

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::vector<int> ranks;  // IPUs of the pod
  double bytes = 0;        // full tensor on each rank; of a halo exchange: what a rank between two others receives
  int ipus_per_replica = 1;
  std::string algorithm;   // "" or "auto", or one of collective_algorithms(); inside each domain of a three-phase one
  std::string ring_order;  // "" (by the topology), or one of ring_orders(); "serpent" is GCL's BarleyTwist cabling
};

struct CollectivePlan {
  std::string algorithm;  // the one chosen; "a+b": of the two phases of an all-reduce; "three_phase(…)": over domains
  std::vector<CollectiveSteps> steps;
};

// No steps for one rank or no bytes. The first rank is the root of a broadcast. UserError on an unknown algorithm.
[[nodiscard]] CollectivePlan plan_collective(const Topology& topology, const CollectiveRequest& request);
[[nodiscard]] const std::vector<std::string>& collective_algorithms();
[[nodiscard]] const std::vector<std::string>& ring_orders();

// Time of plans that run in lockstep side by side with nothing else on their links: for each step the fixed cost
// plus the largest sum of bytes on a link over its bandwidth (equal to max-min fair flows of equal size). The fixed
// cost is measured with the latency of IPU-Links in it, so that is not added.
[[nodiscard]] double uncontended_seconds(const Topology& topology, const std::vector<const CollectivePlan*>& plans,
                                         double fixed_seconds_per_step);

}  // namespace podsim
