// The grid of slots x IPUs as text and SVG, and a program as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/program/analysis.hpp"

namespace podsim {
namespace {

using testing::HasSubstr;

// One IPU: F0 … F3 in a repeat, then B3 … B0 as another with a negative stride, then the update.
Program fill_and_drain() {
  Program program;
  program.schedule = "by hand";
  program.stages = program.ipus_per_replica = 1;
  program.execution.micro_batches = 4;
  program.ipu_of_stage = {0};
  program.slots_per_update = 8;
  std::vector<Step> update = {
      HostCall{},
      Repeat{4, 1, LoopKind::MicroBatches, {podsim::Run{0, Pass::Forward, {0}}, Exchange{}}},
      Repeat{4, -1, LoopKind::MicroBatches, {podsim::Run{0, Pass::Backward, {3}}, Exchange{}}},
      podsim::Run{0, Pass::WeightUpdate, {3}},
      EndOfUpdate{},
  };
  program.ipus = {{Repeat{1, 4, LoopKind::Runs, std::move(update)}}};
  return program;
}

TEST(Grid, FollowsRepeatsToTheEndOfTheUpdate) {
  const Program program = fill_and_drain();
  check(program);
  EXPECT_EQ(live_micro_batches(program), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(print_grid(grid(program, 100), 1),
            "slot   0   1   2   3   4   5   6   7   8\n"
            "IPU 0  F0  F1  F2  F3  B3  B2  B1  B0  U\n");
  EXPECT_EQ(grid(program, 3).size(), 3U);
}

TEST(Grid, JoinsWhatSharesASlotAndMarksIdleOnes) {
  const std::vector<GridCell> cells = {{0, 0, 0, Pass::Forward, 10},        {1, 1, 1, Pass::Forward, 10},
                                       {1, 1, 1, Pass::Recompute, 2},       {1, 1, 1, Pass::BackwardInput, 2},
                                       {1, 1, 1, Pass::BackwardWeights, 0}, {0, 2, 0, Pass::WeightUpdate, 0},
                                       {0, 2, 1, Pass::WeightUpdate, 0}};
  EXPECT_EQ(print_grid(cells, 2),
            "slot   0    1             2\n"
            "IPU 0  F10  .             U\n"
            "IPU 1  .    F10+R2+I2+W0  .\n");
}

TEST(Grid, DrawsEachCellOnce) {
  const std::vector<GridCell> cells = grid(fill_and_drain(), 100);
  const std::string svg = grid_svg(cells, 1);
  std::size_t titles = 0;
  for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) ++titles;
  EXPECT_EQ(titles, cells.size());
  EXPECT_THAT(svg, HasSubstr("<title>backward, stage 0, micro-batch 3</title>"));
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
}

TEST(Print, ShowsTablesAndIndentsRepeats) {
  Program program = fill_and_drain();
  program.transfers = {{0, 1, 0, 1, true, 64}};
  program.buffers = {{0, 32, "weights/0"}};
  EXPECT_EQ(print(program),
            "program by hand: 1 stages, 1 IPUs per replica, 1 replicas, 8 slots\n"
            "ipu_of_stage 0\n"
            "transfer 0: gradient stage 0 -> 1, ipu 0 -> 1, 64 B\n"
            "buffer 0: weights/0, ipu 0, 32 B\n"
            "ipu 0\n"
            "  repeat 1 stride 4 runs\n"
            "    host_call\n"
            "    repeat 4 stride 1 micro_batches\n"
            "      forward stage 0 m0\n"
            "      exchange\n"
            "    repeat 4 stride -1 micro_batches\n"
            "      backward stage 0 m3\n"
            "      exchange\n"
            "    weight_update stage 0 m3\n"
            "    end_of_update\n");
}

}  // namespace
}  // namespace podsim
