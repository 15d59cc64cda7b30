// The collectives between IPUs that programs ask for and topologies plan.
#pragma once

#include <cstdint>
#include <string_view>

namespace podsim {

// Halo exchange: between neighbours in the order of the ranks, half of the bytes that one has between them each way.
enum class CollectiveKind : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, HaloExchange };

[[nodiscard]] constexpr std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce: return "all-reduce";
    case CollectiveKind::ReduceScatter: return "reduce-scatter";
    case CollectiveKind::AllGather: return "all-gather";
    case CollectiveKind::Broadcast: return "broadcast";
    case CollectiveKind::HaloExchange: return "halo exchange";
  }
  return "";
}

}  // namespace podsim
