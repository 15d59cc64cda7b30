// Collectives against the ring formula and against their own flows.
#include <gtest/gtest.h>

#include "tests/unit/engine/programs.hpp"
#include "topology/collectives.hpp"

namespace podsim {
namespace {

using testing::checked_run;
using testing::in_child;
using testing::numbers_in_child;
using testing::pipeline;
using testing::PipelineShape;
using testing::pod;
using testing::seconds_in;

// Every IPU of the pod is a replica of one stage; only the all-reduce counts.
Program all_reduce(int ranks, double bytes, const std::string& algorithm) {
  Program program = pipeline({.stages = 1, .micro_batches = 1, .replicas = ranks, .weight_bytes = bytes});
  program.collectives[0].algorithm = algorithm;
  program.ipus[0] = {Collective{0}, EndOfUpdate{}};
  return program;
}

TEST(Collectives, ARingTakesTwiceRanksMinusOneSteps) {
  for (const bool closed_form : {true, false}) {
    const auto numbers = numbers_in_child([closed_form]() -> std::vector<double> {
      const Topology topology = pod("pod4");
      const double bytes = 1e8;
      const Trace trace = checked_run(topology, all_reduce(2, bytes, "clockwise_ring"), {.closed_form = closed_form});
      const Route& route = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
      const Link& link = topology.links()[static_cast<std::size_t>(route.links.front())];
      const double step =
          topology.parameters().get("collective_step_fixed_seconds") + bytes / 2 / link.bytes_per_second;
      return {trace.makespan_seconds, 2 * (2 - 1) * step, seconds_in(trace, 1, State::AllReduce)};
    });
    ASSERT_EQ(numbers.size(), 3U);
    EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-9);
    EXPECT_NEAR(numbers[2] / numbers[1], 1, 1e-9);
  }
}

TEST(Collectives, ComputedOnesEqualTheTopologysFormulaAndTheirFlows) {
  for (const std::string& algorithm : collective_algorithms()) {
    for (const int ranks : {4, 16, 64}) {
      const auto run_with = [&](bool closed_form) {
        return in_child([&, closed_form]() -> std::vector<double> {
          const Topology topology = pod("pod64");
          const Trace trace = checked_run(topology, all_reduce(ranks, 6e6, algorithm), {.closed_form = closed_form});
          CollectiveRequest request;
          for (int rank = 0; rank < ranks; ++rank) request.ranks.push_back(rank);
          request.bytes = 6e6;
          request.algorithm = algorithm;
          const CollectivePlan plan = plan_collective(topology, request);
          return {trace.makespan_seconds,
                  uncontended_seconds(topology, {&plan}, topology.parameters().get("collective_step_fixed_seconds"))};
        });
      };
      const auto computed = run_with(true), simulated = run_with(false);
      ASSERT_EQ(computed.error, simulated.error) << algorithm;
      if (!computed.error.empty()) continue;  // not for all-reduce, or for this number of ranks
      EXPECT_NEAR(computed.numbers[0] / simulated.numbers[0], 1, 1e-9) << algorithm << " on " << ranks;
      EXPECT_NEAR(computed.numbers[0] / computed.numbers[1], 1, 1e-9) << algorithm << " on " << ranks;
    }
  }
}

// Pipelines whose stages all-reduce side by side on shared rails.
double makespan(const PipelineShape& shape, const std::vector<double>& weight_bytes, bool closed_form) {
  const auto numbers = numbers_in_child([&]() -> std::vector<double> {
    Program program = pipeline(shape);
    for (std::size_t i = 0; i < weight_bytes.size(); ++i) program.collectives[i].bytes = weight_bytes[i];
    return {checked_run(pod("pod64"), program, {.fast_forward = false, .closed_form = closed_form}).makespan_seconds};
  });
  return numbers.empty() ? 0.0 : numbers[0];
}

TEST(Collectives, SideBySideComputedOnesEqualTheirFlows) {
  for (const int stages : {2, 4, 8}) {
    PipelineShape shape{.stages = stages, .micro_batches = 2, .replicas = 64 / stages, .bytes = 1e6};
    shape.weight_bytes = 3e7;
    EXPECT_NEAR(makespan(shape, {}, true) / makespan(shape, {}, false), 1, 1e-9);
  }
}

TEST(Collectives, UnequalOnesShareTheirLinks) {
  const PipelineShape shape{.stages = 4, .micro_batches = 2, .replicas = 8};
  const std::vector<double> bytes{3e7, 1e7, 2e7, 5e7};
  const double together = makespan(shape, bytes, true);
  EXPECT_NEAR(together / makespan(shape, bytes, false), 1, 1e-9);
  EXPECT_GT(together, makespan(shape, {3e7, 0, 0, 0}, true));
}

TEST(Collectives, WaitingForAnotherReplicaIsSync) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    Program program = pipeline({.stages = 2, .micro_batches = 1, .replicas = 2, .weight_bytes = 8});
    // Stage 1 of both replicas joins late; its own collective is between equal stages only.
    program.ipus[0] = {Collective{0}, Sync{SyncScope::World}, EndOfUpdate{}};
    program.ipus[1] = {podsim::Run{1, Pass::WeightUpdate, {}}, Collective{1}, Sync{SyncScope::World}, EndOfUpdate{}};
    program.codes[5].seconds = 5e-3;
    const Trace trace = checked_run(pod("pod4"), program, {});
    return {trace.makespan_seconds, seconds_in(trace, 0, State::AllReduce), seconds_in(trace, 0, State::RampUp),
            seconds_in(trace, 1, State::WeightUpdate)};
  });
  ASSERT_EQ(numbers.size(), 4U);
  EXPECT_NEAR(numbers[0], 5e-3 + numbers[1], 1e-9);
  EXPECT_NEAR(numbers[2], 5e-3, 1e-9);  // the replica itself was late, before any pass
  EXPECT_EQ(numbers[3], 5e-3);
}

