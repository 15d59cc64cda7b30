// Where activations, weights, accumulators and optimiser state live (PopTorch's TensorLocations): what each location
// frees on the tiles and costs in time. BERT-Base in four stages, two replicas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using testing::ChildResult;
using ::testing::HasSubstr;
using testing::Overrides;

struct Located {
  double seconds = 0, remote_seconds = 0, all_reduce_seconds = 0, always_live_bytes = 0;
  std::map<std::string, double> bytes;  // by category, of the first IPU
};

const char* const kCategories[] = {"activation_stashes", "weights", "gradient_accumulators", "optimizer_state"};

ChildResult run_with(Overrides overrides) {
  overrides.insert(overrides.begin(), {{"system.pod", "bow-pod16"}, {"replication_factor", "2"}});
  return testing::of_scenario("schemes/popart", overrides, [](const Simulation& simulation) {
    const Summary& summary = simulation.summary;
    std::vector<double> numbers = {
        summary.weight_update_seconds, testing::mean_seconds(simulation, State::RemoteMemory),
        testing::mean_seconds(simulation, State::AllReduce), summary.ipus[0].memory.always_live_bytes};
    for (const char* name : kCategories) {
      for (const auto& [category, bytes] : summary.ipus[0].memory.categories) {
        if (category == name) numbers.push_back(bytes);
      }
    }
    return numbers;
  });
}

Located located(const Overrides& overrides) {
  const ChildResult result = run_with(overrides);
  EXPECT_EQ(result.error, "");
  Located found;
  if (result.numbers.size() != 8) return found;
  found = {result.numbers[0], result.numbers[1], result.numbers[2], result.numbers[3], {}};
  for (std::size_t i = 0; i < 4; ++i) found.bytes[kCategories[i]] = result.numbers[4 + i];
  return found;
}

TEST(Locations, OffChipEachClassFreesItsBytesAndCostsTransfers) {
  const Located here = located({});
  EXPECT_EQ(here.remote_seconds, 0);
  const std::map<std::string, std::string> categories = {{"activations", "activation_stashes"},
                                                         {"weights", "weights"},
                                                         {"accumulators", "gradient_accumulators"},
                                                         {"optimizer_state", "optimizer_state"}};
  for (const auto& [name, category] : categories) {
    const Located there = located({{"execution.locations." + name + ".off_chip", "true"}});
    EXPECT_EQ(there.bytes.at(category), 0) << name;
    for (const auto& [other, bytes] : here.bytes) {
      if (other == category) continue;
      EXPECT_EQ(there.bytes.at(other), bytes) << name << " " << other;
    }
    EXPECT_LT(there.always_live_bytes, here.always_live_bytes) << name;
    EXPECT_GT(there.remote_seconds, 0) << name;
    EXPECT_GT(there.seconds, 1.1 * here.seconds) << name;
  }
}

// State is moved once an update, accumulators with every micro-batch (64 to an update), both ways; AdamW has two fp32
// values of state for each fp16 accumulator.
TEST(Locations, TrafficIsOnceAnUpdateOrOnceAMicroBatch) {
  const double state = located({{"execution.locations.optimizer_state.off_chip", "true"}}).remote_seconds;
  const double accumulators = located({{"execution.locations.accumulators.off_chip", "true"}}).remote_seconds;
  EXPECT_GT(accumulators / state, 64.0 / 4 * 0.8);
  EXPECT_LT(accumulators / state, 66.0 / 4 * 1.5);
}

TEST(Locations, ShardedEachClassIsHalvedOverTwoReplicas) {
  const Located whole = located({});
  for (const auto& [name, category] : std::map<std::string, std::string>{
           {"weights", "weights"}, {"accumulators", "gradient_accumulators"}, {"optimizer_state", "optimizer_state"}}) {
    const Located half = located({{"execution.locations." + name + ".sharded", "true"}});
    EXPECT_NEAR(half.bytes.at(category) / whole.bytes.at(category), 0.5, 1e-3) << name;
    EXPECT_LT(half.always_live_bytes, whole.always_live_bytes) << name;
    if (name == "optimizer_state") continue;
    EXPECT_GT(half.all_reduce_seconds, 2 * whole.all_reduce_seconds) << name;
  }
}

// Reduce-scatter and all-gather of the weights move what the all-reduce moved, and each replica updates its half.
TEST(Locations, ShardedStateCostsNoMoreTraffic) {
  const Located whole = located({}), half = located({{"execution.locations.optimizer_state.sharded", "true"}});
  EXPECT_NEAR(half.all_reduce_seconds / whole.all_reduce_seconds, 1, 0.1);
  EXPECT_LT(half.seconds, whole.seconds);
}

TEST(Locations, ActivationsDifferFromReplicaToReplica) {
  EXPECT_THAT(run_with({{"execution.locations.activations.sharded", "true"}}).error,
              HasSubstr("activations cannot be sharded"));
}

}  // namespace
}  // namespace podsim
