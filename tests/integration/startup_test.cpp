// Start-up against the figures it was derived from, and the rules that PyTorch Lightning and PopTorch state, by their
// messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulator/output/summary_json.hpp"
#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using testing::ChildResult;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::of_scenario;
using testing::of_text;
using testing::Overrides;

std::vector<double> startup(const std::string& scenario, const Overrides& overrides) {
  const ChildResult result = of_scenario(scenario, overrides, [](const Simulation& simulation) -> std::vector<double> {
    const StartupSummary& startup = simulation.summary.startup;
    return {startup.compile_seconds.value_or(-1), startup.load_seconds.value_or(-1),
            startup.executable_upload_seconds,    startup.weight_upload_seconds,
            simulation.trace.makespan_seconds,    startup.store_seconds.value_or(-1)};
  });
  EXPECT_EQ(result.error, "");
  return result.numbers;
}

// Printed times of "Graph compilation" (sources: topology/data/software/frameworks.json).
TEST(Startup, CompilationTakesAboutWhatPopTorchPrints) {
  const Overrides base = {{"workload.config.num_hidden_layers", "12"},
                          {"workload.config.hidden_size", "768"},
                          {"workload.config.intermediate_size", "3072"},
                          {"workload.config.num_attention_heads", "12"},
                          {"layers_per_ipu", "[0 4 4 4]"},
                          {"replication_factor", "1"},
                          {"allow_out_of_memory", "true"}};
  const Overrides large = {
      {"system.pod", "pod64"}, {"replication_factor", "16"}, {"gradient_accumulation_steps", "512"}};
  const auto seconds = [](const std::string& scenario, const Overrides& overrides) {
    return startup(scenario, overrides).at(0);
  };
  const std::pair<double, double> times[] = {{seconds("mnist_pipeline_pod4", {{"epochs", "1"}}), 91},
                                             {seconds("mnist_inference_pod4", {}), 35},
                                             {seconds("bert_large_bow_pod16", base), 482},
                                             {seconds("bert_large_bow_pod16", large), 611}};
  for (const auto& [predicted, printed] : times) {
    EXPECT_GT(predicted, printed / 1.7) << printed;
    EXPECT_LT(predicted, printed * 1.7) << printed;
  }
}

TEST(Startup, IdenticalLayersAreCompiledOnce) {
  const auto seconds = [](int layers, const std::string& outlining) {
    return startup("bert_large_bow_pod16", {{"workload.config.num_hidden_layers", std::to_string(layers)},
                                            {"layers_per_ipu", "[-1]"},
                                            {"ipus_per_replica", "4"},
                                            {"execution.outlining", outlining},
                                            {"allow_out_of_memory", "true"}})
        .at(0);
  };
  EXPECT_LT(seconds(24, "true"), 1.3 * seconds(12, "true"));
  EXPECT_GT(seconds(24, "false"), 1.6 * seconds(12, "false"));
  EXPECT_GT(seconds(12, "false"), 1.5 * seconds(12, "true"));
}

TEST(Startup, ASecondGraphIsCompiledToo) {
  const auto one = startup("mnist_pipeline_pod4", {{"epochs", "1"}});
  const auto two = startup("mnist_pipeline_pod4", {{"epochs", "1"}, {"host.second_graph_every", "100"}});
  EXPECT_EQ(two[0], 2 * one[0]);
}

TEST(Startup, ACacheIsFilledInTheFirstRunAndLoadedLater) {
  const auto compiled = startup("mnist_pipeline_pod4", {{"epochs", "1"}});
  const auto cached = startup("mnist_pipeline_pod4", {{"epochs", "1"}, {"executable_cache_dir", "cache"}});
  EXPECT_EQ(compiled[1], -1);
  EXPECT_EQ(compiled[5], -1);
  EXPECT_EQ(cached[0], compiled[0]);
  EXPECT_GT(cached[5], cached[1]);  // storing
  EXPECT_GT(cached[1], 0);
  EXPECT_LT(cached[1], 1);
  EXPECT_EQ(compiled[4], cached[4]);  // the runs do not change
}

