// SweepProgress: one line on a terminal with points done, rate and time left.
#pragma once

#include <chrono>
#include <cstddef>

namespace podsim {

class SweepProgress {
 public:
  SweepProgress(std::size_t points, std::size_t done_before, bool shown);
  ~SweepProgress();  // removes the line
  SweepProgress(const SweepProgress&) = delete;
  SweepProgress& operator=(const SweepProgress&) = delete;

  // True when it is time to count again (some times in a second).
  [[nodiscard]] bool due() const;
  void show(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t points_;
  std::size_t done_before_;
  bool shown_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = Clock::now();
};

}  // namespace podsim
