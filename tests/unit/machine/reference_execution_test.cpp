// Aggregated equals detailed: a reference execution in which every tile of the IPU steps by itself, with a barrier
// after compute and after exchange, takes the time that the run-length coded supersteps give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/machine/lower.hpp"
#include "tests/unit/machine/test_chip.hpp"

namespace podsim {
namespace {

// Clocks of all tiles, advanced one tile at a time.
class TileByTile {
 public:
  explicit TileByTile(const Chip& chip) : chip_(chip), clocks_(static_cast<std::size_t>(chip.tiles), 0.0) {}

  void run(const Superstep& step) {
    const std::vector<double> compute = step.compute_cycles.expand();
    const std::vector<double> in = step.bytes_in.expand();
    const std::vector<double> out = step.bytes_out.expand();
    const double rate = chip_.exchange_bytes_per_cycle * chip_.parameters.get("exchange_efficiency");
    for (double repeat = 0; repeat < step.repeat; ++repeat) {
      for (std::size_t tile = 0; tile < clocks_.size(); ++tile) clocks_[tile] += compute[tile];
      const bool exchange = std::any_of(in.begin(), in.end(), [](double b) { return b > 0; }) ||
                            std::any_of(out.begin(), out.end(), [](double b) { return b > 0; });
      if (!exchange) continue;
      barrier(chip_.sync_cycles);
      for (std::size_t tile = 0; tile < clocks_.size(); ++tile) {
        // Data goes in and out at the same time, a word each way per cycle.
        const double words = std::max(in[tile], out[tile]) / rate;
        if (words > 0) clocks_[tile] += chip_.exchange_fixed_cycles + words;
      }
      barrier(0);
    }
    barrier(0);
  }

  [[nodiscard]] double now() const { return *std::max_element(clocks_.begin(), clocks_.end()); }

 private:
  void barrier(double cycles) { std::fill(clocks_.begin(), clocks_.end(), now() + cycles); }

  const Chip& chip_;
  std::vector<double> clocks_;
};

void expect_equal(const Chip& chip, const std::vector<Operator>& operators, const LoweringOptions& options) {
  Lowering lowering(chip, options);
  TileByTile reference(chip);
  double vector_form = 0;
  for (const Operator& op : operators) {
    for (const WorkKind work : {WorkKind::Forward, WorkKind::BackwardInput, WorkKind::BackwardWeights}) {
      const auto lowered = lowering.lower(op, work);
      for (const Superstep& step : lowered->supersteps) reference.run(step);
      vector_form += lowered->cycles();
    }
  }
  ASSERT_GT(vector_form, 0);
  EXPECT_NEAR(reference.now() / vector_form, 1, 1e-12);
}

std::vector<Operator> mixed_operators() {
  ConvolutionShape shape;
  shape.batch = 3;
  shape.in_height = shape.in_width = shape.out_height = shape.out_width = 28;
  shape.in_channels = 48;
  shape.out_channels = 80;
  shape.kernel_height = shape.kernel_width = 3;
  Operator norm = elementwise(OperatorKind::LayerNorm, 100, 300);
  norm.shape = NormShape{100, 300, 1};
  norm.weights = {{"scale", 300, ElementType::Float16, true, {}}};
  Operator gather = elementwise(OperatorKind::EmbeddingGather, 77, 130);
  gather.shape = GatherShape{77, 5000, 130};
  gather.weights = {{"table", 5000 * 130, ElementType::Float16, true, {}}};
  Operator projection = matmul(1, 100, 256, 5000);
  projection.serial_splits = 3;
  return {matmul(1, 333, 517, 1031),
          matmul(24, 77, 64, 77, false),
          convolution(shape),
          norm,
          gather,
          projection,
          elementwise(OperatorKind::Softmax, 99, 77),
          elementwise(OperatorKind::Transpose, 99, 77),
          elementwise(OperatorKind::Gelu, 1111, 77)};
}

TEST(ReferenceExecution, WholeIpu) {
  LoweringOptions options;
  options.partials = ElementType::Float16;
  expect_equal(shipped_chip("bow"), mixed_operators(), options);
}

TEST(ReferenceExecution, SmallChips) {
  for (const int tiles : {1, 2, 7, 16, 61}) {
    Chip chip = shipped_chip("gc2");
    chip.tiles = tiles;
    LoweringOptions options;
    options.io_tiles = tiles > 10 ? 3 : 0;
    expect_equal(chip, mixed_operators(), options);
  }
}

}  // namespace
}  // namespace podsim
