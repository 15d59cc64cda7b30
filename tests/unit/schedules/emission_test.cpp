// What the programs contain besides passes: host streams, results, recomputation, streaming memory, sharding, weight
// update, synchronisation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/schedules/models.hpp"
#include "tests/unit/schedules/slot_time.hpp"
#include "tests/unit/schedules/steps.hpp"

namespace podsim {
namespace {

using testing::ElementsAre;

constexpr int kSamples = 0, kLabels = 1, kLoss = 2;  // streams of the model by hand

template <typename T>
std::vector<std::int64_t> micro_batches(const Program& program, int ipu, int stream, bool overlapped) {
  std::vector<std::int64_t> found;
  for (const Executed<T>& step : executed<T>(program, ipu)) {
    if (step.step.stream == stream && step.step.overlapped == overlapped) {
      found.push_back(step.base + step.step.micro_batch.offset);
    }
  }
  return found;
}

std::vector<std::int64_t> results(Execution execution) {
  const Program program = emit("pipelined", chain(2), execution);
  check(program);
  return micro_batches<StreamOut>(program, 1, kLoss, false);
}

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t last, std::int64_t step = 1) {
  std::vector<std::int64_t> list;
  for (std::int64_t number = first; number <= last; number += step) list.push_back(number);
  return list;
}

TEST(Results, FollowTheOutputMode) {
  Execution execution = training(8, 4);  // 32 micro-batches per run
  execution.runs = 2;
  execution.output_mode = OutputMode::All;
  EXPECT_EQ(results(execution), numbers(0, 63));
  execution.output_mode = OutputMode::Final;
  EXPECT_THAT(results(execution), ElementsAre(31, 63));
  execution.output_mode = OutputMode::Sum;
  EXPECT_THAT(results(execution), ElementsAre(31, 63));
  execution.output_mode = OutputMode::EveryN;
  execution.output_period = 4;
  EXPECT_EQ(results(execution), numbers(3, 63, 4));
  execution.output_period = 8;
  EXPECT_EQ(results(execution), numbers(7, 63, 8));
  execution.output_period = 16;
  EXPECT_EQ(results(execution), numbers(15, 63, 16));
}

TEST(Results, EveryNStaysShort) {
  Execution execution = training(1'000'000, 1000);
  execution.output_mode = OutputMode::EveryN;
  execution.output_period = 100;
  const Program program = emit("pipelined", chain(4), execution);
  check(program);
  EXPECT_LT(stored_steps(program), 500U);
}

TEST(Streams, SamplesAtTheFirstStageLabelsAtTheLoss) {
  const Program program = emit("pipelined", chain(4), training(10, 3));
  EXPECT_EQ(micro_batches<StreamIn>(program, 0, kSamples, false), numbers(0, 29));
  EXPECT_EQ(micro_batches<StreamIn>(program, 3, kLabels, false), numbers(0, 29));
  EXPECT_EQ(micro_batches<StreamIn>(program, 0, kSamples, true), numbers(0, -1));
}

// "Of N inner iterations N-2 exchanges overlap": the first input and the last result do not.
TEST(Overlap, LeavesOutTheFirstInputAndTheLastResultOfEachUpdate) {
  Execution execution = training(10, 2);
  execution.output_mode = OutputMode::All;
  execution.io_overlap = IoOverlap::AccumulationLoop;
  const Program program = emit("pipelined", chain(4), execution);
  check(program);
  EXPECT_THAT(micro_batches<StreamIn>(program, 0, kSamples, false), ElementsAre(0, 10));
  EXPECT_THAT(micro_batches<StreamOut>(program, 3, kLoss, false), ElementsAre(9, 19));
  EXPECT_EQ(micro_batches<StreamIn>(program, 0, kSamples, true).size(), 18U);
  EXPECT_EQ(micro_batches<StreamOut>(program, 3, kLoss, true).size(), 18U);
}

TEST(Overlap, OverDeviceIterationsLeavesOutOnlyTheFirstAndLastOfARun) {
  Execution execution = training(10, 5);
  execution.runs = 2;
  execution.output_mode = OutputMode::All;
  execution.io_overlap = IoOverlap::DeviceIterationLoop;
  const Program program = emit("pipelined", chain(4), execution, {{"order", "popart"}});
  check(program);
  EXPECT_THAT(micro_batches<StreamIn>(program, 0, kSamples, false), ElementsAre(0, 50));
  EXPECT_THAT(micro_batches<StreamOut>(program, 3, kLoss, false), ElementsAre(49, 99));
  EXPECT_EQ(micro_batches<StreamIn>(program, 3, kLabels, true).size(), 98U);
  EXPECT_EQ(micro_batches<StreamOut>(program, 3, kLoss, true).size(), 98U);
}

TEST(Recompute, RunsBeforeEachBackwardPartlyOnTheLastStage) {
  Execution execution = training(8);
  execution.recompute = true;
  const Program program = emit("pipelined", chain(3), execution);
  check(program);
  const auto recomputed = [&](int ipu, Pass pass) {
    const auto runs = executed<podsim::Run>(program, ipu);
    return std::count_if(runs.begin(), runs.end(), [&](const auto& run) { return run.step.pass == pass; });
  };
  EXPECT_EQ(recomputed(0, Pass::Recompute), 8);
  EXPECT_EQ(recomputed(1, Pass::Recompute), 8);
  EXPECT_EQ(recomputed(2, Pass::Recompute), 0);
  EXPECT_EQ(recomputed(2, Pass::RecomputePartial), 8);
  // Nor is it in the grouped order, where another micro-batch's forward pass comes between.
  const Program grouped = emit("pipelined", chain(2), execution, {{"order", "grouped"}});
  const auto runs = executed<podsim::Run>(grouped, 1);
  const auto count = [&](Pass pass) {
    return std::count_if(runs.begin(), runs.end(), [&](const auto& run) { return run.step.pass == pass; });
  };
  EXPECT_EQ(count(Pass::Recompute), 0);
  EXPECT_EQ(count(Pass::RecomputePartial), 8);
}

// [0, 0, 1, 1]: stage 2 shares the turning slot with stage 3, which ran after it, so only stage 3 is spared a part.
TEST(Recompute, IsPartialForTheLastStageOnly) {
  Execution execution = training(8);
  execution.recompute = true;
  const Program program = emit("pipelined", staged_model({0, 0, 1, 1}), execution);
  for (const auto& run : executed<podsim::Run>(program, 1)) {
    const Pass expected = run.step.stage == 3 ? Pass::RecomputePartial : Pass::Recompute;
    const bool recomputes = state_of(run.step.pass) == State::Recompute;
    EXPECT_EQ(recomputes ? run.step.pass : expected, expected);
  }
}

// Unlike passes, the order of two IPUs' weight updates takes the sum or the maximum of their times.
TEST(WeightUpdate, SerialAddsOverlappedTakesTheLongest) {
  const PassSeconds seconds = [](int stage, Pass pass) { return pass == Pass::WeightUpdate ? 1.0 + stage : 0.0; };
  Execution execution = training(8, 2);
  EXPECT_DOUBLE_EQ(slot_time(emit("pipelined", chain(4), execution), seconds), 2 * (1 + 2 + 3 + 4));
  execution.update_order = UpdateOrder::Overlapped;
  EXPECT_DOUBLE_EQ(slot_time(emit("pipelined", chain(4), execution), seconds), 2 * 4);
}

std::vector<std::string> collectives(const Execution& execution, const StagedModel& model = chain(1)) {
  const Program program = emit("pipelined", model, execution);
  check(program);
  std::vector<std::string> list;
  for (const auto& step : executed<Collective>(program, 0)) {
    const CollectiveOperation& operation = program.collectives[static_cast<std::size_t>(step.step.collective)];
    list.push_back(std::string(name_of(operation.kind)) + (operation.orthogonal ? " across " : " in ") +
                   std::to_string(operation.group_size) + " of " + std::to_string(static_cast<int>(operation.bytes)));
  }
  return list;
}

// 100 fp16 weights on the stage: 200 bytes of gradients.
TEST(Sharding, ReplacesTheAllReduce) {
  Execution execution = training(2);
  EXPECT_THAT(collectives(execution), ElementsAre());
  execution.replicas = 8;
  EXPECT_THAT(collectives(execution), ElementsAre("all-reduce in 0 of 200"));
  execution.optimizer_state.sharded = true;
  EXPECT_THAT(collectives(execution), ElementsAre("reduce-scatter in 0 of 200", "all-gather in 0 of 200"));
  execution.optimizer_state.sharding_domain = 4;
  EXPECT_THAT(collectives(execution),
              ElementsAre("reduce-scatter in 4 of 200", "all-reduce across 4 of 50", "all-gather in 4 of 200"));
}

TEST(Sharding, SmallTensorsStayWhole) {
  StagedModel model = chain(1);
  model.stages[0].weights.push_back({"bias", 10, ElementType::Float16, true, ""});
  Execution execution = training(2);
  execution.replicas = 4;
  execution.optimizer_state.sharded = true;
  execution.optimizer_state.minimum_elements = 50;
  EXPECT_THAT(collectives(execution, model),
              ElementsAre("all-reduce in 0 of 20", "reduce-scatter in 0 of 200", "all-gather in 0 of 200"));
}

TEST(Sharding, ShardedWeightsAreGatheredOnceASlotBeforeUse) {
  Execution execution = training(2);
  execution.replicas = 4;
  execution.weights.sharded = true;
  EXPECT_THAT(collectives(execution),
              ElementsAre("all-gather in 0 of 200", "all-gather in 0 of 200", "reduce-scatter in 0 of 200"));
}

TEST(Sharding, ShardedAccumulatorsAreScatteredAfterEachBackwardPass) {
  Execution execution = training(2);
  execution.replicas = 4;
  execution.accumulators.sharded = true;
  EXPECT_THAT(collectives(execution),
              ElementsAre("reduce-scatter in 0 of 200", "reduce-scatter in 0 of 200", "all-gather in 0 of 200"));
}

// Bytes of a class of variables loaded from and stored to streaming memory on one IPU.
std::pair<double, double> traffic(const Program& program, int ipu, const std::string& name) {
  check(program);
  const auto bytes = [&](int buffer) {
    const RemoteBuffer& entry = program.buffers[static_cast<std::size_t>(buffer)];
    return entry.name.rfind(name, 0) == 0 ? entry.bytes : 0.0;
  };
  double loaded = 0, stored = 0;
  for (const auto& step : executed<RemoteLoad>(program, ipu)) loaded += bytes(step.step.buffer);
  for (const auto& step : executed<RemoteStore>(program, ipu)) stored += bytes(step.step.buffer);
  return {loaded, stored};
}

// Adam with two fp32 states: 8 bytes for each of 100 weights, loaded and stored once per update.
TEST(OffChip, OptimizerStateMovesOncePerUpdate) {
  Execution execution = training(8, 3);
  execution.optimizer_state.off_chip = true;
  EXPECT_EQ(traffic(emit("pipelined", chain(4), execution), 1, "optimizer_state"), std::pair(2400.0, 2400.0));
  execution.replicas = 4;
  execution.optimizer_state.sharded = true;
  EXPECT_EQ(traffic(emit("pipelined", chain(4), execution), 1, "optimizer_state"), std::pair(600.0, 600.0));
  execution.optimizer_state.minimum_elements = 101;
  EXPECT_EQ(traffic(emit("pipelined", chain(4), execution), 1, "optimizer_state"), std::pair(0.0, 0.0));
}

TEST(OffChip, ActivationsAreStoredAfterForwardAndLoadedBeforeBackward) {
  Execution execution = training(8);
  execution.activations.off_chip = true;
  const Program program = emit("pipelined", chain(4), execution);
  EXPECT_EQ(traffic(program, 0, "activations"), std::pair(8000.0, 8000.0));
  EXPECT_EQ(traffic(program, 3, "activations"), std::pair(0.0, 0.0));  // used at once
}

TEST(OffChip, WeightsAreLoadedInEachSlotThatUsesThem) {
  Execution execution = training(8);
  execution.weights.off_chip = execution.accumulators.off_chip = true;
  const Program program = emit("pipelined", chain(4), execution);
  // Stage 0: slots 0 … 7 forward, 6 … 13 backward, that is 14 slots; and once for the update.
  EXPECT_EQ(traffic(program, 0, "weights"), std::pair(15 * 200.0, 200.0));
  EXPECT_EQ(traffic(program, 0, "accumulators"), std::pair(9 * 200.0, 9 * 200.0));
}

Execution streamed(std::int64_t micro_batches) {
  Execution execution = training(micro_batches);
  execution.weights.off_chip = execution.activations.off_chip = true;
  execution.sync_pattern = SyncPattern::ReplicaAndLadder;
  return execution;
}

// A tensor used one or two phases earlier on the same IPU stays there. Phases run 0 1 2 3 4 3 2 1 0, 0 1 2 …
TEST(Phased, LoadsWhatWasNotUsedInTheLastTwoPhases) {
  const Program program = emit("phased", chain(5), streamed(10), {{"mode", "serial"}});
  const auto loads = [&](const std::string& name) {
    int count = 0;
    for (const auto& step : executed<RemoteLoad>(program, 0)) {
      count += program.buffers[static_cast<std::size_t>(step.step.buffer)].name == name ? 1 : 0;
    }
    return count;
  };
  check(program);
  EXPECT_EQ(loads("weights/0"), 1 + 10 + 1);   // first micro-batch forward; each backward; update
  EXPECT_EQ(loads("weights/1"), 10 + 10 + 1);  // each forward (3 phases after its backward), each backward
  EXPECT_EQ(loads("weights/2"), 10 + 10 + 1);
  EXPECT_EQ(loads("weights/3"), 10 + 1);  // each forward; its backward comes two phases later
  EXPECT_EQ(loads("weights/4"), 10 + 1);  // each forward; its backward is in the same phase
  EXPECT_EQ(loads("activations/0"), 10);
  EXPECT_EQ(loads("activations/2"), 10);
  EXPECT_EQ(loads("activations/3"), 0);
}

TEST(Phased, PreloadsOnePhaseAheadWhereTheHardwareCan) {
  const auto overlapped = [](const Program& program) {
    check(program);
    std::int64_t count = 0;
    for (int ipu = 0; ipu < program.ipus_per_replica; ++ipu) {
      for (const auto& step : executed<RemoteLoad>(program, ipu)) count += step.step.overlapped ? 1 : 0;
    }
    return count;
  };
  Execution execution = streamed(10);
  EXPECT_GT(overlapped(emit("phased", chain(5), execution, {{"mode", "parallel"}})), 0);
  EXPECT_EQ(overlapped(emit("phased", chain(5), execution, {{"mode", "parallel"}, {"preload", false}})), 0);
  EXPECT_EQ(overlapped(emit("phased", chain(5), execution)), 0);  // no IO tiles
  execution.sync_pattern = SyncPattern::Full;
  EXPECT_EQ(overlapped(emit("phased", chain(5), execution, {{"mode", "parallel"}})), 0);
  execution.io_overlap = IoOverlap::AccumulationLoop;
  EXPECT_GT(overlapped(emit("phased", chain(5), execution)), 0);
}

// Between the overlapped load of a phase's weights and the phase itself lies the end of one slot.
TEST(Phased, PreloadsExactlyOnePhaseAhead) {
  const Program program = emit("phased", chain(5), streamed(1), {{"mode", "parallel"}});
  const auto& run_body = std::get<Repeat>(program.ipus[0][0]).body;
  const auto& update = std::get<Repeat>(run_body[1]).body;
  int slot = 0, loaded = -1, used = -1;
  for (const Step& step : update) {
    if (std::holds_alternative<Exchange>(step)) ++slot;
    const auto* load = std::get_if<RemoteLoad>(&step);
    const bool wanted = load != nullptr && program.buffers[static_cast<std::size_t>(load->buffer)].name == "weights/2";
    if (wanted && loaded < 0) loaded = slot;
    const auto* run = std::get_if<podsim::Run>(&step);
    if (run != nullptr && run->stage == 2 && used < 0) used = slot;
  }
  EXPECT_EQ(used, 2);
  EXPECT_EQ(loaded, 1);
}

TEST(Phased, IoOrdersMoveTheSameBytesInAnotherOrder) {
  Execution execution = training(4);
  execution.optimizer_state.off_chip = true;
  const auto order = [&](const std::string& io_order) {
    const Program program = emit("phased", chain(3), execution, {{"io_order", io_order}});
    EXPECT_EQ(traffic(program, 0, "optimizer_state"), std::pair(2400.0, 2400.0));
    std::string text;
    const std::function<void(const std::vector<Step>&)> follow = [&](const std::vector<Step>& body) {
      for (const Step& step : body) {
        if (const auto* loop = std::get_if<Repeat>(&step)) follow(loop->body);
        if (std::holds_alternative<RemoteLoad>(step)) text += std::get<RemoteLoad>(step).overlapped ? 'l' : 'L';
        if (std::holds_alternative<RemoteStore>(step)) text += std::get<RemoteStore>(step).overlapped ? 's' : 'S';
        if (std::holds_alternative<RemoteWait>(step)) text += 'w';
        const auto* run = std::get_if<podsim::Run>(&step);
        if (run != nullptr && run->pass == Pass::WeightUpdate) text += 'U';
      }
    };
    follow(program.ipus[0]);
    return text;
  };
  EXPECT_EQ(order("interleaving"), "LUSLUSLUS");
  EXPECT_EQ(order("batch"), "LLLUUUSSS");  // no IO tiles: nothing runs beside compute
  EXPECT_EQ(order("clustered"), "LLUSLUSUS");
  execution.io_overlap = IoOverlap::AccumulationLoop;
  EXPECT_EQ(order("interleaving"), "LUSLUSLUS");
  EXPECT_EQ(order("batch"), "lllwUUUsssw");
  EXPECT_EQ(order("clustered"), "LlUwslUwsUwS");
}

std::int64_t syncs_before_the_update(const Program& program, int ipu, SyncScope scope) {
  check(program);
  std::int64_t count = 0;
  for (const auto& step : executed<Sync>(program, ipu)) count += step.step.scope == scope ? 1 : 0;
  return count;
}

// Slots in which the first or the last stage reads from the host: 0 … 9 and 3 … 12.
TEST(SyncPatterns, DecideWhoWaitsForTheHost) {
  Execution execution = training(10);
  execution.update_order = UpdateOrder::Overlapped;  // one Sync after the update
  const auto syncs = [&](SyncScope scope) {
    return syncs_before_the_update(emit("pipelined", chain(4), execution), 1, scope);
  };
  EXPECT_EQ(syncs(SyncScope::Replica), 13 + 1);
  execution.replicas = 2;
  EXPECT_EQ(syncs(SyncScope::World), 13);
  execution.sync_pattern = SyncPattern::SinglePipeline;
  EXPECT_EQ(syncs(SyncScope::World), 0);
  EXPECT_EQ(syncs(SyncScope::Replica), 1);
  execution.sync_pattern = SyncPattern::ReplicaAndLadder;
  EXPECT_EQ(syncs(SyncScope::Ladder), 13);
}

TEST(Transfers, OnlyBetweenDifferentIpusAndNeverEmpty) {
  StagedModel model = staged_model({0, 0, 1, 2});
  model.edges[2].gradient_bytes = 0;
  const Program program = emit("pipelined", model, training(8));
  check(program);
  ASSERT_EQ(program.transfers.size(), 3U);  // 1 -> 2 both ways, 2 -> 3 forward only
  EXPECT_EQ(program.transfers[0].bytes, 1000);
  EXPECT_TRUE(program.transfers[2].gradient);
  EXPECT_EQ(emit("pipelined", chain(4), inference(8)).transfers.size(), 3U);
}

// "Training: drained at each weight update. Inference: one fill and one drain per run."
TEST(Loops, TrainingDrainsPerUpdateInferencePerRun) {
  Execution execution = training(8, 5);
  execution.runs = 3;
  const Program trained = emit("pipelined", chain(4), execution);
  EXPECT_EQ(executed<EndOfUpdate>(trained, 2).size(), 15U);
  EXPECT_EQ(executed<Exchange>(trained, 2).size(), 15U * (8 + 6));
  EXPECT_EQ(executed<HostCall>(trained, 2).size(), 3U);
  execution = inference(20);
  execution.runs = 3;
  const Program inferred = emit("pipelined", chain(4), execution);
  EXPECT_EQ(executed<EndOfUpdate>(inferred, 2).size(), 60U);
  EXPECT_EQ(executed<Exchange>(inferred, 2).size(), 3U * (20 + 3));
}

}  // namespace
}  // namespace podsim
