// The scenarios that ship show what Graphcore's memory and performance guide (chapters 4.3 to 4.5), PyTorch Lightning's
// and PopTorch's documentation say about the host side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using testing::ChildResult;
using ::testing::HasSubstr;
using testing::of_scenario;
using testing::Overrides;

double throughput(const std::string& scenario, const Overrides& overrides) {
  const ChildResult result = of_scenario(scenario, overrides, [](const Simulation& simulation) -> std::vector<double> {
    return {testing::throughput(simulation)};
  });
  EXPECT_EQ(result.error, "");
  return result.numbers.empty() ? 0 : result.numbers[0];
}

std::string message(const std::string& scenario, const Overrides& overrides) {
  return of_scenario(scenario, overrides, [](const Simulation&) -> std::vector<double> { return {}; }).error;
}

TEST(Prefetch, ADepthOfThreeIsNearTheBest) {
  const auto depth = [](int number) {
    return throughput("host_prefetch_pod4", {{"host.prefetch_depth", std::to_string(number)}});
  };
  const double none = depth(0), one = depth(1), two = depth(2), three = depth(3), many = depth(16);
  EXPECT_LT(none, one);
  EXPECT_LT(one, 0.7 * many);
  EXPECT_LT(two, 0.95 * many);
  EXPECT_GT(three, 0.98 * many);
}

TEST(IoTiles, PayWhereDataMovesAndCostWhereComputeIsAll) {
  const auto tiles = [](const std::string& number) {
    return throughput("host_io_tiles_pod4", {{"host.io_tiles", number}});
  };
  const double none = tiles("0"), some = tiles("32"), many = tiles("256");
  EXPECT_GT(some, 1.15 * none);
  EXPECT_LT(many, 0.98 * some);  // compute loses what is not needed
  // Without host data the tiles are only lost.
  const Overrides synthetic = {{"workload", R"({"model": "resnet50", "mode": "inference", "micro_batch_size": 8})"},
                               {"host", R"({"data": "synthetic"})"}};
  Overrides with_tiles = synthetic;
  with_tiles.back().second = R"({"data": "synthetic", "io_tiles": 128})";
  EXPECT_LT(throughput("host_io_tiles_pod4", with_tiles), 0.98 * throughput("host_io_tiles_pod4", synthetic));
}

TEST(IoTiles, HideTheTransferInTheTrace) {
  const auto shares = [](const std::string& number) {
    const ChildResult result = of_scenario(
        "host_io_tiles_pod4", {{"host.io_tiles", number}}, [](const Simulation& simulation) -> std::vector<double> {
          return {testing::mean_seconds(simulation, State::HostTransfer) / simulation.trace.makespan_seconds};
        });
    EXPECT_EQ(result.error, "");
    return result.numbers.at(0);
  };
  EXPECT_GT(shares("0"), 0.15);
  EXPECT_LT(shares("32"), 0.05);  // the first input and the last result of a call
}

TEST(IoTiles, MustHoldAMicroBatch) {
  // 8 images of 224 x 224 x 3 in fp32 and 8 x 1,000 logits in fp16 on tiles of 624 KiB: 1.05 x 4.83 MB / 638,976 B.
  EXPECT_THAT(message("host_io_tiles_pod4", {{"host.io_tiles", "7"}}),
              AllOf(HasSubstr("7 IO tiles cannot hold"), HasSubstr("at least 8")));
  EXPECT_EQ(message("host_io_tiles_pod4", {{"host.io_tiles", "32"}}), "");
}

TEST(IoTiles, OverlapNeedsASingleIpuOrAPipelineInOrder) {
  const Overrides four = {{"workload.micro_batch_size", "1"}, {"partition", R"({"pipeline_depth": 4})"}};
  const auto said = [&four](const std::string& schedule) {
    Overrides overrides = four;
    overrides.emplace_back("schedule", schedule);
    return message("host_io_tiles_pod4", overrides);
  };
  EXPECT_EQ(said(R"({"pipelined": {"order": "popart"}})"), "");
  EXPECT_EQ(said(R"({"pipelined": {"order": "grouped"}})"), "");
  EXPECT_THAT(said("sharded"), HasSubstr("cannot overlap host IO with compute on 4 IPUs"));
}

