// Internal to this folder: rings over ranks, and the steps that each of GCL's methods takes on them.
#pragma once

#include <string>
#include <vector>

#include "topology/collectives.hpp"

namespace podsim {

// Orders of the ranks round the ring inside an IPU-Link domain (PopLibs lib/popops/ReplicatedCollectives.cpp before
// commit 887b9d3a). Interleaved: up the even ranks, down the odd ones; Flat: 0, 1, 2, … closed by the loop-back
// cables; Serpent: 0, 1, 3, 2, 4, 5, 7, 6, …, and mirrored 1, 0, 2, 3, 5, 4, 6, 7, ….
enum class RingOrder : std::uint8_t { Interleaved, Flat, Serpent, SerpentMirrored };

// `ranks` in the order of the ring.
[[nodiscard]] std::vector<int> ring_of(RingOrder order, const std::vector<int>& ranks);

enum class CollectiveMethod : std::uint8_t {
  ClockwiseRing,
  AnticlockwiseRing,
  BidirectionalRingPair,  // half of the data each way, n - 1 steps
  MeetInMiddleRing,       // whole fragments half way round each way, n / 2 steps
  QuadDirectionalRing,    // two rings, two directions each, n - 1 steps
  Broadcast,              // everybody sends directly to everybody, one step
};
[[nodiscard]] std::string_view name_of(CollectiveMethod method);

// One phase on the ranks in `order`: a reduce-scatter or an all-gather of `bytes` in all. Each is the other's reverse
// in time, so both take the same steps, and every rank receives (n - 1) / n of the bytes.
void append_phase(CollectiveMethod method, RingOrder order, const std::vector<int>& ranks, double bytes,
                  std::vector<CollectiveSteps>& steps);
// Everybody sends all `bytes` to everybody and reduces by itself.
void append_exchange_all(const std::vector<int>& ranks, double bytes, std::vector<CollectiveSteps>& steps);
// The first rank sends `bytes` to each other one.
void append_fan_out(const std::vector<int>& ranks, double bytes, std::vector<CollectiveSteps>& steps);
// Each rank sends `bytes` to the one before it and to the one behind it.
void append_halo(const std::vector<int>& ranks, double bytes, std::vector<CollectiveSteps>& steps);
// Adds steps; runs of equal ones become one.
void append_steps(CollectiveSteps steps, std::vector<CollectiveSteps>& all);

}  // namespace podsim