TEST(Startup, AllReplicasGetTheirWeightsOverTheSharedHostPath) {
  const auto text = [](int replicas) {
    return R"({"version": 1, "system": {"pod": "pod16"},
      "workload": {"model": "stage_times", "stages": 2, "forward_seconds": 0.001, "weight_bytes": 100000000},
      "ipu_config": {"gradient_accumulation_steps": 2, "replication_factor": )" +
           std::to_string(replicas) + "}}";
  };
  const auto figures = [](const Simulation& simulation) -> std::vector<double> {
    double slowest = 0;  // of the host's network
    const Topology& topology = *simulation.compilation.topology;
    for (const int link : topology.host_to_memory(0, 0).links) {
      slowest = std::max(slowest, 1e8 / topology.links()[static_cast<std::size_t>(link)].bytes_per_second);
    }
    return {simulation.summary.startup.weight_upload_seconds, slowest,
            simulation.summary.startup.compile_seconds ? 1.0 : 0.0};
  };
  const auto one = of_text(text(1), {}, figures), eight = of_text(text(8), {}, figures);
  ASSERT_EQ(one.error + eight.error, "");
  EXPECT_NEAR(eight.numbers[0] / one.numbers[0], 8, 0.01);
  EXPECT_NEAR(one.numbers[0] / (2 * one.numbers[1]), 1, 0.01);
  EXPECT_EQ(one.numbers[2], 0);  // no graph to compile
}

TEST(Startup, IsAnObjectOfItsOwnInJson) {
  Summary summary;
  summary.startup.compile_seconds = 91;
  summary.startup.weight_upload_seconds = 0.5;
  const std::string json = summary_json(summary);
  EXPECT_THAT(json, HasSubstr("\"startup\": {\n    \"compile_seconds\": 91.0,"));
  EXPECT_THAT(json, HasSubstr("\"weight_upload_seconds\": 0.5"));
  EXPECT_THAT(json, Not(HasSubstr("\"load_seconds")));
}

std::string message(const Overrides& overrides, const std::string& scenario = "mnist_pipeline_pod4") {
  return of_scenario(scenario, overrides, [](const Simulation&) -> std::vector<double> { return {}; }).error;
}

TEST(Lightning, DevicesAreReplicasOfTheModel) {
  // Split on 2 IPUs with devices 4: 8 IPUs.
  const Overrides split = {{"partition.stages", R"([{"blocks": ["B1", "B2"]}, {"blocks": ["B3", "B4"]}])"},
                           {"ipus_per_replica", "2"},
                           {"system.devices", "4"},
                           {"epochs", "1"}};
  EXPECT_THAT(message(split), HasSubstr("4 replicas of 2 IPUs need 8 IPUs; pod4 has 4"));
  Overrides larger = split;
  larger.emplace_back("system.pod", "pod16");
  const ChildResult result = of_scenario("mnist_pipeline_pod4", larger, [](const Simulation& simulation) {
    return std::vector<double>{static_cast<double>(simulation.trace.ipus), simulation.summary.samples_per_run};
  });
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.numbers, (std::vector<double>{8, 4 * 4000}));
}

TEST(Lightning, DevicesAreAPowerOfTwo) {
  EXPECT_THAT(message({{"system.devices", "3"}}),
              AllOf(HasSubstr("3 devices are not possible: the number must be a power of 2"), HasSubstr("2 or 4")));
  EXPECT_THAT(message({{"system.devices", "2"}, {"replication_factor", "2"}}),
              HasSubstr("devices and replication_factor both count the replicas"));
}

TEST(PopTorch, IpusAreHandedOutInPowersOfTwo) {
  const Overrides three = {
      {"partition.stages", R"([{"blocks": ["B1"]}, {"blocks": ["B2"]}, {"blocks": ["B3", "B4"]}])"},
      {"ipus_per_replica", "3"},
      {"epochs", "1"}};
  EXPECT_THAT(message(three),
              AllOf(HasSubstr("a replica of 3 IPUs is not possible"), HasSubstr("auto_round_num_ipus")));
  Overrides rounded = three;
  rounded.emplace_back("partition.auto_round_num_ipus", "true");
  EXPECT_EQ(message(rounded), "");
  const Overrides replicas = {{"system.pod", "pod16"}, {"replication_factor", "3"}, {"epochs", "1"}};
  EXPECT_THAT(message(replicas), HasSubstr("3 replicas of 4 IPUs are 12 IPUs: the number must be a power of 2"));
  Overrides reserved = replicas;
  reserved.emplace_back("partition.auto_round_num_ipus", "true");
  EXPECT_EQ(message(reserved), "");
  reserved.front().second = "pod4";
  EXPECT_THAT(message(reserved), HasSubstr("need 16 IPUs; pod4 has 4"));
}

