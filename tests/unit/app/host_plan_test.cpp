// Host calls that handle their inputs before the IPUs start.
#include "simulator/app/host_plan.hpp"

#include <gtest/gtest.h>

#include "simulator/config/json.hpp"

namespace podsim {
namespace {

using Overrides = std::vector<Override>;

Value scenario(const std::string& framework, const std::string& data) {
  return parse_json(R"({"version": 1, "system": {"pod": "pod16"},
    "workload": {"model": "small_cnn", "micro_batch_size": 16, "precision": "fp32"},
    "ipu_config": {"replication_factor": 4, "gradient_accumulation_steps": 3, "device_iterations": 5},
    "schedule": "sharded", "host": {"framework": ")" +
                        framework + R"(", "data": ")" + data + R"(", "instances": 2}})",
                    "test");
}

double call_seconds(const std::string& framework, const std::string& data) {
  return compile(read_scenario(scenario(framework, data), "."), DataFolder()).program.host.call_overhead_seconds;
}

// 16 samples x 3 x 5 x 4 replicas / 2 instances, each of 128 x 128 fp32 values and a label of 4 bytes.
TEST(HostPlan, PopTorchHandlesTheInputsOfItsInstanceInTheCall) {
  const ParameterSet frameworks(DataFolder().load("software/frameworks"));
  const double samples = 16 * 3 * 5 * 4 / 2;
  const double bytes = 128 * 128 * 4 + 4;
  const double expected = samples * (frameworks.get("call_seconds_per_sample_poptorch") +
                                     bytes * frameworks.get("call_seconds_per_byte_poptorch"));
  ASSERT_GT(expected, 0);
  EXPECT_NEAR(call_seconds("poptorch", "real") - call_seconds("poptorch", "synthetic"), expected, 1e-12);
}

TEST(HostPlan, PopartFetchesDataWhileTheIpusRun) {
  EXPECT_EQ(call_seconds("popart", "real"), call_seconds("popart", "synthetic"));
}

TEST(HostPlan, PopTorchsLoaderStartsWithEachEpoch) {
  // 10,000 images are ten calls of 16 x 3 x 5 x 4.
  const auto plan = [](const Overrides& overrides) {
    Value value = scenario("poptorch", "synthetic");
    apply_overrides(value, overrides);
    return compile(read_scenario(value, "."), DataFolder()).program.host;
  };
  const ParameterSet frameworks(DataFolder().load("software/frameworks"));
  const Overrides epochs = {{"dataset_samples", "10000"}, {"epochs", "2"}, {"host.batches_ahead", "3"}};
  EXPECT_EQ(plan(epochs).calls_per_epoch, 10);
  EXPECT_EQ(plan(epochs).epoch_start_seconds, frameworks.get("epoch_start_poptorch"));
  Overrides given = epochs;
  given.push_back({"host.epoch_start_seconds", "0.5"});
  EXPECT_EQ(plan(given).epoch_start_seconds, 0.5);
  Overrides other = epochs;
  other.push_back({"host.framework", "popart"});
  EXPECT_EQ(plan(other).epoch_start_seconds, 0);
  EXPECT_EQ(plan({{"dataset_samples", "10000"}}).calls_per_epoch, 0);  // samples go to the streams one by one
}

}  // namespace
}  // namespace podsim
