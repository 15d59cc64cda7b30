// The integral up to t is the recorded intervals before t plus, for every window that has begun by then, its whole
// repetitions times its body plus the started one: a difference of two integrals at earlier times.
#include "simulator/trace/state_integral.hpp"

#include <algorithm>
#include <cmath>

namespace podsim {
namespace {

constexpr std::size_t kStride = 64;

void add(PerState& sum, const PerState& addend, double factor = 1) {
  for (std::size_t state = 0; state < kStateCount; ++state) sum[state] += factor * addend[state];
}

}  // namespace

StateIntegral::StateIntegral(const Trace& trace, int ipu)
    : trace_(trace), range_(range_of(trace.intervals, ipu)), windows_(sorted_windows(trace)) {
  PerState sum{};
  const Intervals& columns = trace_.intervals;
  for (std::size_t i = range_.begin; i < range_.end; ++i) {
    if ((i - range_.begin) % kStride == 0) checkpoints_.push_back(sum);
    sum[index_of(columns.state[i])] += columns.end[i] - columns.start[i];
  }
  PerState repeated{};
  const std::vector<RepeatedWindow> all = std::move(windows_);
  windows_.clear();
  for (const RepeatedWindow& window : all) {  // each body needs only the windows before it
    PerState body = until(window.start);
    add(body, until(window.start - window.period), -1);
    before_.push_back(repeated);
    bodies_.push_back(body);
    windows_.push_back(window);
    add(repeated, body, static_cast<double>(window.count));
  }
}

PerState StateIntegral::until(double time) const {
  PerState sum = recorded_until(time);
  const auto next = std::lower_bound(windows_.begin(), windows_.end(), time,
                                     [](const RepeatedWindow& window, double t) { return window.start < t; });
  if (next == windows_.begin()) return sum;
  const auto last = static_cast<std::size_t>(next - windows_.begin()) - 1;
  const RepeatedWindow& window = windows_[last];
  add(sum, before_[last]);
  const auto count = static_cast<double>(window.count);
  const double whole = std::min(count, std::floor((time - window.start) / window.period));
  add(sum, bodies_[last], whole);
  if (whole < count) {
    const double body_start = window.start - window.period;
    const double begun = std::clamp(time - window.start - whole * window.period, 0.0, window.period);
    add(sum, until(body_start + begun));
    add(sum, until(body_start), -1);
  }
  return sum;
}

PerState StateIntegral::recorded_until(double time) const {
  const Intervals& columns = trace_.intervals;
  const auto starts = columns.start.begin();
  const auto behind =
      static_cast<std::size_t>(std::lower_bound(starts + static_cast<std::ptrdiff_t>(range_.begin),
                                                starts + static_cast<std::ptrdiff_t>(range_.end), time) -
                               starts);
  if (behind == range_.begin) return {};
  const std::size_t checkpoint = (behind - range_.begin - 1) / kStride;
  PerState sum = checkpoints_[checkpoint];
  for (std::size_t i = range_.begin + checkpoint * kStride; i < behind; ++i) {
    sum[index_of(columns.state[i])] += std::min(time, columns.end[i]) - columns.start[i];
  }
  return sum;
}

}  // namespace podsim
