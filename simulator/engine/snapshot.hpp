// The state of the whole system at an instant, relative to that instant: two equal snapshots have equal futures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/engine/timeline.hpp"

namespace podsim::engine {

struct Snapshot {
  struct Counter {
    std::int64_t value = 0;
    std::int64_t limit = 0;  // behaviour changes when the counter reaches it, and depends on it in no other way
    int group = 0;           // of nested loops, of which only one may move on; 0: on its own
  };

  double now = 0;              // of the kernel's clock
  double skipped_seconds = 0;  // that the trace's clock is ahead of it
  std::size_t update_marks = 0, run_marks = 0;
  std::vector<std::int64_t> words;   // must be equal
  std::vector<double> times;         // from now; must be equal but for rounding
  std::vector<double> bytes;         // left of flows; the same
  std::vector<Counter> counters;     // may have moved on
  std::vector<long double> totals;   // add up; do not decide anything
  std::vector<std::int64_t> counts;  // the same

  [[nodiscard]] double trace_time() const { return now + skipped_seconds; }
};

// How often the period between two snapshots can be repeated without anything happening that did not happen in it: 0
// where the states differ or a counter is too near to its limit.
[[nodiscard]] std::int64_t repetitions(const Snapshot& before, const Snapshot& after);

// Visits the state and writes it down.
class Capture {
 public:
  explicit Capture(double now) { snapshot_.now = now; }

  void word(std::int64_t value) { snapshot_.words.push_back(value); }
  void time(double value) { snapshot_.times.push_back(value - snapshot_.now); }
  void duration(double value) { snapshot_.times.push_back(value); }
  void bytes(double value) { snapshot_.bytes.push_back(value); }
  template <typename Advance>
  void counter(std::int64_t value, std::int64_t limit, int group, const Advance& /*advance*/) {
    snapshot_.counters.push_back({value, limit, group});
  }
  void total(double value) { snapshot_.totals.push_back(value); }
  void timeline(const Timeline::Totals& totals) {
    snapshot_.totals.insert(snapshot_.totals.end(), totals.begin(), totals.end());
  }
  void count(std::int64_t value) { snapshot_.counts.push_back(value); }

  [[nodiscard]] Snapshot& snapshot() { return snapshot_; }

 private:
  Snapshot snapshot_;
};

// Visits the state in the same order and moves it on by whole periods.
class Advance {
 public:
  Advance(const Snapshot& before, const Snapshot& after, std::int64_t periods)
      : before_(before),
        after_(after),
        periods_(periods),
        seconds_(static_cast<long double>(after.trace_time() - before.trace_time()) *
                 static_cast<long double>(periods)) {}

  void word(std::int64_t /*value*/) {}
  void time(double /*value*/) {}
  void duration(double /*value*/) {}
  void bytes(double /*value*/) {}
  template <typename Move>
  void counter(std::int64_t /*value*/, std::int64_t /*limit*/, int /*group*/, const Move& move) {
    const std::int64_t delta = after_.counters[counter_].value - before_.counters[counter_].value;
    ++counter_;
    if (delta != 0) move(delta * periods_);
  }
  void total(double& value) { value += static_cast<double>(next_total()); }
  void timeline(Timeline::Totals& totals);
  void count(std::int64_t& value) {
    value += (after_.counts[count_] - before_.counts[count_]) * periods_;
    ++count_;
  }

 private:
  long double next_total() {
    const long double delta = after_.totals[total_] - before_.totals[total_];
    ++total_;
    return delta * static_cast<long double>(periods_);
  }

  const Snapshot& before_;
  const Snapshot& after_;
  std::int64_t periods_;
  long double seconds_;
  std::size_t counter_ = 0, total_ = 0, count_ = 0;
};

}  // namespace podsim::engine
