// Pipelines, exchanges and their accounting against closed formulas.
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/engine/programs.hpp"

namespace podsim {
namespace {

using testing::checked_run;
using testing::in_child;
using testing::numbers_in_child;
using testing::pipeline;
using testing::pod;
using testing::seconds_in;

TEST(Lockstep, UniformPipelineTakesMPlusNMinusOneSlots) {
  for (const int stages : {1, 2, 4, 16}) {
    const auto numbers = numbers_in_child([stages]() -> std::vector<double> {
      const Trace trace = checked_run(pod("pod16"), pipeline({.stages = stages, .micro_batches = 40}), {});
      return {trace.makespan_seconds,
              seconds_in(trace, stages - 1, State::Forward),
              seconds_in(trace, 0, State::Backward),
              seconds_in(trace, 0, State::RampUp),
              seconds_in(trace, stages - 1, State::RampUp),
              seconds_in(trace, stages - 1, State::RampDown)};
    });
    ASSERT_EQ(numbers.size(), 6U);
    EXPECT_NEAR(numbers[0] / ((40 + stages - 1) * 3e-3), 1, 1e-12);
    EXPECT_NEAR(numbers[1], 40e-3, 1e-12);
    EXPECT_NEAR(numbers[2], 80e-3, 1e-12);
    EXPECT_EQ(numbers[3], 0);
    EXPECT_NEAR(numbers[4], (stages - 1) * 1e-3, 1e-12);  // forward slots of the stages before
    EXPECT_NEAR(numbers[5], (stages - 1) * 2e-3, 1e-12);  // backward slots of the stages before
  }
}

TEST(Lockstep, TheSlowestStageDecidesTheSlot) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    const Trace trace =
        checked_run(pod("pod4"), pipeline({.stages = 2, .micro_batches = 10, .forward = {1e-3, 3e-3}}), {});
    return {trace.makespan_seconds, seconds_in(trace, 0, State::Imbalance), seconds_in(trace, 0, State::RampUp),
            seconds_in(trace, 1, State::Imbalance), seconds_in(trace, 0, State::Sync)};
  });
  ASSERT_EQ(numbers.size(), 5U);
  // Slot 0: F of stage 0. Slots 1 … 10: stage 1 runs 3 + 2 ms. Slot 11: B of stage 0.
  EXPECT_NEAR(numbers[0], 1e-3 + 10 * 5e-3 + 2e-3, 1e-12);
  EXPECT_NEAR(numbers[1], 4e-3 + 8 * 2e-3 + 3e-3, 1e-12);  // slot 1 without B, slots 2 … 9, slot 10 without F
  EXPECT_EQ(numbers[2], 0);
  EXPECT_EQ(numbers[3], 0);
  EXPECT_EQ(numbers[4], 0);
}

TEST(Lockstep, AnExchangeCostsItsOverheadLatencyAndBytes) {
  for (const bool closed_form : {true, false}) {
    const auto numbers = numbers_in_child([closed_form]() -> std::vector<double> {
      const Topology topology = pod("pod4");
      const Trace trace = checked_run(topology, pipeline({.stages = 2, .micro_batches = 1, .bytes = 1e6}),
                                      {.closed_form = closed_form});
      const Route& route = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
      const Link& link = topology.links()[static_cast<std::size_t>(route.links.front())];
      const double copy =
          topology.parameters().get("exchange_fixed_seconds") + route.latency_seconds + 1e6 / link.bytes_per_second;
      return {trace.makespan_seconds, copy, seconds_in(trace, 0, State::Exchange),
              seconds_in(trace, 1, State::Exchange), trace.links.size() == 2 ? trace.links[0].bytes : -1};
    });
    ASSERT_EQ(numbers.size(), 5U);
    EXPECT_NEAR(numbers[0] / (6e-3 + 2 * numbers[1]), 1, 1e-9);
    EXPECT_NEAR(numbers[2] / (2 * numbers[1]), 1, 1e-9);
    EXPECT_NEAR(numbers[3] / (2 * numbers[1]), 1, 1e-9);
    EXPECT_EQ(numbers[4], 1e6);
  }
}

TEST(Lockstep, RampsIncludeTheExchangesOfOthers) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    const Trace trace = checked_run(pod("pod4"), pipeline({.stages = 4, .micro_batches = 1, .bytes = 1e6}), {});
    return {seconds_in(trace, 3, State::RampUp), seconds_in(trace, 3, State::Exchange),
            seconds_in(trace, 0, State::Exchange), seconds_in(trace, 3, State::Imbalance)};
  });
  ASSERT_EQ(numbers.size(), 4U);
  // Slots 0 and 1 end with copies that IPU 3 has no part in; it receives in slot 2 and sends in slot 3.
  EXPECT_GT(numbers[0], 3e-3 + 2e-6);
  EXPECT_LT(numbers[1], 1.01 * numbers[2]);
  EXPECT_EQ(numbers[3], 0);
}