TEST(PopTorch, APipelineNeedsAsManyMicroBatchesAsStages) {
  EXPECT_THAT(message({{"gradient_accumulation_steps", "3"}}),
              HasSubstr("gradient_accumulation_steps 3 is less than the 4 pipeline stages"));
  EXPECT_THAT(message({{"inference_device_iterations", "3"}}, "mnist_inference_pod4"),
              HasSubstr("inference_device_iterations 3 is less than the 4 pipeline stages"));
}

TEST(PopTorch, ResultsOfACallAreBatchTimesAccumulationIterationsAndReplicas) {
  const ChildResult result =
      of_scenario("mnist_pipeline_pod4", {{"system.pod", "pod16"}, {"replication_factor", "2"}, {"epochs", "1"}},
                  [](const Simulation& simulation) {
                    return std::vector<double>{simulation.summary.samples_per_run,
                                               static_cast<double>(simulation.trace.run_ends.size()),
                                               static_cast<double>(simulation.trace.update_ends.size())};
                  });
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.numbers, (std::vector<double>{40 * 10 * 10 * 2, 7, 70}));  // 60,000 / 8,000 is 7.5
}

TEST(PopTorch, StrategiesOfTheTutorial) {
  const auto throughput = [](const std::string& schedule) {
    const ChildResult result = of_scenario(
        "mnist_pipeline_pod4", {{"schedule", schedule}, {"epochs", "1"}, {"host", R"({"data": "synthetic"})"}},
        [](const Simulation& simulation) { return std::vector<double>{testing::throughput(simulation)}; });
    EXPECT_EQ(result.error, "");
    return result.numbers.empty() ? 0 : result.numbers[0];
  };
  EXPECT_GT(throughput("pipelined"), 1.2 * throughput("sharded"));  // one IPU at a time
}

TEST(PopTorch, TrainingDrainsAtEveryUpdateAndInferenceOnlyAtTheEndOfACall) {
  const auto shape = [](const std::string& mode) {
    const std::string text = R"({"version": 1, "system": {"pod": "pod4"},
      "workload": {"model": "stage_times", "stages": 4, "forward_seconds": 0.001, "mode": ")" +
                             mode + R"("},
      "ipu_config": {"gradient_accumulation_steps": 8, "device_iterations": 5, "inference_device_iterations": 40}})";
    const ChildResult result = of_text(text, {}, [](const Simulation& simulation) {
      return std::vector<double>{simulation.trace.makespan_seconds, testing::mean_seconds(simulation, State::RampUp)};
    });
    EXPECT_EQ(result.error, "");
    return result.numbers;
  };
  const auto training = shape("training"), inference = shape("inference");
  EXPECT_NEAR(inference[0], (40 + 3) * 1e-3, 1e-9);
  EXPECT_NEAR(training[0], 5 * (8 + 3) * 1e-3, 1e-9);
  EXPECT_NEAR(inference[1], 1.5e-3, 1e-9);  // stage s waits s slots
  EXPECT_NEAR(training[1], 5 * 1.5e-3, 1e-9);
}

TEST(Runs, AreGivenOnceOneWayOrTheOther) {
  EXPECT_THAT(message({{"runs", "2"}}), HasSubstr("runs and dataset_samples both say how much is simulated"));
  EXPECT_THAT(message({{"dataset_samples", "3999"}}),
              HasSubstr("a data set of 3999 images does not fill one host call of 4000"));
  EXPECT_THAT(message({{"epochs", "2"}}, "host_calls_pod4"), HasSubstr("epochs need the size of the data set"));
}

}  // namespace
}  // namespace podsim
