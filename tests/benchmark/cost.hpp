// What a piece of work costs in a process of its own: CPU time and largest memory.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>

#include "tests/support/child_process.hpp"

namespace podsim::benchmark {

struct Cost {
  double seconds = 0;  // CPU
  double megabytes = 0;
  double result = 0;  // what the work returned
  std::string error;
};

inline double cpu_seconds(int who = RUSAGE_SELF) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

inline double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

// `work` in a child process; it returns a number (activities, bytes, …).
template <typename Work>
Cost measure(const Work& work) {
  const auto result = testing::in_child([&work]() -> std::vector<double> {
    const double start = cpu_seconds();
    const double returned = work();
    return {cpu_seconds() - start, peak_megabytes(), returned};
  });
  if (result.numbers.size() != 3) return {0, 0, 0, result.error};
  return {result.numbers[0], result.numbers[1], result.numbers[2], {}};
}

inline bool report(::benchmark::State& state, const Cost& cost) {
  if (cost.seconds <= 0) {
    state.SkipWithError(cost.error.c_str());
    return false;
  }
  state.SetIterationTime(cost.seconds);
  state.counters["MB"] = cost.megabytes;
  return true;
}

}  // namespace podsim::benchmark
