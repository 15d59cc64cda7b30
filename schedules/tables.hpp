// The tables of a program (transfers, streams, streaming-memory buffers, collectives), filled from the staged model
// and the variable locations. Private to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/assemble.hpp"

namespace podsim {

// Replicated tensor sharding: tensors with at least `minimum_elements` are divided over `domain` consecutive replicas.
struct Sharding {
  bool weights = false, accumulators = false, optimizer_state = false;
  int domain = 1;
  int groups = 1;  // of replicas, each with a complete set of shards
  std::int64_t minimum_elements = 0;
  [[nodiscard]] bool any() const { return weights || accumulators || optimizer_state; }
};

// What a weight update does with a stage's gradients and weights between the replicas, as indices of collectives.
struct Reduction {
  std::vector<int> before_update;  // all-reduce, or reduce-scatter and all-reduce between groups
  std::vector<int> after_update;   // all-gather of updated weights
};

class Tables {
 public:
  // UserError where the locations contradict each other or the execution.
  Tables(const StagedModel& model, const Execution& execution, const Scheme& scheme, Program& program);

  [[nodiscard]] const Sharding& sharding() const { return sharding_; }
  // Index of the streaming-memory buffer of a stage's variables; -1 where they are on chip.
  [[nodiscard]] int buffer(Variable variable, int stage) const;
  // Indices of collectives; -1 where there is none.
  [[nodiscard]] int weight_gather(int stage) const;        // before sharded weights are used
  [[nodiscard]] int accumulator_scatter(int stage) const;  // after each backward pass, with sharded accumulators
  // Between the IPUs of a stage, with a pass.
  [[nodiscard]] const std::vector<int>& within_stage(int stage, Pass pass) const;
  // For each stream: whether every IPU of its stage has it, or the first one only.
  [[nodiscard]] const std::vector<bool>& streams_everywhere() const { return streams_everywhere_; }
  [[nodiscard]] const Reduction& reduction(int stage) const { return reductions_[static_cast<std::size_t>(stage)]; }

 private:
  void check_locations() const;
  void read_sharding();
  void add_transfers();
  void add_streams();
  void add_buffers();
  void add_buffer(Variable variable, int stage, double bytes, double sharded_bytes);
  void add_collectives();
  void add_collectives_within_stages();
  int add_within_stage(int stage, const StageCollective& collective, const std::string& name);
  void add_partial_gradients(int stage);
  int add_collective(CollectiveKind kind, int stage, double bytes, const char* name, int group_size, bool orthogonal);

  const StagedModel& model_;
  const Execution& execution_;
  const Scheme& scheme_;
  Program& program_;
  Sharding sharding_;
  std::map<std::pair<Variable, int>, int> buffers_;
  std::vector<int> weight_gathers_, accumulator_scatters_;
  std::vector<Reduction> reductions_;
  std::map<std::pair<int, Pass>, std::vector<int>> within_stages_;
  std::vector<bool> streams_everywhere_;
};

}  // namespace podsim
