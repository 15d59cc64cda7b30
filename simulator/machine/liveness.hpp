// Liveness of what a stage holds for a part of the program only: activations, gradients, temporaries, step by step.
#pragma once

#include <string>
#include <vector>

#include "simulator/machine/activation_lifetimes.hpp"
#include "simulator/machine/memory.hpp"

namespace podsim {

// One step: which tensors are live (indices into the lifetimes; gradients have an activation's size), and the
// temporaries of the operator that runs.
struct LiveStep {
  std::string name;
  std::vector<int> activations;
  std::vector<int> gradients;
  double temporary_bytes_per_tile = 0;
  double temporary_bytes = 0;  // spread over all tiles: a weight gradient before it is added
  double remote_bytes = 0;     // buffers of what is streamed in from off-chip memory
};

struct StageLiveness {
  std::vector<ActivationLifetime> tensors;
  std::vector<LiveStep> steps;
};

// Bytes that the stage keeps of every live micro-batch.
[[nodiscard]] double stash_bytes(const StageMemory& stage, const MemoryRequest& request);

[[nodiscard]] StageLiveness liveness_of(const StageMemory& stage, const MemoryRequest& request);

}  // namespace podsim
