// Scenario reading: what is resolved, and what a user is told when a value is wrong.
#include "simulator/app/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {
namespace {

using ::testing::ElementsAre;
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
  EXPECT_THAT(message_with("host", R"({"batches_ahead": 3, "asynchronous": false, "data": "real"})"),
              HasSubstr("prepares nothing ahead"));
  EXPECT_THAT(message_with("host", R"({"batches_ahead": 3, "prefetch_depth": 3})"), HasSubstr("prefetch_depth"));
  EXPECT_THAT(message_with("host.epoch_start_seconds", "0.1"), HasSubstr("no epochs of a loader"));
}

TEST(Scenario, SyntheticDataHasNoResults) {
  EXPECT_THAT(message_with("execution.output_period", "4"), HasSubstr("with synthetic data no results return"));
}

std::vector<std::string> warnings_with(const std::vector<Override>& overrides) {
  Value source = base();
  apply_overrides(source, overrides);
  return read_scenario(source, ".").warnings;
}

TEST(Scenario, OptionsOfWorkersWithoutWorkAreWarnedOf) {
  EXPECT_THAT(warnings_with({{"host.data", "real"}, {"host.preprocess_distribution", "exponential"}}),
              ElementsAre(HasSubstr("preprocess_distribution has no effect: preparing a sample takes no time")));
  EXPECT_THAT(warnings_with({{"host", R"({"data": "real", "preprocess_on": "ipu", "workers": 4,
                                          "preprocess_seconds_per_sample": 0.001})"},
                             {"workload", R"({"model": "mlp"})"}}),
              ElementsAre(HasSubstr("workers has no effect: the IPU prepares the samples"),
                          HasSubstr("preprocess_seconds_per_sample has no effect: the IPU prepares")));
}

TEST(Scenario, ShardingNeedsReplicas) {
  EXPECT_THAT(warnings_with({{"replication_factor", "1"}, {"execution.locations.weights.sharded", "true"}}),
              ElementsAre(HasSubstr("locations.weights.sharded has no effect with one replica")));
  EXPECT_TRUE(warnings_with({{"execution.locations.weights.sharded", "true"}}).empty());
}

TEST(Scenario, PhasesThatAreNotPreloadedAreWarnedOf) {
  const std::vector<Override> phased = {{"schedule", R"({"phased": {}})"},
                                        {"execution.locations.weights.off_chip", "true"}};
  const auto with = [&](std::vector<Override> more) {
    more.insert(more.begin(), phased.begin(), phased.end());
    return warnings_with(more);
  };
  EXPECT_THAT(with({}), ElementsAre(HasSubstr("serial ones need IO tiles (host.io_tiles)")));
  EXPECT_THAT(with({{"host.io_tiles", "32"}, {"execution.io_overlap", "none"}}),
              ElementsAre(HasSubstr("phases are not preloaded")));
  EXPECT_TRUE(with({{"host.io_tiles", "32"}}).empty());  // auto overlaps, without host data, too
  EXPECT_TRUE(with({{"schedule.phased.preload", "false"}}).empty());
  EXPECT_THAT(with({{"schedule.phased.mode", "parallel"}}), ElementsAre(HasSubstr("a sync_pattern other than full")));
  EXPECT_TRUE(with({{"schedule.phased.mode", "parallel"}, {"execution.sync_pattern", "replica_and_ladder"}}).empty());
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

TEST(Scenario, OnlyModelsThatReadAConfigTakeOne) {
  int readers = 0;
  for (const Workload* workload : workloads()) {
    Value source = base();
    source.set("workload", Value(Value::Object{{"model", workload->name()}, {"config", Value(Value::Object{})}}));
    if (workload->name() == "stage_times") source.member("workload").set("forward_seconds", 0.001);
    if (workload->name() == "onnx") source.member("workload").set("file", "model.onnx");
    const std::string refusal = "the model " + workload->name() + " reads no configuration file";
    readers += workload->reads_config() ? 1 : 0;
    EXPECT_THAT(message(source), workload->reads_config() ? HasSubstr("no error") : HasSubstr(refusal));
  }
  EXPECT_EQ(readers, 5);  // bert, gpt2, graph, resnet50, vit
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
