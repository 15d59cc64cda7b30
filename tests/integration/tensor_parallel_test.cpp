// Stages that several IPUs share, end to end: simulated time against closed formulas, and memory that fits only so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/integration/simulated.hpp"
#include "topology/collectives.hpp"

namespace podsim {
namespace {

using namespace testing;
using ::testing::HasSubstr;

std::string mlp(int ipus, const std::string& schedule, int replicas = 1, const std::string& workload = "") {
  return R"({"version": 1, "system": {"pod": "bow-pod16"},
    "workload": {"model": "mlp", "layers": [1024, 4096, 1024, 4096, 1024], "micro_batch_size": 64, "optimizer": "sgd",
      "tensor_parallel": )" +
         std::to_string(ipus) + workload + R"(},
    "ipu_config": {"gradient_accumulation_steps": 8, "replication_factor": )" +
         std::to_string(replicas) + R"(}, "schedule": )" + schedule +
         R"(, "host": {"data": "synthetic", "call_overhead_seconds": 0}})";
}

double code_seconds(const Simulation& simulation, Pass pass) {
  return simulation.compilation.program.code(0, pass).seconds;
}

// Two pairs of divided matmuls, eight micro-batches: 2 all-reduces forward, 1 backward (samples have no gradient). Two
// ranks take 2 steps, each a fixed cost and half of the bytes over the rung: t = 2 (c + b / 2 / bandwidth).
TEST(TensorParallel, OneStageTakesItsShareOfTheComputeAndItsAllReduces) {
  const auto figures = [](const Simulation& simulation) -> std::vector<double> {
    const Topology& topology = *simulation.compilation.topology;
    const double bytes = 64 * 1024 * 2;
    const Route& route = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
    double bandwidth = 1e30;
    for (const int link : route.links)
      bandwidth = std::min(bandwidth, topology.links()[static_cast<std::size_t>(link)].bytes_per_second);
    const double all_reduce = 2 * (topology.parameters().get("collective_step_fixed_seconds") + bytes / 2 / bandwidth);
    const double compute = 8 * (code_seconds(simulation, Pass::Forward) + code_seconds(simulation, Pass::Backward)) +
                           code_seconds(simulation, Pass::WeightUpdate);
    return {simulation.trace.makespan_seconds, compute + 8 * 3 * all_reduce, mean_seconds(simulation, State::AllReduce),
            8 * 3 * all_reduce};
  };
  const ChildResult result = of_text(mlp(2, R"("sharded")"), {}, figures);
  ASSERT_EQ(result.numbers.size(), 4U) << result.error;
  EXPECT_NEAR(result.numbers[0] / result.numbers[1], 1, 1e-9);
  EXPECT_NEAR(result.numbers[2] / result.numbers[3], 1, 1e-9);
}

// The simulated time of the all-reduces of any number of IPUs is that of so many plans of the collective planner, each
// of which pays its fixed costs, whatever the schedule; simulated step by step or not.
TEST(TensorParallel, AllReducesAreThoseOfThePlanner) {
  for (const int ipus : {2, 4, 8}) {
    for (const char* schedule : {R"("sharded")", R"({"pipelined": {"order": "grouped"}})", R"("zero_bubble")"}) {
      const auto figures = [ipus](const Simulation& simulation) -> std::vector<double> {
        const Topology& topology = *simulation.compilation.topology;
        CollectiveRequest request;
        for (int ipu = 0; ipu < ipus; ++ipu) request.ranks.push_back(ipu);
        request.bytes = 64 * 1024 * 2;
        const CollectivePlan plan = plan_collective(topology, request);
        const double once =
            uncontended_seconds(topology, {&plan}, topology.parameters().get("collective_step_fixed_seconds"));
        return {mean_seconds(simulation, State::AllReduce), 8 * 3 * once};
      };
      RunSettings stepwise;
      stepwise.fast_forward = false;
      for (const RunSettings& settings : {RunSettings{}, stepwise}) {
        const ChildResult result =
            of_text(mlp(ipus, schedule), {{"execution.recomputation", "none"}}, figures, settings);
        ASSERT_EQ(result.numbers.size(), 2U) << result.error;
        EXPECT_NEAR(result.numbers[0] / result.numbers[1], 1, 1e-9) << ipus << schedule;
      }
    }
  }
}

// Bytes on the links: k IPUs each send 2 (k - 1) / k of the tensor in an all-reduce; nothing else is on a rung but the
// gradients, which two replicas reduce between counterparts.
TEST(TensorParallel, GradientsAreReducedBetweenCounterparts) {
  const auto figures = [](const Simulation& simulation) -> std::vector<double> {
    double ranks = 0;
    for (const CollectiveOperation& operation : simulation.compilation.program.collectives) {
      if (operation.ipus.empty()) ranks += operation.bytes;
    }
    return {link_bytes(simulation, "rung:ipu0>ipu1"), link_bytes(simulation, "rail:ipu0>ipu2"), ranks,
            simulation.compilation.model.gradient_bytes(0)};
  };
  const ChildResult result = of_text(mlp(2, R"("sharded")", 2), {}, figures);
  ASSERT_EQ(result.numbers.size(), 4U) << result.error;
  const double within = 8 * 3 * 64 * 1024 * 2.0;  // 2 (2 - 1) / 2 of the tensor each way
  EXPECT_DOUBLE_EQ(result.numbers[0], within);
  EXPECT_DOUBLE_EQ(result.numbers[1], result.numbers[3]);  // IPU 0 and 2: the whole of its weights' gradients
  EXPECT_DOUBLE_EQ(result.numbers[2], 2 * result.numbers[3]);
}

std::vector<double> seconds_and_memory(const Simulation& simulation) {
  const MemoryReport& report = simulation.compilation.memory.front();
  return {mean_seconds(simulation, State::Forward), report.total_bytes(MemoryCategory::Weights),
          report.total_bytes(MemoryCategory::GradientAccumulators), report.total_bytes(MemoryCategory::OptimizerState),
          simulation.trace.amp_flops};
}

// Weights, accumulators and optimiser state are divided but for what each IPU holds whole: biases of 1024 after the
// matmuls divided by rows. The same operations are done in all.
TEST(TensorParallel, DividesMemoryAndKeepsTheWork) {
  const Overrides adam = {{"workload.optimizer", "adam"}, {"optimizer_state_offchip", "false"}};
  const ChildResult one = of_text(mlp(1, R"("sharded")"), adam, seconds_and_memory);
  const ChildResult four = of_text(mlp(4, R"("sharded")"), adam, seconds_and_memory);
  ASSERT_EQ(one.numbers.size(), 5U) << one.error;
  ASSERT_EQ(four.numbers.size(), 5U) << four.error;
  const double whole = 2 * 1024, weights = 4.0 * 1024 * 4096 + 2 * 4096 + whole;
  EXPECT_NEAR(one.numbers[1], weights * 2, 8 * 16);  // tensors end at 8 bytes on their last tile
  EXPECT_NEAR(four.numbers[1], ((weights - whole) / 4 + whole) * 2, 8 * 16);
  EXPECT_NEAR(four.numbers[2], four.numbers[1], 8 * 16);
  EXPECT_NEAR(four.numbers[3], four.numbers[1] / 2 * 8, 8 * 16);  // two fp32 states
  EXPECT_DOUBLE_EQ(four.numbers[4], one.numbers[4]);
  EXPECT_LT(four.numbers[0], one.numbers[0]);
}

// GPT-2 medium with 1,024 tokens on one IPU for each stage runs out of memory where four IPUs share it.
TEST(TensorParallel, FitsWhatDidNotFit) {
  const auto text = [](int ipus) {
    return R"({"version": 1, "system": {"pod": "bow-pod16"},
      "workload": {"model": "gpt2", "variant": "medium", "sequence_length": 1024, "optimizer": "adamw",
        "tensor_parallel": )" +
           std::to_string(ipus) + R"(},
      "ipu_config": {"gradient_accumulation_steps": 8, "layers_per_ipu": [6, 6, 6, 6], "matmul_proportion": 0.15,
        "recompute_checkpoint_every_layer": true, "optimizer_state_offchip": true},
      "host": {"data": "synthetic"}})";
  };
  const ChildResult alone = of_text(text(1), {}, [](const Simulation& s) { return std::vector{throughput(s)}; });
  EXPECT_TRUE(alone.numbers.empty());
  EXPECT_THAT(alone.error, HasSubstr("out of memory on IPU 0"));
  EXPECT_THAT(alone.error, HasSubstr("tensor_parallel"));
  const ChildResult shared = of_text(text(4), {}, [](const Simulation& s) { return std::vector{throughput(s)}; });
  ASSERT_EQ(shared.numbers.size(), 1U) << shared.error;
  EXPECT_GT(shared.numbers[0], 0);
}

TEST(TensorParallel, NeedsIpusForEveryShare) {
  const ChildResult result =
      of_text(mlp(8, R"("sharded")", 4), {}, [](const Simulation& s) { return std::vector{throughput(s)}; });
  EXPECT_THAT(result.error, HasSubstr("4 replicas of 8 IPUs need 32 IPUs; bow-pod16 has 16"));
}

}  // namespace
}  // namespace podsim
