// A query is answered piece by piece: what was recorded, and for each repetition the same query moved back in time.
#include "simulator/trace/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace podsim {
namespace {

// Differences of times below this share of the makespan are rounding, not intervals.
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();

struct Shift {
  double seconds = 0;
  std::int64_t micro_batches = 0;
};

class Expansion {
 public:
  Expansion(const Trace& trace, int ipu, const std::function<void(const Interval&)>& visit)
      : trace_(trace),
        range_(range_of(trace.intervals, ipu)),
        windows_(sorted_windows(trace)),
        rounding_(kRounding * trace.makespan_seconds),
        visit_(visit) {}

  void run(double from, double to) {
    emit(from, std::min(to, trace_.makespan_seconds), {});
    if (pending_) visit_(*pending_);
  }

 private:
  // Everything in [from, to) of the recorded time axis, moved by `shift`.
  void emit(double from, double to, Shift shift) {
    double reached = from;
    const auto behind = [](const RepeatedWindow& window, double time) { return end_of(window) <= time; };
    auto window = std::lower_bound(windows_.begin(), windows_.end(), from, behind);
    for (; window != windows_.end() && window->start < to; ++window) {
      emit_recorded(reached, window->start, shift);
      emit_repetitions(*window, std::max(from, window->start), std::min(to, end_of(*window)), shift);
      reached = end_of(*window);
    }
    emit_recorded(reached, to, shift);
  }

  void emit_repetitions(const RepeatedWindow& window, double from, double to, Shift shift) {
    const double body_start = window.start - window.period;
    auto copy = static_cast<std::int64_t>(std::floor((from - window.start) / window.period));
    for (; copy < window.count && window.start + static_cast<double>(copy) * window.period < to; ++copy) {
      const double back = static_cast<double>(copy + 1) * window.period;
      const double copy_from = std::clamp(from - back, body_start, window.start);
      const double copy_to = std::clamp(to - back, body_start, window.start);
      if (copy_to - copy_from <= rounding_) continue;
      emit(copy_from, copy_to, {shift.seconds + back, shift.micro_batches + (copy + 1) * window.micro_batches});
    }
  }

  void emit_recorded(double from, double to, Shift shift) {
    if (to - from <= rounding_) return;
    const Intervals& columns = trace_.intervals;
    const auto ends = columns.end.begin();
    const auto first = std::upper_bound(ends + static_cast<std::ptrdiff_t>(range_.begin),
                                        ends + static_cast<std::ptrdiff_t>(range_.end), from);
    for (auto i = static_cast<std::size_t>(first - ends); i < range_.end && columns.start[i] < to; ++i) {
      const double start = std::max(from, columns.start[i]);
      const double end = std::min(to, columns.end[i]);
      if (end - start <= rounding_) continue;
      const std::int64_t micro_batch =
          columns.micro_batch[i] < 0 ? columns.micro_batch[i] : columns.micro_batch[i] + shift.micro_batches;
      add({columns.ipu[i], columns.state[i], columns.stage[i], micro_batch, start + shift.seconds, end + shift.seconds},
          start - from <= rounding_, to - end <= rounding_);
    }
  }

  void add(const Interval& next, bool starts_at_seam, bool ends_at_seam) {
    if (pending_ && pending_at_seam_ && starts_at_seam && pending_->state == next.state &&
        pending_->stage == next.stage && pending_->micro_batch == next.micro_batch) {
      pending_->end = next.end;
    } else {
      if (pending_) visit_(*pending_);
      pending_ = next;
    }
    pending_at_seam_ = ends_at_seam;
  }

  static double end_of(const RepeatedWindow& window) {
    return window.start + static_cast<double>(window.count) * window.period;
  }

  const Trace& trace_;
  IntervalRange range_;
  std::vector<RepeatedWindow> windows_;
  double rounding_;
  const std::function<void(const Interval&)>& visit_;
  std::optional<Interval> pending_;
  bool pending_at_seam_ = false;
};

}  // namespace

std::vector<RepeatedWindow> sorted_windows(const Trace& trace) {
  std::vector<RepeatedWindow> windows = trace.repeats;
  std::erase_if(windows, [](const RepeatedWindow& window) { return window.count <= 0 || window.period <= 0; });
  std::stable_sort(windows.begin(), windows.end(),
                   [](const RepeatedWindow& left, const RepeatedWindow& right) { return left.start < right.start; });
  return windows;
}

IntervalRange range_of(const Intervals& intervals, int ipu) {
  const auto [first, last] = std::equal_range(intervals.ipu.begin(), intervals.ipu.end(), ipu);
  return {static_cast<std::size_t>(first - intervals.ipu.begin()),
          static_cast<std::size_t>(last - intervals.ipu.begin())};
}

void visit_intervals(const Trace& trace, int ipu, double from, double to,
                     const std::function<void(const Interval&)>& visit) {
  Expansion(trace, ipu, visit).run(from, to);
}

Intervals expand_repeats(const Trace& trace, double from, double to) {
  Intervals expanded;
  for (int ipu = 0; ipu < trace.ipus; ++ipu) {
    visit_intervals(trace, ipu, from, to, [&expanded](const Interval& interval) {
      expanded.ipu.push_back(interval.ipu);
      expanded.state.push_back(interval.state);
      expanded.stage.push_back(interval.stage);
      expanded.micro_batch.push_back(interval.micro_batch);
      expanded.start.push_back(interval.start);
      expanded.end.push_back(interval.end);
    });
  }
  return expanded;
}

}  // namespace podsim
