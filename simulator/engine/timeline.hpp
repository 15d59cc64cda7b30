// The timeline of one IPU: its own clock, which moves only by spending time in a state. So every instant is in exactly
// one state, by construction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/core/state.hpp"

namespace podsim::engine {

// The kernel's clock and the timelines agree but for this: the clock merges what is nearer than its resolution.
inline constexpr double kClockRoundingSeconds = 4e-12;

class Timeline {
 public:
  struct Piece {  // from the end of the one before
    double end = 0;
    std::int64_t micro_batch = -1;
    std::int32_t stage = -1;
    State state = State::Forward;
  };

  explicit Timeline(bool record) : record_(record) {}

  [[nodiscard]] double time() const { return time_; }

  // In `state` from time() until `until`; nothing where that is not later.
  void spend(State state, double until, std::int32_t stage = -1, std::int64_t micro_batch = -1) {
    if (!(until > time_)) return;
    const double seconds = until - time_;
    totals_[index_of(state)] += static_cast<long double>(until) - static_cast<long double>(time_);
    time_ = until;
    if (record_) add(seconds, state, stage, micro_batch);
  }

  using Totals = std::array<long double, kStateCount>;
  [[nodiscard]] Totals& totals() { return totals_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::vector<Piece>& pieces() { return pieces_; }

  // What is booked behind `time` belongs to micro-batches that are so much later.
  void advance_micro_batches(double time, std::int64_t micro_batches) {
    std::size_t first = pieces_.size();
    while (first > 0 && pieces_[first - 1].end > time + kClockRoundingSeconds) --first;
    if (first == pieces_.size()) return;
    const double start = first == 0 ? 0.0 : pieces_[first - 1].end;
    if (start < time - kClockRoundingSeconds) {
      Piece before = pieces_[first];
      before.end = time;
      pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(first), before);
      ++first;
    }
    for (; first < pieces_.size(); ++first) {
      if (pieces_[first].micro_batch >= 0) pieces_[first].micro_batch += micro_batches;
    }
  }

 private:
  // What is shorter than the clock's rounding (a wait for oneself) gets no piece of its own.
  void add(double seconds, State state, std::int32_t stage, std::int64_t micro_batch) {
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      const bool same = last.state == state && last.stage == stage && last.micro_batch == micro_batch;
      if (same || seconds <= kClockRoundingSeconds) {
        last.end = time_;
        return;
      }
    }
    pieces_.push_back({time_, micro_batch, stage, state});
  }

  bool record_;
  double time_ = 0;
  Totals totals_{};
  std::vector<Piece> pieces_;
};

}  // namespace podsim::engine
