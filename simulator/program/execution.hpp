// How a model is executed: counts, modes and locations that schedules turn into programs.
#pragma once

#include <cstdint>

namespace podsim {

enum class Mode : std::uint8_t { Training, Inference };
enum class OutputMode : std::uint8_t { All, Sum, Final, EveryN };
enum class UpdateOrder : std::uint8_t { Serial, Overlapped };
enum class SyncPattern : std::uint8_t { Full, SinglePipeline, ReplicaAndLadder };
enum class IoOverlap : std::uint8_t { None, AccumulationLoop, DeviceIterationLoop };

// Where the tensors of one class live between their uses (PopART TensorLocation).
struct VariableLocation {
  bool off_chip = false;              // in streaming memory
  bool sharded = false;               // replicated tensor sharding
  int sharding_domain = 0;            // replicas in a shard group (consecutive ones); 0: all
  std::int64_t minimum_elements = 0;  // smaller tensors stay as they are
};

struct Execution {
  Mode mode = Mode::Training;
  std::int64_t micro_batches = 1;      // gradient accumulation: micro-batches per weight update (training)
  std::int64_t device_iterations = 1;  // per host call; micro-batches per run in inference
  std::int64_t runs = 1;               // host calls
  int replicas = 1;
  bool recompute = false;  // recompute passes are emitted before backward passes
  OutputMode output_mode = OutputMode::Final;
  std::int64_t output_period = 1;  // for EveryN
  UpdateOrder update_order = UpdateOrder::Serial;
  SyncPattern sync_pattern = SyncPattern::Full;
  IoOverlap io_overlap = IoOverlap::None;
  VariableLocation activations, weights, accumulators, optimizer_state;
};

}  // namespace podsim
