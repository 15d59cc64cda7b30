// Walks recorded intervals and repeated windows of each IPU in time order, and compares integrals with totals.
#include "simulator/trace/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

#include "simulator/core/error.hpp"
#include "simulator/trace/state_integral.hpp"

namespace podsim {
namespace {

constexpr double kTolerance = 1e-9;  // of the makespan

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream message;
  message.precision(17);
  (message << ... << parts);
  throw InternalError(message.str());
}

void verify_columns(const Intervals& columns) {
  const std::size_t size = columns.size();
  if (columns.state.size() != size || columns.stage.size() != size || columns.micro_batch.size() != size ||
      columns.start.size() != size || columns.end.size() != size) {
    fail("trace: the columns of the intervals differ in length");
  }
  if (!std::is_sorted(columns.ipu.begin(), columns.ipu.end())) fail("trace: intervals are not sorted by IPU");
}

// Intervals and gaps left for windows, in time order, without hole or overlap.
void verify_cover(const Trace& trace, int ipu, const std::vector<RepeatedWindow>& windows) {
  const double tolerance = kTolerance * trace.makespan_seconds;
  const Intervals& columns = trace.intervals;
  const IntervalRange range = range_of(columns, ipu);
  double reached = 0;
  auto window = windows.begin();
  const auto pass_windows = [&](double until) {
    // An interval lies before a window or behind it; which, rounding at the window's edges cannot tell.
    const auto middle = [](const RepeatedWindow& of) {
      return of.start + 0.5 * static_cast<double>(of.count) * of.period;
    };
    for (; window != windows.end() && middle(*window) <= until; ++window) {
      if (std::abs(window->start - reached) > tolerance) {
        fail("trace: IPU ", ipu, " is recorded until ", reached, " s, but a repeated window starts at ", window->start,
             " s");
      }
      reached = window->start + static_cast<double>(window->count) * window->period;
    }
  };
  for (std::size_t i = range.begin; i < range.end; ++i) {
    pass_windows(columns.start[i]);
    if (!(columns.start[i] < columns.end[i])) {
      fail("trace: IPU ", ipu, " has an interval from ", columns.start[i], " s to ", columns.end[i], " s");
    }
    if (std::abs(columns.start[i] - reached) > tolerance) {
      fail("trace: IPU ", ipu, " is recorded until ", reached, " s, its next interval (", name_of(columns.state[i]),
           ") starts at ", columns.start[i], " s");
    }
    reached = columns.end[i];
  }
  pass_windows(trace.makespan_seconds);
  if (std::abs(reached - trace.makespan_seconds) > tolerance) {
    fail("trace: IPU ", ipu, " is recorded until ", reached, " s of ", trace.makespan_seconds, " s");
  }
}

void verify_totals(const Trace& trace, int ipu) {
  const PerState integral = StateIntegral(trace, ipu).until(trace.makespan_seconds);
  const PerState& total = trace.state_seconds[static_cast<std::size_t>(ipu)];
  for (std::size_t state = 0; state < kStateCount; ++state) {
    if (std::abs(integral[state] - total[state]) > kTolerance * trace.makespan_seconds) {
      fail("trace: IPU ", ipu, " has ", total[state], " s of ", kStateNames[state], ", its intervals add up to ",
           integral[state], " s");
    }
  }
}

}  // namespace

void verify_sums(const Trace& trace) {
  if (trace.state_seconds.size() != static_cast<std::size_t>(trace.ipus)) {
    fail("trace: ", trace.ipus, " IPUs, but totals of ", trace.state_seconds.size());
  }
  for (std::size_t ipu = 0; ipu < trace.state_seconds.size(); ++ipu) {
    const PerState& seconds = trace.state_seconds[ipu];
    const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    // Where nothing takes time, the clock has made its smallest steps, which are denormal numbers.
    const double allowed = kTolerance * trace.makespan_seconds + std::numeric_limits<double>::min();
    if (!(std::abs(sum - trace.makespan_seconds) <= allowed)) {
      fail("trace: the states of IPU ", ipu, " add up to ", sum, " s, the makespan is ", trace.makespan_seconds, " s");
    }
  }
}

void verify(const Trace& trace) {
  verify_sums(trace);
  verify_columns(trace.intervals);
  if (trace.intervals.size() == 0) return;
  const std::vector<RepeatedWindow> windows = sorted_windows(trace);
  for (int ipu = 0; ipu < trace.ipus; ++ipu) {
    verify_cover(trace, ipu, windows);
    verify_totals(trace, ipu);
  }
}

}  // namespace podsim
