// Is the automatic split optimal? Against every split of small chains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "simulator/core/random.hpp"
#include "simulator/partition/assignment.hpp"
#include "tests/unit/partition/models.hpp"

namespace podsim {
namespace {

using test::chain;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

double largest_part(const std::vector<double>& costs, const std::vector<int>& sizes, double first_extra) {
  double largest = 0, extra = first_extra;
  auto next = costs.begin();
  for (const int size : sizes) {
    largest = std::max(largest, std::accumulate(next, next + size, extra));
    next += size;
    extra = 0;
  }
  return largest;
}

double best_by_trying_all(const std::vector<double>& costs, int parts, double first_extra) {
  double best = 1e300;
  for (unsigned cuts = 0; cuts < (1U << (costs.size() - 1)); ++cuts) {
    std::vector<int> sizes(1, 1);
    for (std::size_t index = 0; index + 1 < costs.size(); ++index) {
      if ((cuts >> index) & 1U)
        sizes.push_back(1);
      else
        ++sizes.back();
    }
    if (static_cast<int>(sizes.size()) == parts) best = std::min(best, largest_part(costs, sizes, first_extra));
  }
  return best;
}

TEST(Balance, IsNoWorseThanAnyOtherSplit) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> costs(3 + static_cast<std::size_t>(random.uniform() * 8));
    for (double& cost : costs) cost = random.uniform();
    const int parts = 1 + static_cast<int>(random.uniform() * 3);
    const double extra = random.uniform();
    const std::vector<int> sizes = balance(costs, parts, extra);
    ASSERT_EQ(static_cast<int>(sizes.size()), parts);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), 0), static_cast<int>(costs.size()));
    EXPECT_NEAR(largest_part(costs, sizes, extra), best_by_trying_all(costs, parts, extra), 1e-12);
  }
}

TEST(Balance, PrefersTheEvenSplitAmongEquals) { EXPECT_THAT(balance({4, 1, 1, 1, 1}, 3), ElementsAre(1, 2, 2)); }

TEST(PipelineDepth, UsesTheCostOfOperators) {
  const WorkloadGraph graph = chain(4);
  PartitionRequest request;
  request.pipeline_depth = 2;
  request.operator_cost = [](const Operator& op) { return op.name == "op3" ? 3.0 : 1.0; };
  const StagedModel model = partition(graph, request);
  EXPECT_THAT(model.stages[0].blocks, ElementsAre("B1", "B2", "B3"));
  EXPECT_THAT(model.stages[1].blocks, ElementsAre("B4"));
}

// The tied head's cost counts on IPU 0, which therefore gets fewer layers than the last.
TEST(PipelineDepth, CountsATiedHeadOnTheFirstIpu) {
  PartitionRequest request;
  request.pipeline_depth = 4;
  const StagedModel model =
      partition(*test::workload("bert", R"({"variant": "large", "masked_tokens": 128})"), request);
  EXPECT_THAT(test::ipus_of(model), ElementsAre(0, 1, 2, 3, 0));
  EXPECT_LT(test::layers_of(model)[0], test::layers_of(model)[3]);
}

TEST(PipelineDepth, CannotExceedTheBlocks) {
  PartitionRequest request;
  request.pipeline_depth = 8;
  request.where = "s.json:/partition";
  EXPECT_THAT(test::message_of(chain(4), request),
              HasSubstr("s.json:/partition|pipeline_depth 8 is more than the 4 blocks that can be split"));
}

}  // namespace
}  // namespace podsim