TEST(InputType, Int8CutsTheTransferFourfoldAgainstFp32) {
  const auto transfer = [](const std::string& type) {
    const ChildResult result = of_scenario("host_io_tiles_pod4", {{"host.io_tiles", "0"}, {"host.input_type", type}},
                                           [](const Simulation& simulation) -> std::vector<double> {
                                             return {testing::link_bytes(simulation, "pcie:gateway"),
                                                     testing::mean_seconds(simulation, State::HostTransfer)};
                                           });
    EXPECT_EQ(result.error, "");
    return result.numbers;
  };
  const auto fp32 = transfer("fp32"), fp16 = transfer("fp16"), int8 = transfer("int8");
  EXPECT_NEAR(fp32[0] / int8[0], 4, 0.01);
  EXPECT_NEAR(fp32[0] / fp16[0], 2, 0.01);
  EXPECT_GT(fp32[1] / int8[1], 3);
  EXPECT_LE(fp32[1] / int8[1], 4);
}

TEST(DeviceIterations, RaiseTheThroughputTowardsALimit) {
  const double overhead = 2e-3, samples = 400;  // of a call, of an iteration
  std::vector<double> seconds;                  // of an iteration: t + o / D
  for (int iterations = 1; iterations <= 256; iterations *= 4) {
    seconds.push_back(samples / throughput("host_calls_pod4", {{"device_iterations", std::to_string(iterations)},
                                                               {"host.call_overhead_seconds", "0.002"}}));
  }
  for (std::size_t i = 1; i < seconds.size(); ++i) EXPECT_LT(seconds[i], seconds[i - 1]);
  EXPECT_NEAR((seconds[0] - seconds[1]) / (overhead * (1 - 1.0 / 4)), 1, 0.05);
  EXPECT_LT(seconds[3] - seconds[4], overhead / 32);
}

TEST(OutputMode, AllCostsThroughputAndTheLastResultIsTheDefault) {
  const auto results = [](const Overrides& overrides) {
    const ChildResult result =
        of_scenario("host_calls_pod4", overrides, [](const Simulation& simulation) -> std::vector<double> {
          return {testing::throughput(simulation), testing::link_bytes(simulation, "pcie:ipu")};
        });
    EXPECT_EQ(result.error, "");
    return result.numbers;
  };
  const auto final = results({}), all = results({{"output_mode", "all"}}), sum = results({{"output_mode", "sum"}});
  EXPECT_LT(all[0], 0.998 * final[0]);
  EXPECT_NEAR(sum[0] / final[0], 1, 1e-6);
  EXPECT_NEAR(all[1] / final[1], 100, 1e-6);  // 10 iterations of 10 micro-batches against one result of each call
  EXPECT_EQ(results({{"output_mode", "default"}})[1], final[1]);
}

TEST(PopDist, MoreProcessesHelpWherePreparationIsTheBound) {
  const auto instances = [](const std::string& number) {
    return throughput("popdist_preprocessing_pod16", {{"host.instances", number}});
  };
  const double one = instances("1"), two = instances("2"), four = instances("4");
  EXPECT_NEAR(one, 8 / 1e-3, 0.02 * one);  // threads / seconds of a sample
  EXPECT_NEAR(two / one, 2, 0.05);
  EXPECT_NEAR(four / one, 4, 0.1);
  // 16 instances of 8 threads on one host's 128 cores: now the host's cores or the IPUs are the bound.
  EXPECT_LT(instances("16") / one, 16);
}

