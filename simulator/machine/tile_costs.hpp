// TileCosts: cycles that one vertex takes on one tile, by the formulas of PopLibs' performance estimators. A tile
// issues one instruction per cycle for its worker contexts in turn, so a worker's cycles count six times.
#pragma once

#include <cstdint>

#include "simulator/core/element_type.hpp"
#include "simulator/machine/chip.hpp"
#include "workloads/operator.hpp"

namespace podsim {

// The share of one tile of a matmul or convolution, in blocks of the AMP unit.
struct AmpWork {
  std::int64_t groups = 0;
  std::int64_t rows = 0;           // output positions
  std::int64_t inner_blocks = 0;   // kernel positions x blocks of input channels
  std::int64_t column_blocks = 0;  // of output channels
  std::int64_t line = 0;           // output positions next to each other in an image; 0: no kernel, one long line
};

// Elementwise loops: cycles for each vector (8 bytes) of a worker's inner loop.
enum class VectorLoop : std::uint8_t {
  Binary,
  Relu,
  Gelu,
  Tanh,
  Sigmoid,
  Swish,
  Exponent,
  Dropout,
  ReluGradient,
  GeluGradient,
  TanhGradient,
  SigmoidGradient,
  SwishGradient,
};

class TileCosts {
 public:
  explicit TileCosts(const Chip& chip);

  // Elements of the inner dimension and output columns that one AMP pass covers.
  [[nodiscard]] std::int64_t amp_inner_block(ElementType operands) const;
  [[nodiscard]] std::int64_t amp_column_block() const { return 16; }

  [[nodiscard]] double amp_cycles(const AmpWork& work, ElementType operands, ElementType partials) const;
  // Multiply-accumulate without AMP: the vertical MAC vertex for groups with few channels.
  [[nodiscard]] double vector_mac_cycles(double macs, std::int64_t rows, ElementType operands) const;
  // The SLIC vertex: windows of four kernel positions over groups of at most four channels, fp16.
  [[nodiscard]] double slic_cycles(double padded_macs, std::int64_t rows) const;

  // A vertex over `elements`, shared by the workers; `loops` vector loops in one call.
  [[nodiscard]] double vector_cycles(double elements, ElementType type, double cycles_per_vector) const;
  [[nodiscard]] double loop_cycles(VectorLoop loop, ElementType type) const;
  [[nodiscard]] double loop_cycles(ElementFunction function, ElementType type) const;
  // Pairs of keys and values compared, and exchanged where they are out of order.
  [[nodiscard]] double compare_swap_cycles(double pairs) const;
  // Adds `partials` values for each of `outputs` results.
  [[nodiscard]] double reduce_cycles(double outputs, double partials, ElementType type) const;

  // Copy of contiguous data on the tile, and of data in atoms of 8, 4 or 2 bytes.
  [[nodiscard]] double copy_cycles(double bytes) const;
  [[nodiscard]] double rearrange_cycles(double bytes, std::int64_t atom_bytes) const;

  // Rows of a table fetched from, or added into, this tile's part of the table. `hits` of `lookups` are here.
  [[nodiscard]] double slice_cycles(double lookups, double hits, double width, ElementType type) const;
  [[nodiscard]] double update_add_cycles(double lookups, double hits, double width, ElementType type) const;

  [[nodiscard]] double exchange_cycles(double bytes_in, double bytes_out) const;  // fixed part included
  [[nodiscard]] double sync_cycles() const { return sync_; }
  // Control program of one superstep: loading and calling the compute set.
  [[nodiscard]] double step_cycles() const { return step_; }
  // The same for one operator of the framework's graph: program flow, copies into outlined functions and loops,
  // supersteps of bookkeeping (zeroed partials, seeds, scalars) that its own supersteps do not show.
  [[nodiscard]] double operator_cycles() const { return operator_; }
  // One step of an all-reduce of statistics between the IPUs of neighbouring replicas.
  [[nodiscard]] double replica_step_cycles() const { return replica_step_; }
  [[nodiscard]] int workers() const { return workers_; }

 private:
  [[nodiscard]] double amp_worker_cycles(double rows, ElementType operands) const;
  [[nodiscard]] double amp_kernel_worker_cycles(double rows, double line, ElementType operands) const;

  const Chip* chip_;
  int workers_;
  double sync_, step_, operator_, exchange_fixed_, exchange_rate_, replica_step_;
  double vector_bytes_, supervisor_, worker_;
  double amp_weight_rate_;
  double copy_fixed_, copy_rate_;
  double rearrange_fixed_, rearrange_8_, rearrange_4_, rearrange_2_;
};

}  // namespace podsim
