// The distributions, from 53 random bits of one draw.
#include "simulator/core/random.hpp"

#include <cmath>
#include <numbers>

#include "simulator/core/error.hpp"

namespace podsim {

double Random::uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }

double Random::normal(double mean, double deviation) {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  return mean + deviation * radius * std::cos(angle);
}

// With s^2 = ln(1 + (deviation/mean)^2) and m = ln(mean) - s^2/2, exp(N(m, s)) has the wanted moments.
double Random::log_normal(double mean, double deviation) {
  if (!(mean > 0) || !(deviation > 0)) throw InternalError("log_normal needs a positive mean and deviation");
  const double ratio = deviation / mean;
  const double variance = std::log1p(ratio * ratio);
  return std::exp(normal(std::log(mean) - variance / 2, std::sqrt(variance)));
}

double Random::exponential(double mean) { return -mean * std::log1p(-uniform()); }

// splitmix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t mixed = seed + (stream + 1) * 0x9e3779b97f4a7c15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31);
}

}  // namespace podsim