TEST(PopDist, WaitsForOtherReplicasAreBookedToTheHostThatCausesThem) {
  const auto named = [](const std::string& scenario, const std::string& cause) {
    const ChildResult result = of_scenario(scenario, {}, [&cause](const Simulation& simulation) {
      return std::vector<double>{simulation.summary.bottleneck.starts_with(cause) ? 1.0 : 0.0};
    });
    EXPECT_EQ(result.error, "");
    return result.numbers;
  };
  EXPECT_EQ(named("popdist_preprocessing_pod16", "host input"), (std::vector<double>{1}));
  EXPECT_EQ(named("popdist_io_pod16", "host transfer"), (std::vector<double>{1}));
}

TEST(PopDist, MoreHostsHelpWhereTheNetworkIsTheBound) {
  const auto hosts = [](const std::string& number, const std::string& instances) {
    return throughput("popdist_io_pod16", {{"system.hosts", number}, {"host.instances", instances}});
  };
  const double one = hosts("1", "4"), two = hosts("2", "4"), four = hosts("4", "4");
  EXPECT_GT(two, 1.7 * one);
  EXPECT_GT(four, 1.4 * two);
  EXPECT_NEAR(hosts("1", "16") / one, 1, 0.05);  // more processes do not
}

TEST(Preprocessing, OnTheIpuCostsItsTimeInsteadOfTheHosts) {
  const auto figures = [](const Simulation& simulation) -> std::vector<double> {
    return {testing::throughput(simulation), simulation.compilation.program.code(0, Pass::Forward).seconds};
  };
  const auto host = of_scenario("popdist_preprocessing_pod16", {}, figures);
  const auto ipu = of_scenario("popdist_preprocessing_pod16", {{"host.preprocess_on", "ipu"}}, figures);
  const auto much =
      of_scenario("popdist_preprocessing_pod16",
                  {{"host.preprocess_on", "ipu"}, {"host.preprocess_operations_per_element", "20"}}, figures);
  ASSERT_EQ(host.error + ipu.error + much.error, "");
  EXPECT_GT(ipu.numbers[0], 4 * host.numbers[0]);
  EXPECT_GT(ipu.numbers[1], host.numbers[1]);
  EXPECT_GT(much.numbers[1], ipu.numbers[1]);
}

TEST(Preprocessing, OnTheIpuNeedsSamplesThere) {
  const Overrides on_ipu = {{"host.preprocess_on", "ipu"}};
  Overrides given = on_ipu;
  given.emplace_back("workload", R"({"model": "stage_times", "mode": "inference", "forward_seconds": 0.001})");
  EXPECT_THAT(message("popdist_preprocessing_pod16", given), HasSubstr("stages with given times say themselves"));
  Overrides indices = on_ipu;
  indices.emplace_back("workload", R"({"model": "bert", "mode": "inference", "task": "squad", "sequence_length": 128,
                                       "config": "configs/bert-large-uncased.json"})");
  EXPECT_THAT(message("popdist_preprocessing_pod16", indices), HasSubstr("no floating-point samples"));
  EXPECT_THAT(message("popdist_preprocessing_pod16", {{"host.preprocess_operations_per_element", "3"}}),
              HasSubstr("the host prepares the samples"));
}

// Drawn preparation times are simulated one by one: 8,192 micro-batches a host call. Each costs some waits and copies
// of four IPUs, no more.
TEST(Prefetch, RandomPreparationCostsAFewActivitiesForEachMicroBatch) {
  const ChildResult result =
      of_scenario("bert_large_bow_pod16",
                  {{"host.preprocess_seconds_per_sample", "0.0001"},
                   {"host.preprocess_distribution", "exponential"},
                   {"runs", "1"}},
                  [](const Simulation& simulation) {
                    return std::vector<double>{static_cast<double>(simulation.trace.activities) / (4 * 2048)};
                  });
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.numbers.size(), 1U);
  EXPECT_GT(result.numbers[0], 4);
  EXPECT_LT(result.numbers[0], 60);
}

