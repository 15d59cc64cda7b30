// Plans: conservation of work, bounds, monotony, memory, and the fallback.
#include "simulator/machine/planner.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "tests/unit/machine/test_chip.hpp"

namespace podsim {
namespace {

const Chip& bow() {
  static const Chip chip = shipped_chip("bow");
  return chip;
}

Operator random_contraction() {
  const auto size = [](int low, int high) { return static_cast<std::int64_t>(*rc::gen::inRange(low, high)); };
  const ElementType type = *rc::gen::element(ElementType::Float16, ElementType::Float32);
  if (*rc::gen::arbitrary<bool>()) {
    return matmul(size(1, 40), size(1, 2000), size(1, 2000), size(1, 2000), *rc::gen::arbitrary<bool>(), type);
  }
  ConvolutionShape shape;
  shape.batch = size(1, 8);
  shape.groups = *rc::gen::element(1, 1, 4, 32);
  shape.in_channels = shape.groups * size(1, 40);
  shape.out_channels = shape.groups * size(1, 40);
  shape.kernel_height = shape.kernel_width = *rc::gen::element(1, 3, 5, 7);
  shape.stride_height = shape.stride_width = *rc::gen::element(1, 2);
  shape.out_height = shape.out_width = size(1, 60);
  shape.in_height = shape.in_width = shape.out_height * shape.stride_height;
  return convolution(shape, type);
}

TEST(Planner, WorkIsConservedBoundedAndNeverFasterThanTheChip) {
  EXPECT_TRUE(rc::check("plans", [] {
    const Operator op = random_contraction();
    const double proportion = *rc::gen::element(0.05, 0.2, 0.6);
    LoweringOptions options = half_partials(proportion);
    options.io_tiles = *rc::gen::element(0, 32);
    Lowering lowering(bow(), options);
    const WorkKind work = *rc::gen::element(WorkKind::Forward, WorkKind::BackwardInput, WorkKind::BackwardWeights);
    const auto lowered = lowering.lower(op, work);
    double macs = 0;
    for (const Contraction& contraction : contractions_of(op, work)) macs += contraction.macs();
    RC_ASSERT(std::abs(lowered->macs.sum() - macs) <= 1e-9 * macs);
    RC_ASSERT(lowered->amp_flops == 2 * macs);
    for (const MatMulPlan& plan : lowered->plans) {
      RC_ASSERT(plan.tiles_used >= 1 && plan.tiles_used <= lowering.compute_tiles());
      const double bound = proportion * static_cast<double>(bow().bytes_per_tile);
      RC_ASSERT(plan.bounded == (plan.temporary_bytes_per_tile <= bound));
    }
    if (macs > 0) {
      const bool single = op.inputs.front().type == ElementType::Float32;
      const double rate = single ? bow().amp_macs_fp32 : bow().amp_macs_fp16_fp16;
      RC_ASSERT(lowered->compute_cycles >= macs / rate / lowering.compute_tiles());
      RC_ASSERT(lowered->macs.tiles() == bow().tiles);
      // the tile that has most work is not faster than its unit
      RC_ASSERT(lowered->compute_cycles >= lowered->macs.maximum() / rate / static_cast<double>(lowered->plans.size()));
    }
    for (const Superstep& step : lowered->supersteps) {
      const double bytes = std::max(step.bytes_in.maximum(), step.bytes_out.maximum());
      RC_ASSERT(step.exchange_cycles >= bytes / bow().exchange_bytes_per_cycle);
      RC_ASSERT((step.exchange_cycles == 0) == (step.sync_cycles == 0));
      for (int tile = lowering.compute_tiles(); tile < bow().tiles; tile += 7) {
        RC_ASSERT(step.compute_cycles.at(tile) == 0 && step.bytes_in.at(tile) == 0);
      }
    }
  }));
}

TEST(Planner, MoreRowsOrColumnsAreNotFaster) {
  EXPECT_TRUE(rc::check("monotony", [] {
    const auto size = [] { return static_cast<std::int64_t>(*rc::gen::inRange(16, 1500)); };
    const std::int64_t rows = size(), inner = size(), columns = size();
    Lowering lowering(bow(), half_partials());
    const double once = lowering.lower(matmul(1, rows, inner, columns), WorkKind::Forward)->cycles();
    RC_ASSERT(lowering.lower(matmul(1, rows, 2 * inner, columns), WorkKind::Forward)->cycles() >= once);
    // With twice the rows or columns the two tiles of a pair may share an operand: at most half of its exchange less.
    RC_ASSERT(lowering.lower(matmul(1, 2 * rows, inner, columns), WorkKind::Forward)->cycles() >= 0.85 * once);
    RC_ASSERT(lowering.lower(matmul(1, rows, inner, 2 * columns), WorkKind::Forward)->cycles() >= 0.85 * once);
    RC_ASSERT(lowering.lower(matmul(2, rows, inner, columns), WorkKind::Forward)->cycles() >= once);
  }));
}

TEST(Planner, LayoutCoversEachDimensionOnce) {
  EXPECT_TRUE(rc::check("layout", [] {
    const Operator op = random_contraction();
    const TileCosts costs(bow());
    const Planner planner(bow(), costs, half_partials());
    for (const Contraction& contraction : contractions_of(op, WorkKind::Forward)) {
      const PlannedContraction planned = planner.plan(contraction);
      const Planner::Layout layout = planner.layout(planned);
      const auto count = [](const std::vector<DimensionPart>& parts, std::int64_t DimensionPart::*member) {
        std::int64_t sum = 0;
        for (const DimensionPart& part : parts) sum += part.parts * part.*member;
        return sum;
      };
      const Contraction& split = planned.contraction;
      RC_ASSERT(count(layout.groups, &DimensionPart::elements) == split.groups);
      RC_ASSERT(count(layout.rows, &DimensionPart::elements) == split.rows);
      const std::int64_t serial = planned.plan.serial_columns;
      RC_ASSERT(count(layout.columns, &DimensionPart::elements) == (split.columns + serial - 1) / serial);
    }
  }));
}

TEST(Planner, TinyMatmulByHand) {
  // 6 x 16 times 16 x 16 fits one block: one tile computes, nothing to reduce. Weights are there, inputs come in.
  Lowering lowering(bow(), half_partials());
  const auto lowered = lowering.lower(matmul(1, 6, 16, 16), WorkKind::Forward);
  ASSERT_EQ(lowered->plans.size(), 1U);
  EXPECT_EQ(lowered->plans[0].split_inner, 1);
  EXPECT_EQ(lowered->macs.sum(), 6.0 * 16 * 16);
  // One row for each worker at best: 31 - 7 = 24 cycles, times six; weights 64; 50 + 42 + 12 + 15 + 19 + 7; control.
  // Before, the 6 x 16 halves of the left operand are put in place, 8 bytes on each of 24 tiles: 587 + 0.4404 x 8.
  const double control =
      2 * bow().parameters.get("superstep_control_cycles") + bow().parameters.get("operator_control_cycles");
  EXPECT_NEAR(lowered->compute_cycles, 587 + 0.4404 * 8 + 50 + 42 + 12 + 15 + 19 + 7 + 64 + 144 + control, 1e-9);
  EXPECT_DOUBLE_EQ(lowered->sync_cycles, 90);
}

TEST(Planner, LessMemoryMeansASmallerOrSlowerPlan) {
  const Operator op = matmul(1, 4096, 4096, 4096);
  double cycles = 0;
  double bytes = 1e18;
  for (const double proportion : {0.6, 0.2, 0.1, 0.05}) {
    Lowering lowering(bow(), half_partials(proportion));
    const auto lowered = lowering.lower(op, WorkKind::Forward);
    EXPECT_TRUE(lowered->plans[0].bounded);
    EXPECT_GE(lowered->cycles(), cycles);
    EXPECT_LE(lowered->plans[0].temporary_bytes_per_tile, proportion * 638976);
    cycles = lowered->cycles();
    bytes = std::min(bytes, lowered->plans[0].temporary_bytes_per_tile);
  }
  EXPECT_LT(bytes, 0.05 * 638976);
}

TEST(Planner, WithoutAPlanInBoundsTakesTheSmallestAndSaysSo) {
  Lowering lowering(bow(), half_partials(0.0005));  // 319 bytes of each tile
  const auto lowered = lowering.lower(matmul(1, 4096, 4096, 4096), WorkKind::Forward);
  EXPECT_FALSE(lowered->plans[0].bounded);
  EXPECT_NE(lowered->plans[0].text().find("beyond the memory bound"), std::string::npos);
  Lowering roomy(bow(), half_partials(0.6));
  EXPECT_LT(lowered->plans[0].temporary_bytes_per_tile,
            roomy.lower(matmul(1, 4096, 4096, 4096), WorkKind::Forward)->plans[0].temporary_bytes_per_tile);
}

TEST(Planner, HalfPartialsSaveTimeAndMemory) {
  LoweringOptions single = half_partials();
  single.partials = ElementType::Float32;
  Lowering full(bow(), single);
  Lowering half(bow(), half_partials());
  const Operator op = matmul(1, 4096, 4096, 1024);
  EXPECT_GT(full.lower(op, WorkKind::Forward)->compute_cycles, 1.5 * half.lower(op, WorkKind::Forward)->compute_cycles);
}

TEST(Planner, MulticastToPairsHalvesTheBytesOfThePort) {
  const TileCosts costs(bow());
  const Planner planner(bow(), costs, half_partials());
  PlannedContraction planned;
  planned.contraction = contractions_of(matmul(1, 64, 64, 64), WorkKind::Forward)[0];
  planned.plan.split_rows = 1;
  TileShare share;
  share.left_elements = 1000;
  planned.plan.split_columns = 3;
  EXPECT_DOUBLE_EQ(planner.operand_bytes_in(planned, share), 2000);
  planned.plan.split_columns = 4;
  EXPECT_DOUBLE_EQ(planner.operand_bytes_in(planned, share), 1000);
  share.right_elements = 500;  // weights that only this tile needs are there already
  EXPECT_DOUBLE_EQ(planner.operand_bytes_in(planned, share), 1000);
  planned.plan.split_rows = 4;  // one of four tiles has them
  EXPECT_DOUBLE_EQ(planner.operand_bytes_in(planned, share), 1000 + 750);
}

TEST(Planner, DepthwiseConvolutionDoesNotUseAmp) {
  ConvolutionShape shape;
  shape.batch = 2;
  shape.in_height = shape.in_width = shape.out_height = shape.out_width = 32;
  shape.in_channels = shape.out_channels = shape.groups = 256;
  shape.kernel_height = shape.kernel_width = 3;
  const TileCosts costs(bow());
  const Planner planner(bow(), costs, half_partials());
  EXPECT_NE(planner.plan(contractions_of(convolution(shape), WorkKind::Forward)[0]).method, ContractionMethod::Amp);
  shape.groups = 16;  // 16 channels in each group: the AMP unit is full
  EXPECT_EQ(planner.plan(contractions_of(convolution(shape), WorkKind::Forward)[0]).method, ContractionMethod::Amp);
}

}  // namespace
}  // namespace podsim
