// Figures of the summary against closed formulas of a pipeline.
#include "simulator/trace/summary.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "simulator/core/error.hpp"
#include "tests/unit/trace/sample_trace.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Pipeline;
using testing::program_of;
using testing::record;

double seconds(const PerState& states, State state) { return states[index_of(state)]; }

TEST(Summarize, UniformPipelineFollowsTheClosedFormula) {
  Pipeline pipeline;  // N = 4, M = 8, f = 1, b = 2
  const Summary summary = summarize(record(pipeline), program_of(pipeline));
  const double n = 4, m = 8, f = 1, b = 2;
  EXPECT_DOUBLE_EQ(summary.weight_update_seconds, (m + n - 1) * (f + b));
  EXPECT_DOUBLE_EQ(summary.makespan_seconds, 2 * (m + n - 1) * (f + b));
  EXPECT_DOUBLE_EQ(summary.run_seconds, (m + n - 1) * (f + b));
  EXPECT_EQ(summary.slots_per_update, 8 + 2 * 4 - 2);
  EXPECT_DOUBLE_EQ(summary.busy, m / (m + n - 1));
  EXPECT_DOUBLE_EQ(seconds(summary.state_seconds, State::Forward), 2 * m * f);
  EXPECT_DOUBLE_EQ(seconds(summary.state_seconds, State::Backward), 2 * m * b);
  const double waiting = seconds(summary.state_seconds, State::RampUp) +
                         seconds(summary.state_seconds, State::RampDown) +
                         seconds(summary.state_seconds, State::Imbalance);
  EXPECT_DOUBLE_EQ(waiting, 2 * (n - 1) * (f + b));
}

TEST(Summarize, CountsSamplesOfTrainingAndInference) {
  Pipeline pipeline;
  pipeline.replicas = 2;
  Program program = program_of(pipeline);
  program.execution.device_iterations = 3;
  program.host.samples_per_micro_batch = 5;
  const Trace trace = record(pipeline);
  const Summary training = summarize(trace, program);
  EXPECT_EQ(training.batch_size_factor, 2 * 8 * 3);
  EXPECT_DOUBLE_EQ(training.samples_per_run, 2 * 8 * 3 * 5);
  EXPECT_DOUBLE_EQ(training.throughput_samples_per_second, 2 * 8 * 3 * 5 / training.run_seconds);
  program.execution.mode = Mode::Inference;
  const Summary inference = summarize(trace, program);
  EXPECT_EQ(inference.batch_size_factor, 2 * 3);
  EXPECT_DOUBLE_EQ(inference.samples_per_run, 2 * 3 * 5);
}

TEST(Summarize, SteadyStateLeavesOutTheFirstUpdateOfEachHostCall) {
  // Inference with D = 3 on N = 4 stages of 1 s: ends at N, N+1, N+2 after each start of a call.
  Pipeline pipeline;
  Trace trace = record(pipeline);
  trace.update_ends = {4, 5, 6, 10, 11, 12};
  trace.run_ends = {6, 12};
  Program program = program_of(pipeline);
  program.execution.mode = Mode::Inference;
  program.execution.device_iterations = 3;
  const Summary summary = summarize(trace, program);
  EXPECT_DOUBLE_EQ(summary.weight_update_seconds, 1);
  EXPECT_DOUBLE_EQ(summary.run_seconds, 6);
}

TEST(Summarize, OneUpdateCountsFromTheStart) {
  Pipeline pipeline;
  pipeline.updates = 1;
  pipeline.host_call = 7;
  const Summary summary = summarize(record(pipeline), program_of(pipeline));
  EXPECT_DOUBLE_EQ(summary.weight_update_seconds, 7 + 11 * 3.0);
  EXPECT_DOUBLE_EQ(summary.run_seconds, 7 + 11 * 3.0);
}

TEST(Summarize, StatesOfEveryIpuAddUpToTheMakespan) {
  Pipeline pipeline;
  pipeline.forward = {1, 1.3, 0.7, 1.1};
  pipeline.exchange = 0.1;
  pipeline.recompute = 0.9;
  pipeline.host_call = 3;
  const Summary summary = summarize(record(pipeline), program_of(pipeline));
  ASSERT_EQ(summary.ipus.size(), 4U);
  for (const IpuSummary& ipu : summary.ipus) {
    const double sum = std::accumulate(ipu.state_seconds.begin(), ipu.state_seconds.end(), 0.0);
    EXPECT_NEAR(sum, summary.makespan_seconds, 1e-12 * summary.makespan_seconds);
  }
  const double sum = std::accumulate(summary.state_seconds.begin(), summary.state_seconds.end(), 0.0);
  EXPECT_NEAR(sum, summary.makespan_seconds, 1e-12 * summary.makespan_seconds);
}

TEST(Summarize, StagesOfReplicasAndTwoStagesOnOneIpu) {
  Pipeline pipeline;
  pipeline.replicas = 2;
  Program program = program_of(pipeline);
  program.stages = 5;
  program.ipu_of_stage = {0, 1, 2, 3, 0};
  const Summary summary = summarize(record(pipeline), program);
  EXPECT_EQ(summary.ipus[0].stages, (std::vector<int>{0, 4}));
  EXPECT_EQ(summary.ipus[4].stages, (std::vector<int>{0, 4}));
  EXPECT_EQ(summary.ipus[7].stages, std::vector<int>{3});
}

