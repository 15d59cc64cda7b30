// Seeded random draws that are the same on every machine: std::mt19937_64 is fixed by the standard,
// the distributions of the standard library are not, so they are ours.
#pragma once

#include <cstdint>
#include <random>

namespace podsim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform();                                  // [0, 1)
  double normal(double mean, double deviation);      // Box-Muller
  double log_normal(double mean, double deviation);  // mean and deviation of the result itself, both > 0
  double exponential(double mean);

 private:
  std::mt19937_64 engine_;
};

// A well-mixed seed for stream number `stream` under `seed` (splitmix64).
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream);

}  // namespace podsim
