// Programs in which several IPUs share each stage: who sends what to whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/schedules/models.hpp"
#include "tests/unit/schedules/steps.hpp"

namespace podsim {
namespace {

std::vector<std::string> streams_of(const Program& program, bool input) {
  std::vector<std::string> found;
  for (const HostStream& stream : program.streams) {
    if (stream.input == input) found.push_back(stream.name + " " + std::to_string(stream.ipu));
  }
  return found;
}

TEST(SharedStages, EveryIpuSendsToItsCounterpart) {
  const Program program = emit("pipelined", shared_by(2, chain(3)), training(8));
  EXPECT_EQ(program.ipus_per_replica, 6);
  EXPECT_EQ(program.ipu_of_stage, (std::vector<int>{0, 2, 4}));
  std::vector<std::pair<int, int>> forward;
  for (const Transfer& transfer : program.transfers) {
    EXPECT_EQ(transfer.bytes, transfer.gradient ? 2000 : 1000);  // all of it: activations are the same on both
    if (!transfer.gradient) forward.emplace_back(transfer.from_ipu, transfer.to_ipu);
  }
  EXPECT_EQ(forward, (std::vector<std::pair<int, int>>{{0, 2}, {1, 3}, {2, 4}, {3, 5}}));
}

// Host data go to every IPU of a stage; a result that all have comes from the first one, of a divided one each has a
// part.
TEST(SharedStages, HostStreams) {
  StagedModel model = shared_by(2, chain(2));
  model.stages.back().host_results.push_back({"logits", 8, 16, false, true});
  const Program program = emit("pipelined", model, inference(8));
  EXPECT_THAT(streams_of(program, true), testing::ElementsAre("samples 0", "samples 1", "labels 2", "labels 3"));
  EXPECT_THAT(streams_of(program, false), testing::ElementsAre("loss 2", "logits 2", "logits 3"));
  EXPECT_EQ(executed<StreamOut>(program, 2).size(), 16U);
  EXPECT_EQ(executed<StreamOut>(program, 3).size(), 8U);
}

// Gradients of an IPU's weights are reduced with its counterparts in the other replicas, activations inside the stage.
TEST(SharedStages, Collectives) {
  Execution execution = training(4);
  execution.replicas = 2;
  const Program program = emit("pipelined", shared_by(2, chain(1)), execution);
  std::vector<std::string> found;
  for (const CollectiveOperation& operation : program.collectives) {
    std::string text = operation.name + " of " + std::to_string(static_cast<int>(operation.bytes));
    for (const int ipu : operation.ipus) text += " " + std::to_string(ipu);
    if (operation.ipus.empty()) text += " ipu " + std::to_string(operation.ipu);
    found.push_back(text + ", " + std::to_string(operation.count));
  }
  EXPECT_THAT(found,
              testing::ElementsAre("gradients/0 of 200 ipu 0, 1", "gradients/0 of 200 ipu 1, 1",
                                   "forward/0 of 400 0 1, 3", "backward/0 of 400 0 1, 3", "backward/0 of 16 0 1, 1"));
  // Four micro-batches: one step forward, two backward; one reduction of gradients.
  EXPECT_EQ(executed<Collective>(program, 0).size(), 4U * 3 + 1);
  EXPECT_EQ(executed<Collective>(program, 1).size(), 4U * 3 + 1);
}

TEST(SharedStages, StreamingMemoryIsEachIpusOwn) {
  Execution execution = training(4);
  execution.optimizer_state.off_chip = true;
  const Program program = emit("pipelined", shared_by(4, chain(1)), execution);
  ASSERT_EQ(program.buffers.size(), 4U);
  for (int ipu = 0; ipu < 4; ++ipu) {
    EXPECT_EQ(program.buffers[static_cast<std::size_t>(ipu)].ipu, ipu);
    const auto loads = executed<RemoteLoad>(program, ipu);
    ASSERT_EQ(loads.size(), 1U);
    EXPECT_EQ(loads.front().step.buffer, ipu);
  }
}

TEST(SharedStages, OnlyTheIpusOfAStageRunIt) {
  Program program = emit("pipelined", shared_by(2, chain(2)), training(4));
  EXPECT_TRUE(program.runs(3, 1));
  EXPECT_FALSE(program.runs(1, 1));
  EXPECT_NO_THROW(check(program));
  std::swap(program.ipus[1], program.ipus[2]);
  EXPECT_THROW(check(program), InternalError);
  program = emit("pipelined", shared_by(2, chain(1)), training(4));
  program.collectives.front().ipus = {0};
  EXPECT_THROW(check(program), InternalError);
  program = emit("pipelined", shared_by(2, chain(1)), training(4));
  program.ipus[1].clear();
  EXPECT_THROW(check(program), InternalError);
}

// Domain sharding: gradients that are parts are summed inside the stage once for an update, before the replicas' sums.
TEST(SharedStages, PartialGradientsAreSummedFirst) {
  Execution execution = training(4);
  execution.replicas = 2;
  StagedModel model = shared_by(2, chain(1));
  model.stages[0].weights.front().partial_gradient = true;
  model.stages[0].weights.push_back({"whole", 7, ElementType::Float16, true, ""});
  const Program program = emit("pipelined", model, execution);
  std::vector<std::string> order;
  for (const auto& collective : executed<Collective>(program, 1)) {
    const auto& operation = program.collectives[static_cast<std::size_t>(collective.step.collective)];
    order.push_back(operation.name + " of " + std::to_string(static_cast<int>(operation.bytes)));
  }
  ASSERT_EQ(order.size(), 4U * 3 + 2);
  EXPECT_EQ(order[order.size() - 2], "partial_gradients/0 of 200");
  EXPECT_EQ(order.back(), "gradients/0 of 214");
}

// … of sharded accumulators each replica has its part.
TEST(SharedStages, PartialGradientsOfShardedAccumulators) {
  Execution execution = training(4);
  execution.replicas = 2;
  execution.accumulators.sharded = true;
  StagedModel model = shared_by(2, chain(1));
  model.stages[0].weights.front().partial_gradient = true;
  const Program program = emit("pipelined", model, execution);
  const auto partial = std::find_if(program.collectives.begin(), program.collectives.end(),
                                    [](const auto& operation) { return operation.name == "partial_gradients/0"; });
  ASSERT_NE(partial, program.collectives.end());
  EXPECT_EQ(partial->bytes, 100);
}

}  // namespace
}  // namespace podsim