TEST(Summarize, LinksBusiestFirst) {
  Pipeline pipeline;
  Trace trace = record(pipeline);  // makespan 66 s
  trace.links = {{"a", "ipu-link", 66, 10}, {"b", "nic", 330, 10}, {"c", "ipu-link", 66, 2}};
  const Summary summary = summarize(trace, program_of(pipeline));
  ASSERT_EQ(summary.links.size(), 3U);
  EXPECT_EQ(summary.links[0].name, "b");
  EXPECT_DOUBLE_EQ(summary.links[0].utilization, 0.5);
  EXPECT_EQ(summary.links[1].name, "c");
  EXPECT_DOUBLE_EQ(summary.links[1].utilization, 0.5);
  EXPECT_DOUBLE_EQ(summary.links[2].utilization, 0.1);
}

TEST(Summarize, FlopsAreAShareOfThePeakAndZeroWithoutChip) {
  Pipeline pipeline;
  Trace trace = record(pipeline);
  trace.amp_flops = 660;
  Program program = program_of(pipeline);
  EXPECT_EQ(summarize(trace, program).flops, 0);
  program.peak_flops_per_ipu = 10;  // 4 IPUs x 66 s x 10 = 2640
  EXPECT_DOUBLE_EQ(summarize(trace, program).flops, 0.25);
}

TEST(Summarize, RefusesTotalsThatDoNotAddUp) {
  Pipeline pipeline;
  Trace trace = record(pipeline);
  trace.state_seconds[2][index_of(State::Forward)] += 1;
  try {
    (void)summarize(trace, program_of(pipeline));
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("IPU 2"), HasSubstr("67 s"), HasSubstr("66 s")));
  }
}

class Bottleneck : public ::testing::Test {
 protected:
  static std::string of(const Pipeline& pipeline) {
    return summarize(record(pipeline), program_of(pipeline)).bottleneck;
  }
  // A long pipeline, so that ramps do not matter.
  static Pipeline steady() {
    Pipeline pipeline;
    pipeline.micro_batches = 400;
    pipeline.updates = 1;
    return pipeline;
  }
};

TEST_F(Bottleneck, RampsOfAShortPipeline) {
  EXPECT_THAT(of({}), AllOf(HasSubstr("ramp-up and ramp-down"), HasSubstr("raise gradient accumulation (now 8)")));
}

TEST_F(Bottleneck, ComputeBoundWhenNothingElseMatters) {
  EXPECT_THAT(of(steady()), AllOf(HasSubstr("compute bound"), HasSubstr("forward"), HasSubstr("backward")));
}

TEST_F(Bottleneck, TheSlowestStageByName) {
  Pipeline pipeline = steady();
  pipeline.forward[2] = 3;
  EXPECT_THAT(of(pipeline), HasSubstr("stage 2 on IPU 2 is the slowest"));
  pipeline.forward = {0.5, 3, 1, 3};
  EXPECT_THAT(of(pipeline), AllOf(HasSubstr("stages 1 and 3 on IPUs 1 and 3 are the slowest"),
                                  HasSubstr("move work to IPU 0, which has least")));
}

TEST_F(Bottleneck, HostInput) {
  Pipeline pipeline = steady();
  pipeline.host_stall = 9;
  EXPECT_THAT(of(pipeline), AllOf(HasSubstr("host input: 74."), HasSubstr("instances")));
}

TEST_F(Bottleneck, OtherCauses) {
  Pipeline pipeline = steady();
  pipeline.exchange = 1;
  EXPECT_THAT(of(pipeline), HasSubstr("inter-IPU exchange takes 25"));
  pipeline = steady();
  pipeline.all_reduce = 1000;
  pipeline.replicas = 2;
  EXPECT_THAT(of(pipeline), AllOf(HasSubstr("all-reduce between 2 replicas"), HasSubstr("(now 400)")));
  pipeline = steady();
  pipeline.update = 1000;
  EXPECT_THAT(of(pipeline), HasSubstr("the weight update takes"));
  pipeline = steady();
  pipeline.host_call = 1000;
  EXPECT_THAT(of(pipeline), AllOf(HasSubstr("host calls take"), HasSubstr("raise device iterations (now 1)")));
}

TEST_F(Bottleneck, WaitingUnderASequentialScheduleIsItsNature) {
  Pipeline pipeline;
  Program program = program_of(pipeline);
  program.schedule = "sharded";
  EXPECT_THAT(summarize(record(pipeline), program).bottleneck, HasSubstr("one IPU at a time"));
}

// Two IPUs for each stage: both are named, their stage once, and the sums between them as a cause of their own.
TEST_F(Bottleneck, SharedStages) {
  Pipeline pipeline = steady();
  pipeline.forward = {1, 1, 3, 3};
  Program program = program_of(pipeline);
  program.stages = 2;
  program.ipus_per_stage = 2;
  program.ipu_of_stage = {0, 2};
  const Summary summary = summarize(record(pipeline), program);
  EXPECT_EQ(summary.ipus[3].stages, std::vector<int>{1});
  EXPECT_THAT(summary.bottleneck, HasSubstr("stage 1 on IPUs 2 and 3 is the slowest"));
  pipeline = steady();
  pipeline.all_reduce = 1000;
  EXPECT_THAT(
      summarize(record(pipeline), program).bottleneck,
      AllOf(HasSubstr("all-reduces between the 2 IPUs of each stage take"), HasSubstr("let fewer IPUs share a stage")));
  pipeline.replicas = program.replicas = 2;
  EXPECT_THAT(summarize(record(pipeline), program).bottleneck,
              HasSubstr("between the 2 IPUs of each stage and between 2 replicas take"));
}

}  // namespace
}  // namespace podsim
