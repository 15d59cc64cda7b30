// Latin hypercube sampling: few points that cover every dimension evenly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace podsim {

// `samples` points of the unit cube, samples x dimensions, row by row: in each dimension every one of `samples` equal
// strata has one point, at its centre, and the strata of different dimensions are paired at random (McKay, Beckman and
// Conover, "A comparison of three methods for selecting values of input variables", Technometrics 21, 1979). Centres
// make quantiles of a figure that depends on one dimension exact. The same seed gives the same points everywhere.
[[nodiscard]] std::vector<double> latin_hypercube(std::size_t samples, std::size_t dimensions, std::uint64_t seed);

}  // namespace podsim
