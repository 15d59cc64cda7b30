// Fast-forward must be exact: every figure equals that of the step-by-step run, on given and on random programs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <ostream>

#include "simulator/trace/repeats.hpp"
#include "tests/unit/engine/programs.hpp"

namespace podsim {
namespace {

using testing::checked_run;
using testing::in_child;
using testing::numbers_in_child;
using testing::pipeline;
using testing::PipelineShape;
using testing::pod;

constexpr double kTolerance = 1e-9;

struct Setting {
  PipelineShape shape;
  HostPlan host;
};

Program program_of(const Setting& setting) {
  Program program = pipeline(setting.shape);
  program.host = setting.host;
  return program;
}

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  const PipelineShape& shape = setting.shape;
  const HostPlan& host = setting.host;
  out << "stages " << shape.stages << ", micro-batches " << shape.micro_batches << ", replicas " << shape.replicas
      << ", updates " << shape.updates << ", calls " << shape.calls << ", update " << shape.update_seconds
      << " s, forward";
  for (const double seconds : shape.forward) out << ' ' << seconds;
  out << ", backward";
  for (const double seconds : shape.backward) out << ' ' << seconds;
  out << ", bytes: activations " << shape.bytes << ", weights " << shape.weight_bytes << ", input " << shape.input_bytes
      << ", label " << shape.label_bytes << ", output " << shape.output_bytes;
  if (host.synthetic) return out;
  return out << ", host: instances " << host.instances << ", call " << host.call_overhead_seconds << " s, callback "
             << host.callback_seconds << " s, prefetch depth " << host.prefetch_depth << ", workers "
             << host.workers_per_instance << ", cores " << host.cores_per_host << ", sample "
             << host.preprocess_seconds_per_sample << " s, samples " << host.samples_per_micro_batch
             << ", asynchronous " << host.asynchronous << ", batches ahead " << host.batches_ahead
             << ", calls per epoch " << host.calls_per_epoch << ", epoch start " << host.epoch_start_seconds << " s";
}

// Makespan first, then everything else that a summary is made of.
std::vector<double> figures(const Trace& trace) {
  std::vector<double> numbers{trace.makespan_seconds};
  for (const PerState& states : trace.state_seconds) numbers.insert(numbers.end(), states.begin(), states.end());
  numbers.insert(numbers.end(), trace.update_ends.begin(), trace.update_ends.end());
  numbers.insert(numbers.end(), trace.run_ends.begin(), trace.run_ends.end());
  return numbers;
}

std::vector<double> amounts(const Trace& trace) {
  std::vector<double> numbers{trace.amp_flops};
  for (const LinkUse& link : trace.links) numbers.push_back(link.bytes);
  return numbers;
}

// The numbers of a run: times, -1, amounts, -1, activities.
testing::ChildResult run_numbers(const Program& program, bool fast_forward) {
  return in_child([&]() -> std::vector<double> {
    const Trace trace = checked_run(pod("pod16"), program, {.fast_forward = fast_forward});
    std::vector<double> numbers = figures(trace);
    numbers.push_back(-1);
    for (const double amount : amounts(trace)) numbers.push_back(amount);
    numbers.push_back(static_cast<double>(trace.activities));
    return numbers;
  });
}

std::string difference(const Program& program) {
  const auto fast = run_numbers(program, true), slow = run_numbers(program, false);
  if (!fast.error.empty() || !slow.error.empty()) return "fast: " + fast.error + "; step by step: " + slow.error;
  if (fast.numbers.size() != slow.numbers.size()) return "other numbers of figures";
  bool times = true;
  for (std::size_t i = 0; i + 1 < fast.numbers.size(); ++i) {
    const double expected = slow.numbers[i];
    const double scale = times ? slow.numbers[0] : std::abs(expected);
    if (std::abs(fast.numbers[i] - expected) > kTolerance * scale) {
      return "figure " + std::to_string(i) + ": " + std::to_string(fast.numbers[i]) + " instead of " +
             std::to_string(expected) + " of " + std::to_string(slow.numbers[0]);
    }
    times = times && expected != -1;
  }
  return "";
}

double activities(const Program& program, bool fast_forward) {
  return run_numbers(program, fast_forward).numbers.back();
}

TEST(FastForward, ManyMicroBatchesCostAsMuchAsFew) {
  PipelineShape shape{.stages = 4, .micro_batches = 20, .replicas = 4, .bytes = 1e6, .weight_bytes = 1e8};
  const double few = activities(pipeline(shape), false);
  shape.micro_batches = 2048;
  EXPECT_EQ(difference(pipeline(shape)), "");
  EXPECT_LT(activities(pipeline(shape), true), 1.5 * few);
}

TEST(FastForward, NestedLoopsAreSkippedAtEveryLevel) {
  PipelineShape shape{.stages = 4, .micro_batches = 64, .replicas = 2, .updates = 20, .bytes = 1e6};
  shape.weight_bytes = 1e8;
  shape.update_seconds = 1e-3;
  shape.calls = 10;
  Program program = pipeline(shape);
  program.host.call_overhead_seconds = 1e-3;
  EXPECT_EQ(difference(program), "");
  const double fast = activities(program, true), slow = activities(program, false);
  EXPECT_LT(fast, slow / 60);
}

TEST(FastForward, ExpandedIntervalsAreThoseOfTheStepByStepRun) {
  PipelineShape shape{.stages = 3, .micro_batches = 40, .updates = 6, .forward = {1e-3, 3e-3, 2e-3}, .bytes = 1e6};
  const Program program = pipeline(shape);
  const auto intervals = [&program](bool fast_forward) {
    return numbers_in_child([&]() -> std::vector<double> {
      const Trace trace = checked_run(pod("pod4"), program, {.fast_forward = fast_forward});
      if (trace.repeats.empty() == fast_forward) throw InternalError("repeats");
      const Intervals expanded = expand_repeats(trace);
      std::vector<double> numbers;
      for (std::size_t i = 0; i < expanded.size(); ++i) {
        for (const double number : {static_cast<double>(expanded.ipu[i]), static_cast<double>(expanded.state[i]),
                                    static_cast<double>(expanded.stage[i]),
                                    static_cast<double>(expanded.micro_batch[i]), expanded.start[i], expanded.end[i]}) {
          numbers.push_back(number);
        }
      }
      return numbers;
    });
  };
  const std::vector<double> fast = intervals(true), slow = intervals(false);
  ASSERT_EQ(fast.size(), slow.size());
  for (std::size_t i = 0; i < fast.size(); ++i) ASSERT_NEAR(fast[i], slow[i], 1e-9) << "column " << i % 6;
}

TEST(FastForward, RandomPreparationTimesSwitchItOff) {
  Program program = pipeline({.stages = 1, .micro_batches = 100, .input_bytes = 1e6});
  program.host.synthetic = false;
  program.host.preprocess_seconds_per_sample = 4e-3;
  EXPECT_LT(activities(program, true), activities(program, false) / 2);
  program.host.distribution = Distribution::Exponential;
  EXPECT_EQ(activities(program, true), activities(program, false));
}

TEST(FastForward, BatchesThatAreReadyAheadDoNotHinderIt) {
  PipelineShape shape{.stages = 2, .micro_batches = 100, .calls = 4};
  for (const std::int64_t epoch : {0, 2, 40}) {
    if (epoch == 40) shape.calls = 80;
    Program program = pipeline(shape);
    program.host.batches_ahead = 3;
    program.host.calls_per_epoch = epoch;
    program.host.epoch_start_seconds = 0.5;
    program.host.preprocess_seconds_per_sample = 1e-4;
    EXPECT_EQ(difference(program), "") << "calls per epoch: " << epoch;
    EXPECT_LT(activities(program, true), activities(program, false) / 4) << "calls per epoch: " << epoch;
  }
}

TEST(FastForward, WhatTakesNoTimeIsNotRepeated) {
  PipelineShape shape{.stages = 1, .micro_batches = 1, .forward = {0}, .backward = {0}, .calls = 5};
  EXPECT_EQ(difference(pipeline(shape)), "");
}

// Two replicas ask for data, and take it, at the instants at which a worker of their loader becomes free.
TEST(FastForward, TurnsAtALoaderDoNotDependOnTheOrderOfWhatHappensAtOnce) {
  Setting setting;
  setting.shape = {.stages = 2,
                   .micro_batches = 16,
                   .replicas = 2,
                   .updates = 2,
                   .forward = {1e-4},
                   .backward = {2.5e-3, 1e-4},
                   .bytes = 2e7,
                   .weight_bytes = 3e6,
                   .input_bytes = 1e5,
                   .label_bytes = 1e5,
                   .output_bytes = 3e6};
  HostPlan& host = setting.host;
  host.synthetic = false;
  host.callback_seconds = 2.5e-3;
  host.prefetch_depth = 0;
  host.workers_per_instance = 2;
  host.cores_per_host = 1;
  host.preprocess_seconds_per_sample = 7.7e-4;
  host.samples_per_micro_batch = 7;
  for (const int micro_batches : {10, 16, 32}) {
    setting.shape.micro_batches = micro_batches;
    const Program program = program_of(setting);
    EXPECT_EQ(difference(program), "") << setting;
    EXPECT_LT(activities(program, true), activities(program, false)) << setting;
  }
}

// Times from a small set make periods of several iterations and ties likely.
rc::Gen<double> some_seconds() { return rc::gen::element(0.0, 1e-4, 3e-4, 7.7e-4, 1e-3, 2.5e-3); }
rc::Gen<double> some_bytes() { return rc::gen::element(0.0, 8.0, 1e5, 3e6, 2e7); }

Setting random_setting() {
  Setting setting;
  PipelineShape& shape = setting.shape;
  shape.stages = *rc::gen::inRange(1, 5);
  shape.replicas = *rc::gen::inRange(1, 4);
  shape.micro_batches = *rc::gen::inRange(1, 60);
  shape.updates = *rc::gen::inRange(1, 12);
  shape.calls = *rc::gen::inRange(0, 8);
  shape.forward = *rc::gen::container<std::vector<double>>(4, some_seconds());
  shape.backward = *rc::gen::container<std::vector<double>>(4, some_seconds());
  shape.forward.push_back(1e-3);
  shape.bytes = *some_bytes();
  shape.weight_bytes = *some_bytes();
  shape.update_seconds = *some_seconds();
  return setting;
}

void add_random_host(Setting& setting) {
  PipelineShape& shape = setting.shape;
  HostPlan& host = setting.host;
  shape.input_bytes = *some_bytes();
  shape.label_bytes = *rc::gen::element(0.0, 8.0, 1e5);
  shape.output_bytes = *some_bytes();
  host.synthetic = false;
  host.instances = *rc::gen::inRange(1, shape.replicas + 1);
  host.call_overhead_seconds = *some_seconds();
  host.callback_seconds = *some_seconds();
  host.prefetch_depth = *rc::gen::inRange(0, 4);
  host.workers_per_instance = *rc::gen::inRange(1, 5);
  host.cores_per_host = *rc::gen::inRange(0, 6);
  host.preprocess_seconds_per_sample = *some_seconds();
  host.samples_per_micro_batch = *rc::gen::element(1.0, 2.0, 2.5, 7.0);
  host.asynchronous = *rc::gen::arbitrary<bool>();
  host.batches_ahead = host.asynchronous ? *rc::gen::element(0, 1, 3) : 0;
  host.calls_per_epoch = host.batches_ahead > 0 ? *rc::gen::inRange(0, 4) : 0;
  host.epoch_start_seconds = *some_seconds();
}

RC_GTEST_PROP(FastForwardProperty, EqualsStepByStepOnRandomPipelines, ()) {
  const Setting setting = random_setting();
  RC_LOG() << setting << '\n';
  RC_ASSERT(difference(program_of(setting)) == "");
}

RC_GTEST_PROP(FastForwardProperty, EqualsStepByStepWithRandomHosts, ()) {
  Setting setting = random_setting();
  add_random_host(setting);
  RC_LOG() << setting << '\n';
  RC_ASSERT(difference(program_of(setting)) == "");
}

}  // namespace
}  // namespace podsim
