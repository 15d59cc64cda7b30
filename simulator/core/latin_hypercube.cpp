// One shuffled column of strata for each dimension.
#include "simulator/core/latin_hypercube.hpp"

#include <numeric>
#include <utility>

#include "simulator/core/random.hpp"

namespace podsim {

namespace {

// Fisher and Yates' shuffle.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t left = count; left > 1; --left) {
    std::swap(order[left - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(left))]);
  }
  return order;
}

}  // namespace

std::vector<double> latin_hypercube(std::size_t samples, std::size_t dimensions, std::uint64_t seed) {
  std::vector<double> points(samples * dimensions);
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    const std::vector<std::size_t> strata = shuffled(samples, derive_seed(seed, dimension));
    for (std::size_t sample = 0; sample < samples; ++sample) {
      points[sample * dimensions + dimension] =
          (static_cast<double>(strata[sample]) + 0.5) / static_cast<double>(samples);
    }
  }
  return points;
}

}  // namespace podsim
