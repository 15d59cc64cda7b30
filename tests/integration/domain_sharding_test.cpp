// Stages whose images several IPUs share, end to end: simulated time against closed formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using namespace testing;

std::string resnet(int ipus) {
  return R"({"version": 1, "system": {"pod": "bow-pod4"},
    "workload": {"model": "resnet50", "image_size": 128, "micro_batch_size": 4, "optimizer": "momentum",
      "domain_sharding": )" +
         std::to_string(ipus) + R"(},
    "ipu_config": {"gradient_accumulation_steps": 6}, "schedule": "sharded", "allow_out_of_memory": true,
    "host": {"data": "synthetic", "call_overhead_seconds": 0}})";
}

double bandwidth_between(const Topology& topology, int from, int to) {
  double bytes_per_second = 1e30;
  for (const int link : topology.route(topology.ipu_vertex(from), topology.ipu_vertex(to)).links) {
    bytes_per_second = std::min(bytes_per_second, topology.links()[static_cast<std::size_t>(link)].bytes_per_second);
  }
  return bytes_per_second;
}

// Two IPUs, six micro-batches. A halo exchange costs c + b / 2 / bandwidth, an all-reduce (statistics, pooled features)
// 2 (c + b / 2 / bandwidth), and so does that of the gradients, once.
TEST(DomainSharding, TimeIsComputeHalosAndSums) {
  const auto figures = [](const Simulation& simulation) -> std::vector<double> {
    const Topology& topology = *simulation.compilation.topology;
    const StagedModel& model = simulation.compilation.model;
    const double fixed = topology.parameters().get("collective_step_fixed_seconds");
    const double bandwidth = bandwidth_between(topology, 0, 1);
    double halos = 0, sums = 0;
    for (const auto* pass : {&model.stages[0].forward_collectives, &model.stages[0].backward_collectives}) {
      for (const StageCollective& each : *pass) {
        const double step = static_cast<double>(each.count) * (fixed + each.bytes / 2 / bandwidth);
        (each.kind == CollectiveKind::HaloExchange ? halos : sums) +=
            6 * (each.kind == CollectiveKind::HaloExchange ? step : 2 * step);
      }
    }
    sums += 2 * (fixed + model.partial_gradient_bytes(0) / 2 / bandwidth);
    const Program& program = simulation.compilation.program;
    const double compute = 6 * (program.code(0, Pass::Forward).seconds + program.code(0, Pass::Backward).seconds) +
                           program.code(0, Pass::WeightUpdate).seconds;
    return {mean_seconds(simulation, State::Exchange),
            halos,
            mean_seconds(simulation, State::AllReduce),
            sums,
            simulation.trace.makespan_seconds - mean_seconds(simulation, State::RemoteMemory),
            compute + halos + sums};
  };
  const ChildResult result = of_text(resnet(2), {}, figures);
  ASSERT_EQ(result.numbers.size(), 6U) << result.error;
  for (std::size_t i = 0; i < 6; i += 2) EXPECT_NEAR(result.numbers[i] / result.numbers[i + 1], 1, 1e-9) << i;
}

std::vector<double> figures_of(const Simulation& simulation) {
  const Stage& stage = simulation.compilation.model.stages.front();
  const MemoryReport& report = simulation.compilation.memory.front();
  return {mean_seconds(simulation, State::Forward), report.total_bytes(MemoryCategory::Weights),
          report.total_bytes(MemoryCategory::Activations), stage.host_inputs.front().bytes};
}

// Weights stay, activations and images are shared, and each IPU computes less.
TEST(DomainSharding, SharesActivationsNotWeights) {
  const ChildResult one = of_text(resnet(1), {}, figures_of);
  const ChildResult four = of_text(resnet(4), {}, figures_of);
  ASSERT_EQ(one.numbers.size(), 4U) << one.error;
  ASSERT_EQ(four.numbers.size(), 4U) << four.error;
  EXPECT_LT(four.numbers[0], one.numbers[0]);
  EXPECT_DOUBLE_EQ(four.numbers[1], one.numbers[1]);
  EXPECT_NEAR(four.numbers[2] / one.numbers[2], 0.25, 0.05);
  EXPECT_DOUBLE_EQ(four.numbers[3], one.numbers[3] / 4);
}

// A pipeline of two stages of two IPUs, simulated with and without skipping repeated parts.
TEST(DomainSharding, Pipelines) {
  const Overrides pipeline = {{"schedule", "pipelined"}, {"partition.pipeline_depth", "2"}};
  const auto makespan = [](const Simulation& simulation) {
    return std::vector{simulation.trace.makespan_seconds, mean_seconds(simulation, State::Exchange)};
  };
  RunSettings stepwise;
  stepwise.fast_forward = stepwise.closed_form = false;
  const ChildResult fast = of_text(resnet(2), pipeline, makespan);
  const ChildResult slow = of_text(resnet(2), pipeline, makespan, stepwise);
  ASSERT_EQ(fast.numbers.size(), 2U) << fast.error;
  ASSERT_EQ(slow.numbers.size(), 2U) << slow.error;
  EXPECT_NEAR(fast.numbers[0] / slow.numbers[0], 1, 1e-9);
  EXPECT_NEAR(fast.numbers[1] / slow.numbers[1], 1, 1e-9);
}

}  // namespace
}  // namespace podsim
