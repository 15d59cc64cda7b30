// The collectives between IPUs that programs ask for and topologies plan.
#pragma once

#include <cstdint>
#include <string_view>

namespace podsim {

enum class CollectiveKind : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast };

[[nodiscard]] constexpr std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce: return "all-reduce";
    case CollectiveKind::ReduceScatter: return "reduce-scatter";
    case CollectiveKind::AllGather: return "all-gather";
    case CollectiveKind::Broadcast: return "broadcast";
  }
  return "";
}

}  // namespace podsim