TEST(Collectives, GroupsOfReplicasRunOnTheirOwn) {
  for (const bool orthogonal : {false, true}) {
    const auto numbers = numbers_in_child([orthogonal]() -> std::vector<double> {
      Program program = all_reduce(8, 1e8, "clockwise_ring");
      program.collectives[0].group_size = 4;
      program.collectives[0].orthogonal = orthogonal;
      const Topology topology = pod("pod16");
      const Trace trace = checked_run(topology, program, {});
      CollectiveRequest request;
      request.ranks = orthogonal ? std::vector<int>{0, 4} : std::vector<int>{0, 1, 2, 3};
      request.bytes = 1e8;
      request.algorithm = "clockwise_ring";
      const CollectivePlan plan = plan_collective(topology, request);
      return {trace.makespan_seconds,
              uncontended_seconds(topology, {&plan}, topology.parameters().get("collective_step_fixed_seconds"))};
    });
    ASSERT_EQ(numbers.size(), 2U);
    // Four rings over two rails each share them; two rings of four neighbours do not meet.
    EXPECT_GE(numbers[0], numbers[1] * (1 - 1e-9));
    if (!orthogonal) {
      EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-9);
    }
  }
}

TEST(Collectives, AComputedOneCostsOneWaitPerRank) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    Program program = all_reduce(64, 1e9, "clockwise_ring");
    program.ipus[0] = {Repeat{3, 0, LoopKind::Other, {Collective{0}}}, EndOfUpdate{}};
    const Trace trace = checked_run(pod("pod64"), program, {.fast_forward = false});
    return {static_cast<double>(trace.activities), trace.makespan_seconds / seconds_in(trace, 5, State::AllReduce)};
  });
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_LT(numbers[0], 3 * 66);  // one wait per rank and collective
  EXPECT_NEAR(numbers[1], 1, 1e-9);
}

}  // namespace
}  // namespace podsim
