// Scenario reading: what is resolved, and what a user is told when a value is wrong.
#include "simulator/app/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {
namespace {

using ::testing::HasSubstr;

Value base() {
  return parse_json(R"({
    "version": 1,
    "system": {"pod": "pod16"},
    "workload": {"model": "stage_times", "forward_seconds": 0.001, "backward_seconds": 0.002, "stages": 4},
    "ipu_config": {"replication_factor": 4, "gradient_accumulation_steps": 8}
  })",
                    "s.json");
}

std::string message(const Value& source) {
  try {
    (void)read_scenario(source, ".");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string message_with(const std::string& key, const std::string& value) {
  Value source = base();
  try {
    apply_overrides(source, {{key, value}});
  } catch (const UserError& error) {
    return error.what();
  }
  return message(source);
}

TEST(Scenario, CountsComeFromTheIpuConfig) {
  const Scenario scenario = read_scenario(base(), ".");
  EXPECT_EQ(scenario.execution.replicas, 4);
  EXPECT_EQ(scenario.execution.micro_batches, 8);
  EXPECT_EQ(scenario.execution.device_iterations, 1);
  EXPECT_EQ(scenario.schedule->name(), "pipelined");
}

TEST(Scenario, InferenceUsesTheInferenceFields) {
  Value source = base();
  apply_overrides(
      source,
      {{"workload.mode", "inference"}, {"inference_replication_factor", "2"}, {"inference_device_iterations", "7"}});
  const Scenario scenario = read_scenario(source, ".");
  EXPECT_EQ(scenario.execution.replicas, 2);
  EXPECT_EQ(scenario.execution.micro_batches, 1);
  EXPECT_EQ(scenario.execution.device_iterations, 7);
  EXPECT_EQ(scenario.execution.output_mode, OutputMode::Final);
}

TEST(Scenario, OutputModeDefaultIsAllInInference) {
  Value source = base();
  apply_overrides(source, {{"workload.mode", "inference"}, {"output_mode", "default"}});
  EXPECT_EQ(read_scenario(source, ".").execution.output_mode, OutputMode::All);
}

TEST(Scenario, UnknownKeysNameTheNearestOne) {
  EXPECT_THAT(message_with("host.prefetch_dept", "3"), HasSubstr("prefetch_depth"));
  EXPECT_THAT(message_with("system.pood", "pod4"), HasSubstr("did you mean \"pod\"?"));
  EXPECT_THAT(message_with("gradient_accumulation", "3"), HasSubstr("gradient_accumulation_steps"));
}

TEST(Scenario, WrongTypesNameFileAndPointer) {
  EXPECT_THAT(message_with("workload.micro_batch_size", "3.7"), HasSubstr("micro_batch_size"));
  EXPECT_THAT(message_with("runs", "\"two\""), HasSubstr("runs"));
  EXPECT_THAT(message_with("version", "2"), HasSubstr("version"));
}

TEST(Scenario, ASystemIsEitherAPodOrATopology) {
  EXPECT_THAT(message_with("system", "{}"), HasSubstr("either a pod or a topology"));
}

TEST(Scenario, RealDataOptionsNeedRealData) {
  EXPECT_THAT(message_with("host.prefetch_depth", "3"), HasSubstr("prefetch_depth has no effect on synthetic data"));
}

TEST(Scenario, InstancesMustDivideReplicas) {
  EXPECT_THAT(message_with("host.instances", "3"), HasSubstr("3 instances cannot share 4 replicas evenly"));
}

TEST(Scenario, AScheduleHasOneName) {
  EXPECT_THAT(message_with("schedule", R"({"pipelined": {}, "sharded": {}})"), HasSubstr("one name and its options"));
  EXPECT_THAT(message_with("schedule", "pipelind"), HasSubstr("pipelined"));
}

TEST(Scenario, ADeviationNeedsADistribution) {
  Value source = base();
  apply_overrides(source, {{"host.data", "real"}, {"host.preprocess_deviation_seconds", "0.1"}});
  EXPECT_THAT(message(source), HasSubstr("a deviation belongs to"));
}

TEST(Scenario, InferenceHasNoRecomputationOrFp8Stashes) {
  Value source = base();
  apply_overrides(source, {{"workload.mode", "inference"}});
  Value recompute = source;
  apply_overrides(recompute, {{"execution.recomputation", "stage"}});
  EXPECT_THAT(message(recompute), HasSubstr("inference recomputes nothing"));
  Value fp8 = source;
  apply_overrides(fp8, {{"execution.checkpoint_type", "fp8"}});
  EXPECT_THAT(message(fp8), HasSubstr("inference stashes no activations"));
}

TEST(Scenario, HalfPartialsNeedHalfOperands) {
  Value source = base();
  apply_overrides(source, {{"workload.precision", "fp32"}, {"execution.partials", "fp16"}});
  EXPECT_THAT(message(source), HasSubstr("fp32 operands have fp32 partials"));
}

TEST(Scenario, OverlapNeedsIoTiles) {
  EXPECT_THAT(message_with("execution.io_overlap", "accumulation_loop"), HasSubstr("overlapped IO needs IO tiles"));
}

TEST(Scenario, LocationsNameTheirClasses) {
  EXPECT_THAT(message_with("execution.locations", R"({"momentum": {"off_chip": true}})"),
              HasSubstr("unknown class of tensors"));
  EXPECT_THAT(message_with("execution.locations", R"({"weights": {"sharding_domain": 2}})"),
              HasSubstr("need sharded tensors"));
}

TEST(Scenario, ConfigFilesAreReadWhereTheScenarioIs) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "config.json") << R"({"replication_factor": 2})";
  Value source = base();
  source.set("ipu_config", "config.json");
  EXPECT_EQ(read_scenario(source, folder).execution.replicas, 2);
}

TEST(Overrides, ListsWithCommasAndBrackets) {
  const std::vector<Override> overrides = parse_overrides("a=1,b=[1 2,3], c.d=x");
  ASSERT_EQ(overrides.size(), 3U);
  EXPECT_EQ(overrides[1], Override("b", "[1 2,3]"));
  EXPECT_EQ(overrides[2], Override("c.d", "x"));
  EXPECT_THROW((void)parse_overrides("novalue"), UserError);
}

TEST(Overrides, ShortNames) {
  EXPECT_EQ(full_path("replication_factor"), "ipu_config.replication_factor");
  EXPECT_EQ(full_path("pipeline_depth"), "partition.pipeline_depth");
  EXPECT_EQ(full_path("system.pod"), "system.pod");
  EXPECT_THROW((void)full_path("nonsense"), UserError);
}

}  // namespace
}  // namespace podsim
