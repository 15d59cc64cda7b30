// Vertex cycles against the formulas of PopLibs worked out by hand.
#include "simulator/machine/tile_costs.hpp"

#include <gtest/gtest.h>

#include "tests/unit/machine/test_chip.hpp"

namespace podsim {
namespace {

class TileCostsTest : public testing::Test {
 protected:
  Chip chip_ = shipped_chip("bow");
  TileCosts costs_{chip_};
};

TEST_F(TileCostsTest, AmpHalfPartials) {
  // 60 rows: 10 for each worker, 37 - 7 + 4 (10 - 3) = 58 cycles, times six. Weights of a pass: 16 units x 32 B / 8.
  // One pass: 7 + 64 + 348 = 419. Call 50 + state 6 x 7; group 12, inner 15, columns 19.
  EXPECT_DOUBLE_EQ(costs_.amp_cycles({1, 60, 1, 1, 0}, ElementType::Float16, ElementType::Float16),
                   50 + 42 + 12 + 15 + 19 + 419);
  // Three inner and two column blocks: inner state is loaded again twice more.
  EXPECT_DOUBLE_EQ(costs_.amp_cycles({1, 60, 3, 2, 0}, ElementType::Float16, ElementType::Float16),
                   50 + 6 * (7 + 3 * 2) + 12 + 3 * (15 + 2 * (19 + 419)));
}

TEST_F(TileCostsTest, AmpSinglePartialsTakeTwoPasses) {
  // Eight conv units at a time: weights 8 x 32 / 8 = 32 cycles, rows as above, twice.
  EXPECT_DOUBLE_EQ(costs_.amp_cycles({1, 60, 1, 1, 0}, ElementType::Float16, ElementType::Float32),
                   50 + 42 + 12 + 15 + 19 + 2 * (7 + 32 + 348));
}

TEST_F(TileCostsTest, AmpSingle) {
  // 46 + 8 (10 - 3) = 102 cycles of each worker; 16 units x 32 B of weights.
  EXPECT_DOUBLE_EQ(costs_.amp_cycles({1, 60, 1, 1, 0}, ElementType::Float32, ElementType::Float32),
                   50 + 12 + 15 + 19 + 7 + 64 + 612);
}

TEST_F(TileCostsTest, AmpWithKernelStartsEachLineAnew) {
  // 60 rows in lines of 5: each worker 10 positions in 2 lines: 18 + 2 x 28 + 4 (10 - 6) = 90.
  EXPECT_DOUBLE_EQ(costs_.amp_cycles({1, 60, 1, 1, 5}, ElementType::Float16, ElementType::Float16),
                   50 + 12 + 15 + 19 + 18 + 64 + 540);
}

TEST_F(TileCostsTest, AmpApproachesItsPeak) {
  // 6000 rows, 64 MACs per cycle: at most 10% above the bound of the unit.
  const double cycles = costs_.amp_cycles({1, 6000, 8, 8, 0}, ElementType::Float16, ElementType::Float16);
  const double bound = 6000.0 * 128 * 128 / 64;
  EXPECT_GT(cycles, bound);
  EXPECT_LT(cycles, 1.1 * bound);
}

TEST_F(TileCostsTest, VectorLoop) {
  // 100 halves: 25 vectors, 5 for the busiest worker, two cycles each: 11 + 6 (20 + 10).
  EXPECT_DOUBLE_EQ(costs_.vector_cycles(100, ElementType::Float16, 2), 191);
  EXPECT_DOUBLE_EQ(costs_.vector_cycles(0, ElementType::Float16, 2), 0);
  EXPECT_GT(costs_.vector_cycles(100, ElementType::Float32, 2), costs_.vector_cycles(100, ElementType::Float16, 2));
}

TEST_F(TileCostsTest, RearrangementRegression) {  // ConvModel.cpp: 587 + k x bytes
  EXPECT_DOUBLE_EQ(costs_.rearrange_cycles(1000, 8), 587 + 440.4);
  EXPECT_DOUBLE_EQ(costs_.rearrange_cycles(1000, 16), 587 + 440.4);
  EXPECT_DOUBLE_EQ(costs_.rearrange_cycles(1000, 4), 587 + 3125);
  EXPECT_DOUBLE_EQ(costs_.rearrange_cycles(1000, 2), 587 + 5148.4);
  EXPECT_DOUBLE_EQ(costs_.rearrange_cycles(0, 2), 0);
  EXPECT_DOUBLE_EQ(costs_.copy_cycles(800), 288 + 100);
}

TEST_F(TileCostsTest, MultiSlice) {
  // 60 lookups, all here, rows of 8 halves: workers 10 each, 19 + 4 x 2 cycles: 6 (30 + 10 x 27).
  EXPECT_DOUBLE_EQ(costs_.slice_cycles(60, 60, 8, ElementType::Float16), 1800);
  // Half of them elsewhere: 8 cycles each.
  EXPECT_DOUBLE_EQ(costs_.slice_cycles(60, 30, 8, ElementType::Float16), 6 * (30 + 5 * 27 + 5 * 8));
  EXPECT_DOUBLE_EQ(costs_.update_add_cycles(60, 60, 8, ElementType::Float16), 6 * (33 + 10 * (12 + 3 * 3)));
}

TEST_F(TileCostsTest, ExchangeIsBoundByItsBusierDirection) {
  const double rate = 4 * chip_.parameters.get("exchange_efficiency");
  EXPECT_DOUBLE_EQ(costs_.exchange_cycles(4000, 1000), chip_.exchange_fixed_cycles + 4000 / rate);
  EXPECT_DOUBLE_EQ(costs_.exchange_cycles(1000, 4000), chip_.exchange_fixed_cycles + 4000 / rate);
  EXPECT_DOUBLE_EQ(costs_.exchange_cycles(0, 0), 0);
}

}  // namespace
}  // namespace podsim
