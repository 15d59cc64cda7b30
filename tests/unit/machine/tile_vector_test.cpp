// TileVector against plain vectors of one number per tile.
#include "simulator/machine/tile_vector.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "simulator/core/error.hpp"

namespace podsim {
namespace {

TEST(TileVector, SpreadsGrainsFromTheFirstTile) {
  // 10 elements in grains of 4: two full grains and one of two elements.
  EXPECT_EQ(TileVector::spread(10, 4, 5, 6).expand(), (std::vector<double>{4, 4, 2, 0, 0, 0}));
  // 18 elements, 5 grains over 3 tiles: two tiles have two grains, one has one; the last grain of two is partial.
  EXPECT_EQ(TileVector::spread(18, 4, 3, 3).expand(), (std::vector<double>{8, 6, 4}));
  EXPECT_EQ(TileVector::spread(10, 4, 3, 4, 2).expand(), (std::vector<double>{2, 0, 4, 4}));
  EXPECT_EQ(TileVector::spread(0, 4, 3, 3).expand(), (std::vector<double>{0, 0, 0}));
}

TEST(TileVector, KeepsRunsOfEqualValues) {
  TileVector vector(3, 1.0);
  vector.append(2, 1.0);
  vector.append(0, 7.0);
  vector.append(1, 2.0);
  EXPECT_EQ(vector.runs().size(), 2U);
  EXPECT_EQ(vector.tiles(), 6);
  EXPECT_EQ(vector.at(4), 1.0);
  EXPECT_EQ(vector.at(5), 2.0);
  EXPECT_THROW((void)vector.at(6), InternalError);
}

TEST(TileVector, SpreadConservesAndBalances) {
  EXPECT_TRUE(rc::check("spread", [] {
    const int tiles = *rc::gen::inRange(1, 200);
    const int used = *rc::gen::inRange(1, tiles + 1);
    const auto grain = static_cast<std::int64_t>(*rc::gen::inRange(1, 40));
    const auto amount = static_cast<std::int64_t>(*rc::gen::inRange(0, 100000));
    const int first = *rc::gen::inRange(0, tiles);
    const std::vector<double> values = TileVector::spread(amount, grain, used, tiles, first).expand();
    RC_ASSERT(values.size() == static_cast<std::size_t>(tiles));
    RC_ASSERT(std::accumulate(values.begin(), values.end(), 0.0) == static_cast<double>(amount));
    double least = values[static_cast<std::size_t>(first)];
    double most = least;
    for (int i = 0; i < tiles; ++i) {
      const double value = values[static_cast<std::size_t>((first + i) % tiles)];
      if (i >= used) {
        RC_ASSERT(value == 0);
        continue;
      }
      least = std::min(least, value);
      most = std::max(most, value);
    }
    RC_ASSERT(most - least <= static_cast<double>(grain));
  }));
}

TEST(TileVector, AddsLikePlainVectors) {
  EXPECT_TRUE(rc::check("add", [] {
    const int tiles = *rc::gen::inRange(1, 60);
    TileVector sum;
    std::vector<double> expected(static_cast<std::size_t>(tiles), 0.0);
    for (int i = 0; i < 4; ++i) {
      const TileVector part = TileVector::spread(*rc::gen::inRange(0, 500), 3, *rc::gen::inRange(1, tiles + 1), tiles,
                                                 *rc::gen::inRange(0, tiles));
      sum += part;
      const std::vector<double> values = part.expand();
      std::transform(values.begin(), values.end(), expected.begin(), expected.begin(), std::plus<>());
    }
    RC_ASSERT(sum.expand() == expected);
    RC_ASSERT(sum.maximum() == *std::max_element(expected.begin(), expected.end()));
    RC_ASSERT(sum.scaled(2).sum() == 2 * std::accumulate(expected.begin(), expected.end(), 0.0));
  }));
}

TEST(TileVector, RefusesDifferentNumbersOfTiles) {
  TileVector vector(3, 1.0);
  EXPECT_THROW(vector += TileVector(4, 1.0), InternalError);
  EXPECT_THROW((void)TileVector::spread(1, 1, 5, 4), InternalError);
}

}  // namespace
}  // namespace podsim
