// Memory: bytes on every tile of an IPU by category and over the program's steps (model.md section 6).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/machine/lower.hpp"

namespace podsim {

enum class MemoryCategory : std::uint8_t {
  // always live
  Weights,
  GradientAccumulators,
  OptimizerState,
  ActivationStashes,
  VertexCode,
  ControlCode,
  InternalExchangeCode,
  HostExchangeCode,
  GlobalExchangeCode,
  StackAndVertexState,
  // not always live: at the peak
  Activations,
  MatMulTemporaries,
  IoBuffers,
  RemoteBuffers,
};
inline constexpr std::size_t kMemoryCategoryCount = 14;
[[nodiscard]] std::string_view name_of(MemoryCategory category);  // "weights", "gradient_accumulators", …
[[nodiscard]] bool always_live(MemoryCategory category);

// One stage on the IPU, as the account needs it.
struct StageMemory {
  const std::vector<Operator>* operators = nullptr;
  const std::vector<Weight>* weights = nullptr;
  const LoweredStage* lowered = nullptr;
  double stage_input_bytes = 0;                        // per micro-batch
  std::int64_t live_micro_batches = 1;                 // from the program (program/analysis.hpp)
  double host_input_bytes = 0, host_result_bytes = 0;  // stream buffers, per micro-batch
  double collective_bytes = 0;                         // of the different collectives between the IPUs of the stage
  // Data of other stages that is streamed in or out while this one runs, spread over the tiles
  // (program/remote_residency.hpp).
  double beside_forward_bytes = 0, beside_backward_bytes = 0, beside_update_bytes = 0;
};

struct MemoryRequest {
  std::vector<StageMemory> stages;
  bool training = true;
  Recomputation recomputation = Recomputation::None;
  Optimizer optimizer;
  bool optimizer_state_off_chip = false, weights_off_chip = false, accumulators_off_chip = false,
       activations_off_chip = false;
  // false: every gradient is applied as soon as its backward pass has made it, and is a temporary of that step.
  bool accumulates_gradients = true;
  bool updates_one_tensor_at_a_time = true;  // of what is off chip; else the stage's as a whole
  std::int64_t optimizer_shards = 1, weight_shards = 1, accumulator_shards = 1;
  int replicas = 1;
  std::int64_t stash_bytes_per_element = 0;  // 0: as the activations; 1: fp8 checkpoints
};

struct LivenessStep {
  std::string name;        // "forward/encoder/3/attention/query"
  double bytes = 0;        // not-always-live bytes on the fullest tile
  double total_bytes = 0;  // … over all tiles
};

struct MemoryReport {
  std::array<TileVector, kMemoryCategoryCount> categories;  // not-always-live ones: at the peak
  std::vector<LivenessStep> liveness;
  int peak_tile = 0;
  double peak_tile_bytes = 0;
  double always_live_tile_bytes = 0;  // on the peak tile
  double limit_bytes = 0;
  [[nodiscard]] bool fits() const { return peak_tile_bytes <= limit_bytes; }
  [[nodiscard]] double total_bytes(MemoryCategory category) const;
};

[[nodiscard]] MemoryReport account_memory(const Lowering& lowering, const MemoryRequest& request);

}  // namespace podsim
