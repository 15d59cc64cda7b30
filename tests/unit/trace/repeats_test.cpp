// Repeated windows expand to the run that was recorded step by step; integrals agree with sums.
#include "simulator/trace/repeats.hpp"

#include <gmock/gmock.h>

#include "simulator/core/error.hpp"
#include "simulator/trace/state_integral.hpp"
#include "simulator/trace/utilization.hpp"
#include "simulator/trace/verify.hpp"
#include "tests/unit/trace/sample_trace.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::leave_out;
using testing::Pipeline;
using testing::record;

Pipeline uneven() {
  Pipeline pipeline;
  pipeline.micro_batches = 20;
  pipeline.updates = 5;
  pipeline.forward = {1, 1.25, 0.75, 1};
  pipeline.recompute = 0.5;
  pipeline.exchange = 0.125;
  pipeline.host_call = 3;
  return pipeline;
}

constexpr double kSlot = 1.25 + 0.5 + 2 + 0.125;  // slowest stage and exchange, in steady state
double update_seconds(const Trace& trace) { return trace.update_ends[1] - trace.update_ends[0]; }

// Slots 2N-2 .. M-1 are alike: leaves out 10 of them in the second update, `phase` seconds off the slots' edges.
RepeatedWindow steady_window(const Trace& full, double phase) {
  const double drain = 6 * 4.0;  // upper bound of the drain's six slots
  return {full.update_ends[1] - drain - 10 * kSlot - phase, kSlot, 10, 1};
}

void expect_same(const Intervals& left, const Intervals& right, double tolerance) {
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    ASSERT_EQ(left.ipu[i], right.ipu[i]) << i;
    ASSERT_EQ(left.state[i], right.state[i]) << i;
    ASSERT_EQ(left.stage[i], right.stage[i]) << i;
    ASSERT_EQ(left.micro_batch[i], right.micro_batch[i]) << i;
    ASSERT_NEAR(left.start[i], right.start[i], tolerance) << i;
    ASSERT_NEAR(left.end[i], right.end[i], tolerance) << i;
  }
}

TEST(Repeats, AWindowThatCutsIntervalsExpandsToTheFullRun) {
  const Trace full = record(uneven());
  for (const double phase : {0.0, 0.1, 0.6, 1.7, 3.3}) {
    const Trace shortened = leave_out(full, steady_window(full, phase));
    EXPECT_LT(shortened.intervals.size(), full.intervals.size());
    expect_same(expand_repeats(shortened), full.intervals, 1e-12 * full.makespan_seconds);
    verify(shortened);
  }
}

TEST(Repeats, NestedWindowsExpandToTheFullRun) {
  const Trace full = record(uneven());
  const double period = update_seconds(full);
  const RepeatedWindow updates{full.update_ends[1], period, 3, 20};  // updates 2, 3 and 4 are like update 1
  const Trace outer = leave_out(full, updates);
  EXPECT_EQ(outer.intervals.end.back(), full.update_ends[1]);
  for (const double phase : {0.0, 0.6}) {
    const Trace nested = leave_out(outer, steady_window(full, phase));
    expect_same(expand_repeats(nested), full.intervals, 1e-12 * full.makespan_seconds);
    verify(nested);
  }
}

TEST(Repeats, APartOfTheTimeIsTheSamePartOfTheFullRun) {
  const Trace full = record(uneven());
  const Trace outer = leave_out(full, {full.update_ends[1], update_seconds(full), 3, 20});
  const Trace nested = leave_out(outer, steady_window(full, 0.6));
  const double makespan = full.makespan_seconds;
  for (const auto& [from, to] : {std::pair{0.1, 0.9}, {0.37, 0.42}, {0.75, 0.7501}, {0.9, 2.0}}) {
    expect_same(expand_repeats(nested, from * makespan, to * makespan),
                expand_repeats(full, from * makespan, to * makespan), 1e-12 * makespan);
  }
  EXPECT_EQ(expand_repeats(nested, 2 * makespan, 3 * makespan).size(), 0U);
}

TEST(Repeats, MicroBatchesAdvanceOnlyWhereThereAreSome) {
  const Trace full = record(uneven());
  const Trace outer = leave_out(full, {full.update_ends[1], update_seconds(full), 3, 20});
  std::int64_t largest = -1;
  const Intervals expanded = expand_repeats(outer);
  for (std::size_t i = 0; i < expanded.size(); ++i) {
    largest = std::max(largest, expanded.micro_batch[i]);
    if (expanded.state[i] == State::HostCall) {
      EXPECT_EQ(expanded.micro_batch[i], -1);
    }
  }
  EXPECT_EQ(largest, 5 * 20 - 1);
}

