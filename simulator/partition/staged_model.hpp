// StagedModel: the workload cut into pipeline stages on the IPUs of one replica. Plain data, no graph library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/operator.hpp"

namespace podsim {

struct HostTensor {
  std::string name;
  std::int64_t elements = 0;  // per micro-batch
  double bytes = 0;           // as transferred
  bool label = false;
  bool divided = false;  // each IPU of the stage has a part
  bool numbers = false;  // floating-point samples: transferred in the type asked for
};

struct Stage {
  int index = 0;
  int ipu = 0;  // within the replica; the first one, where several IPUs share the stage
  std::vector<std::string> blocks;
  std::vector<Operator> operators;      // topological order; Input operators excluded; `block` counts layers
  std::vector<HostTensor> host_inputs;  // read at the start of the stage's forward pass
  std::vector<HostTensor> host_results;
  std::vector<Weight> weights;     // stored here; a tied weight is with the stage of its owner
  double activation_in_bytes = 0;  // forward copies received per micro-batch, pass-through tensors included
  double stash_bytes = 0;          // stage inputs, kept for the backward pass (recompute from stage inputs)
  // Collectives between the IPUs of the stage in each pass of a micro-batch; equal ones are one entry.
  std::vector<StageCollective> forward_collectives, recompute_collectives, partial_recompute_collectives,
      backward_collectives;
};

// Forward copy of one micro-batch between consecutive stages (a tensor used further down passes through every
// stage in between, as PopART's contiguous copies do); the backward copy of gradients has `gradient_bytes`.
struct StageEdge {
  int from_stage = 0, to_stage = 0;
  double activation_bytes = 0;
  double gradient_bytes = 0;
};

// Operators, weights and bytes of a stage are those of one of its IPUs.
struct StagedModel {
  std::string model;
  int ipus_per_replica = 1;
  int ipus_per_stage = 1;  // consecutive IPUs that share each stage (tensor parallel)
  std::vector<Stage> stages;
  std::vector<StageEdge> edges;
  std::int64_t samples_per_micro_batch = 1;
  std::string sample_name = "samples";
  Optimizer optimizer;
  bool profiled = false;  // stage_times: no chip model is used

  [[nodiscard]] bool on_ipu(const Stage& stage, int ipu) const {
    return ipu >= stage.ipu && ipu < stage.ipu + ipus_per_stage;
  }
  [[nodiscard]] std::int64_t weight_elements(int stage) const;  // trainable
  [[nodiscard]] double weight_bytes(int stage) const;           // all
  [[nodiscard]] double gradient_bytes(int stage) const;         // of the accumulators, trainable weights
  // Of these, what the IPUs of the stage have to add up before the update (domain sharding).
  [[nodiscard]] double partial_gradient_bytes(int stage) const;
  [[nodiscard]] double optimizer_state_bytes(int stage) const;

 private:
  [[nodiscard]] double gradient_bytes(const Weight& weight) const;
};

}  // namespace podsim
