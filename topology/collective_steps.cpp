// Rings over ranks and the steps on them.
#include "topology/collective_steps.hpp"

#include <algorithm>
#include <utility>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

enum class Direction : std::uint8_t { Clockwise, Anticlockwise };

// Every rank sends `bytes` to its neighbour on the ring.
void add_turn(const std::vector<int>& ring, Direction direction, double bytes, std::vector<Flow>& flows) {
  const std::size_t count = ring.size();
  for (std::size_t place = 0; place < count; ++place) {
    const std::size_t next = direction == Direction::Clockwise ? (place + 1) % count : (place + count - 1) % count;
    flows.push_back({ring[place], ring[next], bytes});
  }
}

CollectiveSteps turns(std::int64_t repeat, const std::vector<int>& ring, std::vector<Direction> directions,
                      double bytes) {
  CollectiveSteps steps;
  steps.repeat = repeat;
  for (const Direction direction : directions) add_turn(ring, direction, bytes, steps.flows);
  return steps;
}

bool equal_flows(const std::vector<Flow>& left, const std::vector<Flow>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const Flow& a, const Flow& b) {
    return a.from_ipu == b.from_ipu && a.to_ipu == b.to_ipu && a.bytes == b.bytes;
  });
}

}  // namespace

std::string_view name_of(CollectiveMethod method) {
  return collective_algorithms().at(static_cast<std::size_t>(method));
}

std::vector<int> ring_of(RingOrder order, const std::vector<int>& ranks) {
  const std::size_t count = ranks.size();
  std::vector<int> ring;
  ring.reserve(count);
  switch (order) {
    case RingOrder::Flat: return ranks;
    case RingOrder::Interleaved:
      for (std::size_t rank = 0; rank < count; rank += 2) ring.push_back(ranks[rank]);
      for (std::size_t rank = count / 2 * 2; rank > 0; rank -= 2) ring.push_back(ranks[rank - 1]);
      return ring;
    case RingOrder::Serpent:
    case RingOrder::SerpentMirrored:
      for (std::size_t pair = 0; pair < count; pair += 2) {
        const bool crossed = (pair / 2 % 2 == 1) != (order == RingOrder::SerpentMirrored);
        const std::size_t first = crossed ? pair + 1 : pair;
        if (first < count) ring.push_back(ranks[first]);
        if ((first ^ 1U) < count) ring.push_back(ranks[first ^ 1U]);
      }
      return ring;
  }
  throw InternalError("unknown ring order");
}

void append_steps(CollectiveSteps steps, std::vector<CollectiveSteps>& all) {
  if (steps.repeat <= 0 || steps.flows.empty()) return;
  if (!all.empty() && equal_flows(all.back().flows, steps.flows)) {
    all.back().repeat += steps.repeat;
  } else {
    all.push_back(std::move(steps));
  }
}

void append_phase(CollectiveMethod method, RingOrder order, const std::vector<int>& ranks, double bytes,
                  std::vector<CollectiveSteps>& steps) {
  const auto count = static_cast<std::int64_t>(ranks.size());
  if (count <= 1) return;
  const double fragment = bytes / static_cast<double>(count);
  const std::vector<int> ring = ring_of(order, ranks);
  switch (method) {
    case CollectiveMethod::ClockwiseRing:
      return append_steps(turns(count - 1, ring, {Direction::Clockwise}, fragment), steps);
    case CollectiveMethod::AnticlockwiseRing:
      return append_steps(turns(count - 1, ring, {Direction::Anticlockwise}, fragment), steps);
    case CollectiveMethod::BidirectionalRingPair:
      return append_steps(turns(count - 1, ring, {Direction::Clockwise, Direction::Anticlockwise}, fragment / 2),
                          steps);
    case CollectiveMethod::MeetInMiddleRing: {
      const std::int64_t both = (count - 1) / 2;  // an even number of ranks leaves one step one way
      append_steps(turns(both, ring, {Direction::Clockwise, Direction::Anticlockwise}, fragment), steps);
      return append_steps(turns(count - 1 - 2 * both, ring, {Direction::Clockwise}, fragment), steps);
    }
    case CollectiveMethod::QuadDirectionalRing: {
      CollectiveSteps quad;
      quad.repeat = count - 1;
      for (const RingOrder half : {RingOrder::Serpent, RingOrder::SerpentMirrored}) {
        const std::vector<int> half_ring = ring_of(half, ranks);
        add_turn(half_ring, Direction::Clockwise, fragment / 4, quad.flows);
        add_turn(half_ring, Direction::Anticlockwise, fragment / 4, quad.flows);
      }
      return append_steps(std::move(quad), steps);
    }
    case CollectiveMethod::Broadcast: return append_exchange_all(ranks, fragment, steps);
  }
  throw InternalError("unknown collective method");
}

void append_exchange_all(const std::vector<int>& ranks, double bytes, std::vector<CollectiveSteps>& steps) {
  CollectiveSteps step;
  for (const int from : ranks) {
    for (const int to : ranks) {
      if (from != to) step.flows.push_back({from, to, bytes});
    }
  }
  append_steps(std::move(step), steps);
}

void append_fan_out(const std::vector<int>& ranks, double bytes, std::vector<CollectiveSteps>& steps) {
  CollectiveSteps step;
  for (const int to : ranks) {
    if (to != ranks.front()) step.flows.push_back({ranks.front(), to, bytes});
  }
  append_steps(std::move(step), steps);
}

void append_halo(const std::vector<int>& ranks, double bytes, std::vector<CollectiveSteps>& steps) {
  CollectiveSteps step;
  for (std::size_t place = 1; place < ranks.size(); ++place) {
    step.flows.push_back({ranks[place - 1], ranks[place], bytes});
    step.flows.push_back({ranks[place], ranks[place - 1], bytes});
  }
  append_steps(std::move(step), steps);
}

}  // namespace podsim