// One server's 128 cores in 8 NUMA nodes; 8 instances of 14 workers, as in Graphcore's ResNet-50 recipe for a Pod16.
TEST(PopDist, AnInstanceOnEachNumaNodeHasItsMemoryThere) {
  const auto prepared = [](int instances, int workers, const std::string& numa_aware) {
    return throughput("popdist_preprocessing_pod16", {{"host.instances", std::to_string(instances)},
                                                      {"host.workers", std::to_string(workers)},
                                                      {"host.preprocess_seconds_per_sample", "0.004"},
                                                      {"host.numa_aware", numa_aware}});
  };
  const double spread = 1 + 0.06 * 7 / 8;  // numa_remote_slowdown 1.06, seven of eight accesses to other nodes
  EXPECT_NEAR(prepared(8, 14, "true") / prepared(8, 14, "false"), spread, 0.005);
  EXPECT_NEAR(prepared(1, 112, "true") / prepared(1, 112, "false"), 1, 1e-9);
  EXPECT_NEAR(prepared(4, 28, "true") / prepared(4, 28, "false"), spread / (1 + 0.06 / 2), 0.005);
  // Cores that other instances leave idle are out of reach.
  const double crowded = prepared(16, 16, "false");
  EXPECT_NEAR(prepared(16, 16, "true") / crowded, spread, 0.005);
}

TEST(PopDist, AHostWithoutAnInstanceFeedsNothing) {
  const auto warned = [](const std::string& hosts) {
    const ChildResult result =
        of_scenario("popdist_io_pod16", {{"system.hosts", hosts}, {"host.instances", "2"}}, [](const Simulation& run) {
          const auto& warnings = run.summary.warnings;
          return std::vector<double>{
              testing::throughput(run),
              !warnings.empty() && warnings[0].starts_with("only 2 of 4 hosts feed IPUs") ? 1.0 : 0.0};
        });
    EXPECT_EQ(result.error, "");
    return result.numbers;
  };
  const auto two = warned("2"), four = warned("4");
  EXPECT_EQ(two.at(1), 0);
  EXPECT_EQ(four.at(1), 1);
  EXPECT_EQ(four.at(0), two.at(0));
}

TEST(PopDist, NumaAwarenessNeedsWorkersThatPrepare) {
  EXPECT_THAT(message("popdist_preprocessing_pod16",
                      {{"host.preprocess_seconds_per_sample", "0"}, {"host.numa_aware", "true"}}),
              HasSubstr("numa_aware binds workers that prepare samples"));
  const ChildResult warned = of_scenario(
      "popdist_preprocessing_pod16", {{"host.preprocess_seconds_per_sample", "0"}}, [](const Simulation& simulation) {
        const auto& warnings = simulation.summary.warnings;
        return std::vector<double>{warnings.size() == 1 && warnings[0].starts_with("workers has no effect") ? 1.0 : 0};
      });
  EXPECT_EQ(warned.error, "");
  EXPECT_EQ(warned.numbers, (std::vector<double>{1}));
}

TEST(Graphs, ASecondOneCostsTheSwitch) {
  const auto every = [](const std::string& calls) {
    return throughput("host_calls_pod4", {{"host.second_graph_every", calls}, {"runs", "12"}});
  };
  const double one = every("0"), rare = every("6"), often = every("1");
  EXPECT_LT(rare, one);
  EXPECT_LT(often, 0.95 * rare);
}

TEST(Epochs, TheTutorialsTestIsTwelveCallsAndItsTrainingFifteenAnEpoch) {
  const auto calls = [](const Simulation& simulation) -> std::vector<double> {
    return {static_cast<double>(simulation.trace.run_ends.size()), simulation.summary.samples_per_run};
  };
  const ChildResult test = of_scenario("mnist_inference_pod4", {}, calls);
  EXPECT_EQ(test.error, "");
  EXPECT_EQ(test.numbers, (std::vector<double>{12, 800}));
  const ChildResult training = of_scenario("mnist_pipeline_pod4", {}, calls);
  EXPECT_EQ(training.error, "");
  EXPECT_EQ(training.numbers, (std::vector<double>{45, 4000}));  // batch 40 x accumulation 10 x iterations 10, 3 epochs
}

}  // namespace
}  // namespace podsim
