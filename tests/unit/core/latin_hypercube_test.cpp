// Every stratum of every dimension has one point, at its centre, and a seed always means the same points.
#include "simulator/core/latin_hypercube.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace podsim {
namespace {

TEST(LatinHypercube, EveryStratumHasOnePointAtItsCentre) {
  constexpr std::size_t kSamples = 40, kDimensions = 7;
  const std::vector<double> points = latin_hypercube(kSamples, kDimensions, 3);
  ASSERT_EQ(points.size(), kSamples * kDimensions);
  for (std::size_t dimension = 0; dimension < kDimensions; ++dimension) {
    std::vector<double> column;
    for (std::size_t sample = 0; sample < kSamples; ++sample) {
      column.push_back(points[sample * kDimensions + dimension]);
    }
    EXPECT_FALSE(std::is_sorted(column.begin(), column.end()));  // paired at random
    std::sort(column.begin(), column.end());
    for (std::size_t i = 0; i < kSamples; ++i) {
      EXPECT_DOUBLE_EQ(column[i], (static_cast<double>(i) + 0.5) / kSamples);
    }
  }
}

TEST(LatinHypercube, TheSeedDecides) {
  EXPECT_EQ(latin_hypercube(20, 3, 1), latin_hypercube(20, 3, 1));
  EXPECT_NE(latin_hypercube(20, 3, 1), latin_hypercube(20, 3, 2));
}

TEST(LatinHypercube, AFurtherDimensionLeavesTheOthers) {
  const std::vector<double> two = latin_hypercube(20, 2, 5), three = latin_hypercube(20, 3, 5);
  for (std::size_t sample = 0; sample < 20; ++sample) {
    EXPECT_EQ(two[2 * sample], three[3 * sample]);
    EXPECT_EQ(two[2 * sample + 1], three[3 * sample + 1]);
  }
}

}  // namespace
}  // namespace podsim
