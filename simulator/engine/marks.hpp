// When weight updates and host calls ended on all IPUs, and what was executed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace podsim::engine {

// The latest time over all IPUs at which each of a sequence of events happened.
class Marks {
 public:
  struct Mark {
    std::int64_t number = 0;
    double time = 0;
  };

  void add(std::int64_t number, double time) {
    if (log_.size() > kept_ && log_.back().number == number) {
      log_.back().time = std::max(log_.back().time, time);
    } else {
      log_.push_back({number, time});
    }
  }

  // Marks added from now on have positions from here on.
  [[nodiscard]] std::size_t position() {
    kept_ = log_.size();
    return kept_;
  }

  // The marks from `position` on happen `count` more times, `advance` numbers and `period` seconds later each time.
  void repeat(std::size_t position, std::int64_t count, std::int64_t advance, double period) {
    const std::size_t end = log_.size();
    for (std::int64_t i = 1; i <= count; ++i) {
      for (std::size_t j = position; j < end; ++j) {
        log_.push_back({log_[j].number + i * advance, log_[j].time + static_cast<double>(i) * period});
      }
    }
    kept_ = log_.size();
  }

  [[nodiscard]] std::vector<double> times() const {
    std::vector<double> times;
    for (const Mark& mark : log_) {
      const auto number = static_cast<std::size_t>(mark.number);
      if (number >= times.size()) times.resize(number + 1, 0.0);
      times[number] = std::max(times[number], mark.time);
    }
    return times;
  }

 private:
  std::vector<Mark> log_;
  std::size_t kept_ = 0;  // marks before are not merged with new ones
};

}  // namespace podsim::engine
