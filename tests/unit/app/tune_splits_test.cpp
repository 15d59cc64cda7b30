// Which splits tune chooses from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "simulator/app/tune_splits.hpp"

namespace podsim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using Split = std::vector<std::int64_t>;

TEST(TuneSplits, AllOfFewLayers) {
  EXPECT_THAT(layer_splits(3, 1), ElementsAre(Split{3}));
  EXPECT_THAT(layer_splits(2, 2), ElementsAre(Split{0, 2}, Split{1, 1}, Split{2, 0}));
  EXPECT_THAT(layer_splits(2, 3), ElementsAre(Split{0, 1, 1}, Split{0, 2, 0}, Split{1, 1, 0}));
  EXPECT_THAT(layer_splits(1, 4), ::testing::IsEmpty());  // the two in the middle need one each
  // 6 layers on 4 IPUs, at least one on each of the two in the middle: the other 4 anywhere, (4 + 3 over 3) ways.
  EXPECT_EQ(layer_splits(6, 4).size(), 35U);
}

TEST(TuneSplits, EveryOneIsComplete) {
  for (const std::int64_t layers : {5, 12, 24, 48}) {
    for (std::int64_t depth = 1; depth <= 16; ++depth) {
      const std::vector<Split> splits = layer_splits(layers, depth);
      EXPECT_EQ(std::set<Split>(splits.begin(), splits.end()).size(), splits.size());
      EXPECT_LE(splits.size(), 600U) << layers << " " << depth;
      for (const Split& split : splits) {
        ASSERT_EQ(split.size(), static_cast<std::size_t>(depth));
        EXPECT_EQ(std::accumulate(split.begin(), split.end(), std::int64_t{0}), layers);
        for (std::size_t i = 0; i < split.size(); ++i) {
          EXPECT_GE(split[i], i == 0 || i + 1 == split.size() ? 0 : 1);
        }
      }
    }
  }
}

// Published splits of 24 layers: BERT-Large on 4 IPUs, GPT-2 medium on 4 (the head on the first, with 4 fewer).
TEST(TuneSplits, ManyLayersEvenlyAndTheirNeighbours) {
  const std::vector<Split> four = layer_splits(24, 4);
  for (const Split& split : {Split{3, 7, 7, 7}, Split{6, 6, 6, 6}, Split{1, 7, 8, 8}, Split{3, 7, 8, 6},
                             Split{3, 8, 6, 7}, Split{4, 6, 7, 7}}) {
    EXPECT_THAT(four, Contains(split));
  }
  EXPECT_THAT(layer_splits(24, 8), Contains(Split{1, 3, 3, 3, 4, 3, 3, 4}));
}

}  // namespace
}  // namespace podsim
