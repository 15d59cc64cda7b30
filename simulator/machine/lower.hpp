// Lowering: the operators of a stage -> supersteps with cycles and bytes on every tile (model.md section 5).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/machine/chip.hpp"
#include "simulator/machine/tile_vector.hpp"
#include "workloads/operator.hpp"

namespace podsim {

// Which work of a stage a superstep belongs to.
enum class WorkKind : std::uint8_t { Forward, BackwardInput, BackwardWeights, WeightUpdate };

enum class Recomputation : std::uint8_t {
  None,        // every activation that the backward pass needs is kept
  Stage,       // stage inputs are kept, everything else is computed again
  EveryLayer,  // outputs of layers (blocks) are kept as well
  Named,       // outputs of operators with `checkpoint` are kept as well
};

struct LoweringOptions {
  double available_memory_proportion = 0.6;  // bound of matmul temporaries, share of a tile's memory
  ElementType partials = ElementType::Float32;
  int io_tiles = 0;       // taken from the compute tiles
  bool outlining = true;  // identical layers share code, and pay copies of their operands
  bool auto_loss_scaling = false;
  bool stochastic_rounding = false;
  bool inference = false;  // batch norms take their moving averages, not the statistics of the batch

  friend bool operator==(const LoweringOptions&, const LoweringOptions&) = default;
};

// compute on all tiles, then sync, then exchange: duration = max compute + sync + fixed + max bytes / rate.
struct Superstep {
  std::string name;  // "matmul/compute", "matmul/reduce", …
  TileVector compute_cycles;
  // Exchanged, through the tile's own port: data that both tiles of a pair receive over their shared bus (8 bytes
  // per cycle) counts half for each of them.
  TileVector bytes_in, bytes_out;
  double sync_cycles = 0;
  double exchange_cycles = 0;  // fixed part included
  double repeat = 1;           // serial splits: run this many times in a row

  [[nodiscard]] double compute_cycles_maximum() const { return compute_cycles.maximum(); }
  [[nodiscard]] double cycles() const;  // of all repeats
};

// How a matmul or convolution was split over the tiles.
struct MatMulPlan {
  int split_groups = 1, split_rows = 1, split_columns = 1, split_inner = 1;
  std::int64_t serial_columns = 1, serial_inner = 1, serial_rows = 1;
  int tiles_used = 0;
  double temporary_bytes_per_tile = 0;
  bool bounded = true;  // false: no plan fits availableMemoryProportion, the least memory one was taken
  double macs_per_tile_maximum = 0;
  [[nodiscard]] std::string text() const;
};

struct LoweredOperator {
  int operator_index = 0;  // in the stage
  WorkKind work = WorkKind::Forward;
  std::vector<Superstep> supersteps;
  std::vector<MatMulPlan> plans;
  double amp_flops = 0;
  TileVector macs;                      // of the plans, on each tile; their sum is the operator's work
  double temporary_bytes_per_tile = 0;  // largest moment inside the operator
  double code_bytes_per_tile = 0;       // vertex code
  double exchange_code_bytes_per_tile = 0;
  double compute_cycles = 0, sync_cycles = 0, exchange_cycles = 0;  // sums over the supersteps
  [[nodiscard]] double cycles() const { return compute_cycles + sync_cycles + exchange_cycles; }
};

// The work of one stage. Lowered operators are shared between equal ones (memoised).
struct LoweredStage {
  std::vector<std::shared_ptr<const LoweredOperator>> forward;         // one for each operator, in order
  std::vector<std::shared_ptr<const LoweredOperator>> backward_input;  // null where there is none
  std::vector<std::shared_ptr<const LoweredOperator>> backward_weights;
  std::vector<std::shared_ptr<const LoweredOperator>> weight_update;  // one for each weight tensor
};

struct StageWork {
  const std::vector<Operator>* operators = nullptr;
  const std::vector<Weight>* weights = nullptr;  // stored on this stage
  bool training = true;
  bool first_stage = false;              // no gradient of the stage's input is needed
  const Optimizer* optimizer = nullptr;  // training only
  std::int64_t optimizer_shards = 1;     // replicated tensor sharding: state and update divided
  std::int64_t shard_minimum_elements = 0;
};

// Lowers operators; equal signatures are planned once. Not thread-safe.
class Lowering {
 public:
  Lowering(Chip chip, LoweringOptions options);
  ~Lowering();

  [[nodiscard]] LoweredStage lower(const StageWork& work);
  [[nodiscard]] std::shared_ptr<const LoweredOperator> lower(const Operator& op, WorkKind work);

  [[nodiscard]] const Chip& chip() const;
  [[nodiscard]] const LoweringOptions& options() const;
  [[nodiscard]] int compute_tiles() const;           // tiles - IO tiles
  [[nodiscard]] std::size_t plans_made() const;      // for tests of the memo
  [[nodiscard]] std::size_t operators_kept() const;  // in the memo

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Times of one pass of a lowered stage.
struct PassCycles {
  double compute = 0, sync = 0, exchange = 0;
  double amp_flops = 0;
  [[nodiscard]] double total() const { return compute + sync + exchange; }
};
[[nodiscard]] PassCycles forward_cycles(const LoweredStage& stage);
[[nodiscard]] PassCycles backward_input_cycles(const LoweredStage& stage);
[[nodiscard]] PassCycles backward_weights_cycles(const LoweredStage& stage);
[[nodiscard]] PassCycles weight_update_cycles(const LoweredStage& stage);
// Indices of the operators whose forward work is done again before the backward pass; `partial`: all but the segment
// behind the last checkpoint.
[[nodiscard]] std::vector<std::size_t> recomputed_operators(const std::vector<Operator>& operators,
                                                            Recomputation recomputation, bool partial);
// Their cycles.
[[nodiscard]] PassCycles recompute_cycles(const LoweredStage& stage, const std::vector<Operator>& operators,
                                          Recomputation recomputation, bool partial);

}  // namespace podsim