TEST(StateIntegral, EqualsTheSumOverTheFullRunAtEveryMoment) {
  const Trace full = record(uneven());
  const Trace nested =
      leave_out(leave_out(full, {full.update_ends[1], update_seconds(full), 3, 20}), steady_window(full, 0.6));
  for (int ipu = 0; ipu < full.ipus; ++ipu) {
    const StateIntegral integral(nested, ipu);
    for (int step = 0; step <= 97; ++step) {
      const double time = full.makespan_seconds * step / 97;
      PerState expected{};
      for (std::size_t i = 0; i < full.intervals.size(); ++i) {
        if (full.intervals.ipu[i] != ipu || full.intervals.start[i] >= time) continue;
        expected[index_of(full.intervals.state[i])] += std::min(time, full.intervals.end[i]) - full.intervals.start[i];
      }
      const PerState actual = integral.until(time);
      for (std::size_t state = 0; state < kStateCount; ++state) {
        ASSERT_NEAR(actual[state], expected[state], 1e-12 * full.makespan_seconds) << ipu << " at " << time;
      }
    }
  }
}

TEST(Utilization, SharesOfEachBinAddUpToOneAndToTheTotals) {
  const Trace full = record(uneven());
  const Trace nested =
      leave_out(leave_out(full, {full.update_ends[1], update_seconds(full), 3, 20}), steady_window(full, 0.6));
  const int bins = 100;
  const Utilization utilization = utilization_over_time(nested, bins);
  ASSERT_EQ(utilization.shares.size(), 100U * 4 * kStateCount);
  std::vector<PerState> totals(4);
  for (std::size_t cell = 0; cell < 400; ++cell) {
    double sum = 0;
    for (std::size_t state = 0; state < kStateCount; ++state) {
      const double share = utilization.shares[cell * kStateCount + state];
      sum += share;
      totals[cell % 4][state] += share * utilization.bin_seconds;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
  for (std::size_t ipu = 0; ipu < 4; ++ipu) {
    for (std::size_t state = 0; state < kStateCount; ++state) {
      EXPECT_NEAR(totals[ipu][state], full.state_seconds[ipu][state], 1e-5 * full.makespan_seconds);
    }
  }
}

TEST(Utilization, RefusesNoBins) {
  try {
    (void)utilization_over_time(record({}), 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.problem(), "utilisation over time needs at least one bin");
  }
}

class Verify : public ::testing::Test {
 protected:
  static void expect_failure(const Trace& trace, const std::vector<std::string>& words) {
    try {
      verify(trace);
      FAIL() << "nothing found";
    } catch (const InternalError& error) {
      for (const std::string& word : words) EXPECT_THAT(error.what(), HasSubstr(word));
    }
  }
  Trace trace_ = record(uneven());
};

TEST_F(Verify, AcceptsAnExactTrace) { EXPECT_NO_THROW(verify(trace_)); }

TEST_F(Verify, FindsAGap) {
  trace_.intervals.start[5] += 0.01;
  expect_failure(trace_, {"IPU 0", "recorded until", "starts at"});
}

TEST_F(Verify, FindsAnOverlap) {
  trace_.intervals.end[7] += 0.01;
  expect_failure(trace_, {"IPU 0", "recorded until", "starts at"});
}

TEST_F(Verify, FindsAnEmptyInterval) {
  trace_.intervals.end[7] = trace_.intervals.start[7];
  expect_failure(trace_, {"IPU 0", "has an interval from"});
}

TEST_F(Verify, FindsAMissingEnd) {
  for (auto* column : {&trace_.intervals.start, &trace_.intervals.end}) column->pop_back();
  trace_.intervals.ipu.pop_back();
  trace_.intervals.state.pop_back();
  trace_.intervals.stage.pop_back();
  trace_.intervals.micro_batch.pop_back();
  expect_failure(trace_, {"IPU 3", "is recorded until"});
}

TEST_F(Verify, FindsAWindowInTheWrongPlace) {
  Trace shortened = leave_out(trace_, steady_window(trace_, 0));
  shortened.repeats[0].start += 0.5;
  expect_failure(shortened, {"IPU 0"});
}

TEST_F(Verify, FindsTotalsThatIntervalsDoNotHave) {
  trace_.state_seconds[1][index_of(State::Forward)] += 1;
  trace_.state_seconds[1][index_of(State::Imbalance)] -= 1;
  expect_failure(trace_, {"IPU 1", "forward", "add up to"});
}

TEST_F(Verify, FindsColumnsOfDifferentLength) {
  trace_.intervals.stage.pop_back();
  expect_failure(trace_, {"columns", "length"});
}

TEST_F(Verify, FindsUnsortedIpus) {
  std::swap(trace_.intervals.ipu.front(), trace_.intervals.ipu.back());
  expect_failure(trace_, {"not sorted"});
}

}  // namespace
}  // namespace podsim
