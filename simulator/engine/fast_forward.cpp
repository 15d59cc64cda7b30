// When to look, and what to move on.
#include "simulator/engine/fast_forward.hpp"

#include <algorithm>

#include "simulator/engine/state_walk.hpp"

namespace podsim::engine {
namespace {

// A period may be several iterations long: where buffers fill in turns, for example.
constexpr std::size_t kRemembered = 4;
// Where nothing has recurred after so many iterations, look only now and then: looking costs a share of an iteration.
constexpr std::int64_t kEager = 24;
constexpr std::int64_t kLater = 16;

bool worth_looking(std::int64_t iteration) { return iteration <= kEager || iteration % kLater == 0; }

}  // namespace

void FastForward::boundary(const Ipu& first) {
  const Cursor::Frame& frame = first.cursor.frame(first.cursor.depth() - 1);
  std::deque<Snapshot>& history = history_[frame.loop];
  if (frame.iteration == 1) history.clear();
  const Loop& loop = first.cursor.code().loops[static_cast<std::size_t>(frame.loop)];
  if (frame.iteration + 1 >= loop.count || !worth_looking(frame.iteration)) return;

  Snapshot snapshot = capture();
  for (auto before = history.rbegin(); before != history.rend(); ++before) {
    if (!skip(*before, snapshot)) continue;
    history.clear();
    return;
  }
  history.push_back(std::move(snapshot));
  if (history.size() > kRemembered) history.pop_front();
}

Snapshot FastForward::capture() {
  Capture capture(parts_.kernel.now());
  StateWalk(parts_, ipus_, interpreter_, capture).walk();
  Snapshot& snapshot = capture.snapshot();
  snapshot.skipped_seconds = interpreter_.skipped_seconds();
  snapshot.update_marks = interpreter_.update_ends().position();
  snapshot.run_marks = interpreter_.run_ends().position();
  return std::move(snapshot);
}

bool FastForward::skip(const Snapshot& before, const Snapshot& after) {
  const std::int64_t count = repetitions(before, after);
  const double period = after.trace_time() - before.trace_time();
  // What is shorter than the clock's rounding took no time at all.
  if (count == 0 || !(period > kClockRoundingSeconds) || !in_step(before, after)) return false;
  skips_.push_back({after.now, after.trace_time(), period, count, skipped_micro_batches(before, after)});

  const std::int64_t updates = ipus_.front().updates;
  const std::int64_t calls = ipus_.front().calls;
  Advance advance(before, after, count);
  StateWalk(parts_, ipus_, interpreter_, advance).walk();
  interpreter_.update_ends().repeat(before.update_marks, count, (ipus_.front().updates - updates) / count, period);
  interpreter_.run_ends().repeat(before.run_marks, count, (ipus_.front().calls - calls) / count, period);
  interpreter_.skipped_seconds() += skips_.back().seconds();
  for (Ipu& ipu : ipus_) ipu.timeline.advance_micro_batches(after.now, count * skips_.back().micro_batches);
  return true;
}

// All IPUs have passed as many updates and calls, and none is ahead of the kernel's clock by more than the period:
// otherwise what they have booked already belongs to other repetitions.
bool FastForward::in_step(const Snapshot& before, const Snapshot& after) const {
  const double period = after.trace_time() - before.trace_time();
  const bool ahead =
      std::any_of(ipus_.begin(), ipus_.end(), [&](const Ipu& ipu) { return ipu.timeline.time() - after.now > period; });
  for (std::size_t i = 2; i < 2 * ipus_.size(); ++i) {  // updates and calls of each IPU come first
    const std::int64_t moved = after.counts[i] - before.counts[i];
    if (moved != after.counts[i % 2] - before.counts[i % 2]) return false;
  }
  return !ahead;
}

// The loops of the first IPU come first among the counters.
std::int64_t FastForward::skipped_micro_batches(const Snapshot& before, const Snapshot& after) const {
  const Cursor& cursor = ipus_.front().cursor;
  std::int64_t micro_batches = 0;
  for (std::size_t level = 0; level < cursor.depth(); ++level) {
    const std::int64_t iterations = after.counters[level].value - before.counters[level].value;
    micro_batches += iterations * cursor.code().loops[static_cast<std::size_t>(cursor.frame(level).loop)].stride;
  }
  return micro_batches;
}

}  // namespace podsim::engine
