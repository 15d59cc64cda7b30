// Times of the emitted programs against closed formulas, and slot and stash counts against the documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "tests/unit/schedules/models.hpp"
#include "tests/unit/schedules/slot_time.hpp"
#include "tests/unit/schedules/steps.hpp"

namespace podsim {
namespace {

constexpr double kForward = 3, kBackward = 7;  // seconds; any two numbers without a common factor

Program pipelined(const std::string& order, int stages, std::int64_t micro_batches) {
  return emit("pipelined", chain(stages), training(micro_batches), {{"order", order}});
}

// Number of stages and of micro-batches as a multiple of 2N.
class Uniform : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  int stages_ = std::get<0>(GetParam());
  std::int64_t micro_batches_ = 2 * stages_ * std::get<1>(GetParam());
  double n_ = stages_, m_ = static_cast<double>(micro_batches_);
};

TEST_P(Uniform, PopartTakesMPlusNMinus1TimesBothPasses) {
  const Program program = pipelined("popart", stages_, micro_batches_);
  EXPECT_EQ(program.slots_per_update, micro_batches_ + 2 * stages_ - 2);
  EXPECT_DOUBLE_EQ(slot_time(program, uniform(kForward, kBackward)), (m_ + n_ - 1) * (kForward + kBackward));
}

// Slots 0 … N-1 have forward passes only, M-1 further ones both, N the rest of the backward passes.
TEST_P(Uniform, GroupedTakesTheSameTimeInOneSlotMore) {
  const Program program = pipelined("grouped", stages_, micro_batches_);
  EXPECT_EQ(program.slots_per_update, micro_batches_ + 2 * stages_ - 1);
  EXPECT_DOUBLE_EQ(slot_time(program, uniform(kForward, kBackward)), (m_ + n_ - 1) * (kForward + kBackward));
}

TEST_P(Uniform, InterleavedTakesABackwardPassInAllButNHalfSlots) {
  const Program program = pipelined("interleaved", stages_, micro_batches_);
  EXPECT_EQ(program.slots_per_update, 2 * micro_batches_ + 2 * stages_ - 2);
  // A single stage has no other one that runs backward meanwhile.
  const double expected = stages_ == 1 ? m_ * (kForward + kBackward) : n_ * kForward + (2 * m_ + n_ - 2) * kBackward;
  EXPECT_DOUBLE_EQ(slot_time(program, uniform(kForward, kBackward)), expected);
}

TEST_P(Uniform, SequentialAndShardedRunOneStageAtATime) {
  const Program sequential = pipelined("sequential", stages_, micro_batches_);
  EXPECT_EQ(sequential.slots_per_update, 2 * stages_ * micro_batches_);
  const Program sharded = emit("sharded", chain(stages_), training(micro_batches_));
  EXPECT_EQ(sharded.slots_per_update, (2 * stages_ - 1) * micro_batches_);
  for (const Program* program : {&sequential, &sharded}) {
    EXPECT_DOUBLE_EQ(slot_time(*program, uniform(kForward, kBackward)), m_ * n_ * (kForward + kBackward));
  }
}

TEST_P(Uniform, PhasedRuns2KMinus1Phases) {
  for (const char* mode : {"serial", "parallel"}) {
    const Program program = emit("phased", chain(stages_), training(micro_batches_), {{"mode", mode}});
    EXPECT_EQ(program.ipus_per_replica, std::string(mode) == "serial" ? 1 : 2);
    EXPECT_EQ(program.slots_per_update, (2 * stages_ - 1) * micro_batches_);
    EXPECT_DOUBLE_EQ(slot_time(program, uniform(kForward, kBackward)), m_ * n_ * (kForward + kBackward));
  }
}

// With f = i = w = 1: 3 M + N - 1; the PopART order takes 3 (M + N - 1).
TEST_P(Uniform, ZeroBubbleKeepsOneThirdOfTheRamps) {
  const Program program = emit("zero_bubble", chain(stages_), training(micro_batches_));
  EXPECT_EQ(program.slots_per_update, micro_batches_ + 3 * (stages_ - 1));
  EXPECT_DOUBLE_EQ(slot_time(program, uniform(1, 2)), 3 * m_ + n_ - 1);
  EXPECT_DOUBLE_EQ(slot_time(pipelined("popart", stages_, micro_batches_), uniform(1, 2)), 3 * (m_ + n_ - 1));
}

TEST_P(Uniform, InferenceFillsAndDrainsOncePerRun) {
  for (const char* schedule : {"pipelined", "zero_bubble"}) {
    const Program program = emit(schedule, chain(stages_), inference(micro_batches_));
    EXPECT_EQ(program.slots_per_update, micro_batches_ + stages_ - 1);
    EXPECT_DOUBLE_EQ(slot_time(program, uniform(kForward, kBackward)), (m_ + n_ - 1) * kForward);
  }
}

// Forward of micro-batch m on stage s in slot m + s, its backward in 2(N-1) - s + m or 2N-1 - s + m.
TEST_P(Uniform, LiveMicroBatchesFollowFromTheOffsets) {
  const auto popart = live_micro_batches(pipelined("popart", stages_, micro_batches_));
  const auto grouped = live_micro_batches(pipelined("grouped", stages_, micro_batches_));
  const auto interleaved = live_micro_batches(pipelined("interleaved", stages_, micro_batches_));
  const auto sharded = live_micro_batches(emit("sharded", chain(stages_), training(micro_batches_)));
  for (int s = 0; s < stages_; ++s) {
    const auto stage = static_cast<std::size_t>(s);
    EXPECT_EQ(popart[stage], std::min<std::int64_t>(2 * (stages_ - 1 - s) + 1, micro_batches_));
    EXPECT_EQ(grouped[stage], 2 * (stages_ - s));
    EXPECT_EQ(interleaved[stage], stages_ - s);
    EXPECT_EQ(sharded[stage], 1);
  }
}

// "2N+1 activations stored in FIFOs on the first IPU, 2(N-1)+1 on the second IPU, and so on"; "interleaved scheduling
// requires storing N+1" (Memory and Performance Optimisation on the IPU, 4.2).
TEST_P(Uniform, StashSizesAreTheDocuments) {
  const auto grouped = stash_micro_batches(pipelined("grouped", stages_, micro_batches_));
  for (int s = 0; s < stages_; ++s) EXPECT_EQ(grouped[static_cast<std::size_t>(s)], 2 * (stages_ - s) + 1);
  EXPECT_EQ(stash_micro_batches(pipelined("interleaved", stages_, micro_batches_)).front(), stages_ + 1);
  // PopART restores in place: 2(N-1-s)+1 entries.
  EXPECT_EQ(stash_micro_batches(pipelined("popart", stages_, micro_batches_)).front(), 2 * (stages_ - 1) + 1);
}

INSTANTIATE_TEST_SUITE_P(Stages, Uniform, testing::Combine(testing::Range(1, 9), testing::Values(1, 2, 5)));

// "After nine steps, the pipeline reaches a point where all the IPUs are used at the same time … full utilisation
// after 2N+1 steps" (PopTorch pipelining tutorial, 4 IPUs): from slot 2N on, all IPUs run both passes.
TEST(Pipelined, IsFullAfter2NPlus1Steps) {
  for (const char* order : {"popart", "grouped"}) {
    const std::vector<GridCell> cells = grid(pipelined(order, 4, 16), 9);
    EXPECT_EQ(std::count_if(cells.begin(), cells.end(), [](const GridCell& cell) { return cell.slot == 8; }), 2 * 4);
  }
}

// Any slot lasts as long as the IPU with the most to do in it; `together`: slots between a micro-batch's forward
// pass on the last stage and its backward pass.
double expected_pipeline(const std::vector<double>& forward, const std::vector<double>& backward,
                         std::int64_t micro_batches, std::int64_t turn) {
  const auto stages = static_cast<std::int64_t>(forward.size());
  const std::int64_t last = 2 * (stages - 1) + turn;
  double total = 0;
  for (std::int64_t slot = 0; slot < micro_batches + last; ++slot) {
    double longest = 0;
    for (std::int64_t s = 0; s < stages; ++s) {
      const std::int64_t f = slot - s, b = slot - (last - s);
      longest = std::max(longest, (f >= 0 && f < micro_batches ? forward[static_cast<std::size_t>(s)] : 0) +
                                      (b >= 0 && b < micro_batches ? backward[static_cast<std::size_t>(s)] : 0));
    }
    total += longest;
  }
  return total;
}

class Unequal : public testing::Test {
 protected:
  const std::vector<double> forward_ = {3, 1, 4, 1.5}, backward_ = {5, 9, 2, 6};
  const PassSeconds seconds_ = [this](int stage, Pass pass) {
    const auto index = static_cast<std::size_t>(stage);
    return pass == Pass::Forward ? forward_[index] : pass == Pass::Backward ? backward_[index] : 0.0;
  };
};

TEST_F(Unequal, TheLongestStageDecidesEachSlot) {
  for (const std::int64_t micro_batches : {8, 16, 40}) {
    EXPECT_DOUBLE_EQ(slot_time(pipelined("popart", 4, micro_batches), seconds_),
                     expected_pipeline(forward_, backward_, micro_batches, 0));
    EXPECT_DOUBLE_EQ(slot_time(pipelined("grouped", 4, micro_batches), seconds_),
                     expected_pipeline(forward_, backward_, micro_batches, 1));
  }
}

// In steady state a micro-batch more costs the longest stage's two passes: 1 + 9.
TEST_F(Unequal, AMicroBatchMoreCostsTheLongestStage) {
  EXPECT_DOUBLE_EQ(slot_time(pipelined("popart", 4, 41), seconds_) - slot_time(pipelined("popart", 4, 40), seconds_),
                   10);
}

// Interleaved: even and odd stages take turns, so a micro-batch more costs one half slot of each kind:
// max(forward of even, backward of odd) + max(forward of odd, backward of even) = max(4, 9) + max(1.5, 5).
TEST_F(Unequal, InterleavedCostsOneHalfSlotOfEachKind) {
  const double more =
      slot_time(pipelined("interleaved", 4, 44), seconds_) - slot_time(pipelined("interleaved", 4, 40), seconds_);
  EXPECT_DOUBLE_EQ(more, 4 * (9 + 5));
}

TEST_F(Unequal, ShardedAddsAllStages) {
  EXPECT_DOUBLE_EQ(slot_time(emit("sharded", chain(4), training(5)), seconds_), 5 * (9.5 + 22));
}

// Stages 0 and 4 on IPU 0: their times add. Steady state: IPU 0 runs both passes of two stages.
TEST(SeveralStagesPerIpu, TimesAddWithinASlot) {
  const StagedModel model = staged_model({0, 1, 2, 3, 0});
  const auto time = [&](const char* order, std::int64_t micro_batches) {
    return slot_time(emit("pipelined", model, training(micro_batches), {{"order", order}}),
                     uniform(kForward, kBackward));
  };
  EXPECT_DOUBLE_EQ(time("popart", 31) - time("popart", 30), 2 * (kForward + kBackward));
  EXPECT_DOUBLE_EQ(time("grouped", 40) - time("grouped", 30), 10 * 2 * (kForward + kBackward));
  EXPECT_DOUBLE_EQ(slot_time(emit("sharded", model, training(30)), uniform(kForward, kBackward)),
                   30 * 5 * (kForward + kBackward));
  EXPECT_EQ(emit("pipelined", model, training(30)).slots_per_update, 30 + 2 * 5 - 2);
}

// PopART executes consecutive stages on the same IPU together; TensorFlow does not.
TEST(SeveralStagesPerIpu, ConsecutiveOnesShareAPipelinePositionInPopart) {
  const StagedModel model = staged_model({0, 0, 1, 1});
  EXPECT_EQ(emit("pipelined", model, training(8)).slots_per_update, 8 + 2 * 2 - 2);
  EXPECT_EQ(emit("pipelined", model, training(8), {{"order", "grouped"}}).slots_per_update, 8 + 2 * 4 - 1);
  EXPECT_EQ(emit("sharded", model, training(8)).slots_per_update, 8 * 3);
  EXPECT_DOUBLE_EQ(slot_time(emit("pipelined", model, training(8)), uniform(kForward, kBackward)),
                   (8 + 2 - 1) * 2 * (kForward + kBackward));
}

TEST(Size, DoesNotGrowWithTheMicroBatches) {
  for (const Schedule* schedule : schedules()) {
    const std::size_t few = stored_steps(emit(schedule->name(), chain(4), training(64, 4)));
    const Program many = emit(schedule->name(), chain(4), training(64'000'000'000, 1'000'000));
    EXPECT_EQ(stored_steps(many), few) << schedule->name();
    check(many);
  }
}

}  // namespace
}  // namespace podsim
