// The timeline of one IPU: its own clock, which moves only by spending time in a state. So every instant is in exactly
// one state, by construction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/core/state.hpp"

namespace podsim::engine {

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
    totals_[index_of(state)] += static_cast<long double>(until) - static_cast<long double>(time_);
    time_ = until;
    if (record_) add(state, stage, micro_batch);
  }

  using Totals = std::array<long double, kStateCount>;
  [[nodiscard]] Totals& totals() { return totals_; }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] std::vector<Piece>& pieces() { return pieces_; }

 private:
  void add(State state, std::int32_t stage, std::int64_t micro_batch) {
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      if (last.state == state && last.stage == stage && last.micro_batch == micro_batch) {
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
