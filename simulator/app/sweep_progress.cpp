// The rate is that of this run: points that an earlier one has finished do not count.
#include "simulator/app/sweep_progress.hpp"

#include <fmt/core.h>

#include <iostream>

#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr auto kPause = std::chrono::milliseconds(200);

}  // namespace

SweepProgress::SweepProgress(std::size_t points, std::size_t done_before, bool shown)
    : points_(points), done_before_(done_before), shown_(shown) {}

SweepProgress::~SweepProgress() {
  if (shown_) std::cerr << "\r\033[K" << std::flush;
}

bool SweepProgress::due() const { return shown_ && Clock::now() >= next_; }

void SweepProgress::show(std::size_t done) {
  if (!shown_) return;
  const auto now = Clock::now();
  next_ = now + kPause;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const auto here = static_cast<double>(done - done_before_);
  const double rate = seconds > 0 ? here / seconds : 0;
  std::cerr << fmt::format("\r\033[K{} of {} points", format_count(static_cast<long long>(done)),
                           format_count(static_cast<long long>(points_)));
  if (rate > 0) {
    std::cerr << fmt::format(", {:.3g} points/s, {} left", rate,
                             format_seconds(static_cast<double>(points_ - done) / rate));
  }
  std::cerr << std::flush;
}

}  // namespace podsim