TEST(Lockstep, ComputedExchangesEqualFlows) {
  for (const int stages : {2, 3, 8, 16}) {
    std::vector<double> makespans;
    for (const bool closed_form : {true, false}) {
      const auto numbers = numbers_in_child([=]() -> std::vector<double> {
        return {
            checked_run(pod("pod64"),
                        pipeline({.stages = stages, .micro_batches = 3, .replicas = 64 / stages, .bytes = 33554432}),
                        {.fast_forward = false, .closed_form = closed_form})
                .makespan_seconds};
      });
      ASSERT_EQ(numbers.size(), 1U);
      makespans.push_back(numbers[0]);
    }
    EXPECT_NEAR(makespans[0] / makespans[1], 1, 1e-9);
  }
}

TEST(Lockstep, UpdatesAndRunsAreMarkedAtTheirEnds) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    Program program = pipeline({.stages = 2, .micro_batches = 5, .updates = 3, .calls = 2});
    program.host.call_overhead_seconds = 7e-3;
    const Trace trace = checked_run(pod("pod4"), program, {});
    std::vector<double> times = trace.update_ends;
    times.insert(times.end(), trace.run_ends.begin(), trace.run_ends.end());
    times.push_back(seconds_in(trace, 1, State::HostCall));
    return times;
  });
  const double update = 6 * 3e-3;
  const std::vector<double> expected{7e-3 + update,      7e-3 + 2 * update,  7e-3 + 3 * update,
                                     14e-3 + 4 * update, 14e-3 + 5 * update, 14e-3 + 6 * update,
                                     7e-3 + 3 * update,  14e-3 + 6 * update, 14e-3};
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], 1e-12);
}

TEST(Lockstep, FlopsAreThoseOfAllRuns) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    return {checked_run(pod("pod4"), pipeline({.stages = 2, .micro_batches = 5, .replicas = 2}), {}).amp_flops};
  });
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_NEAR(numbers[0] / (2 * 2 * 5 * 3e-3 * 1e12), 1, 1e-12);
}

TEST(Errors, ASecondRunInAProcessIsRefused) {
  const auto result = in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    const Program program = pipeline({.stages = 2, .micro_batches = 2});
    (void)run(topology, program, {});
    (void)run(topology, program, {});
    return {};
  });
  EXPECT_EQ(result.error, "engine: run() was called twice in a process; fork for each run");
}

// Any number of runs and platforms may be there, and one of the runs takes place.
TEST(PreparedRuns, OnAPlatformEqualThoseWithout) {
  const Program program = pipeline({.stages = 2, .micro_batches = 4, .replicas = 2, .bytes = 1e6});
  const RunSettings settings{.closed_form = false};
  const auto alone = numbers_in_child([&]() -> std::vector<double> {
    const Trace trace = run(pod("pod4"), program, settings);
    return {trace.makespan_seconds, static_cast<double>(trace.activities)};
  });
  const auto prepared = numbers_in_child([&]() -> std::vector<double> {
    Platform other(std::make_shared<const Topology>(pod("pod16")));
    Platform platform(std::make_shared<const Topology>(pod("pod4")));
    PreparedRun first(*other.topology(), program, settings, &other);
    PreparedRun second(*platform.topology(), program, settings, &platform);
    const Trace trace = second.run();
    return {trace.makespan_seconds, static_cast<double>(trace.activities)};
  });
  ASSERT_EQ(alone.size(), 2U);
  EXPECT_EQ(prepared, alone);
}

TEST(Errors, OfTwoPreparedRunsOneTakesPlace) {
  const auto result = in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    const Program program = pipeline({.stages = 2, .micro_batches = 2});
    PreparedRun first(topology, program, {}, nullptr);
    PreparedRun second(topology, program, {}, nullptr);
    (void)second.run();
    (void)first.run();
    return {};
  });
  EXPECT_EQ(result.error, "engine: run() was called twice in a process; fork for each run");
}

TEST(Errors, TooManyIpus) {
  const auto result = in_child([]() -> std::vector<double> {
    (void)run(pod("pod4"), pipeline({.stages = 2, .micro_batches = 2, .replicas = 3}), {});
    return {};
  });
  EXPECT_EQ(result.error,
            "3 replicas of 2 IPUs need 6 IPUs; pod4 has 4 (take fewer replicas or pipeline stages, or a larger pod)");
}

TEST(Errors, ADeadlockNamesIpuStageMicroBatchAndWhatIsMissing) {
  const auto result = in_child([]() -> std::vector<double> {
    Program program = pipeline({.stages = 2, .micro_batches = 2});
    auto& body = std::get<Repeat>(program.ipus[1].front()).body;
    body.erase(body.begin());  // an exchange of IPU 1
    (void)run(pod("pod4"), program, {});
    return {};
  });
  EXPECT_EQ(
      result.error,
      "engine: the program cannot finish; IPU 0 (replica 0), last in stage 0, micro-batch 1, waits for an exchange "
      "with IPU 1 (ended) of its replica");
}

}  // namespace
}  // namespace podsim
