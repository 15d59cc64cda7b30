// The summary as JSON, with the names of the interface, and as text within 100 columns.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "simulator/output/summary_json.hpp"
#include "simulator/output/summary_text.hpp"
#include "tests/unit/output/sample_content.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleContent;

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(SummaryJson, HasTheNamesOfTheInterfaceInOrder) {
  const SampleContent sample;
  const auto json = nlohmann::ordered_json::parse(summary_json(sample.summary));
  EXPECT_THAT(keys_of(json),
              ElementsAre("name", "version", "weight_update_seconds", "run_seconds", "makespan_seconds",
                          "throughput_samples_per_second", "samples_per_run", "slots_per_update", "utilization",
                          "state_seconds", "bottleneck", "ipus", "batch_size_factor", "replicas", "ipus_per_replica",
                          "sample_name", "links", "startup", "simulated_activities", "warnings"));
  EXPECT_THAT(keys_of(json["utilization"]), ElementsAre("busy", "flops"));
  EXPECT_THAT(keys_of(json["state_seconds"]),
              ElementsAre("forward", "backward", "recompute", "exchange", "all_reduce", "weight_update",
                          "remote_memory", "host_input_stall", "host_transfer", "host_call", "ramp_up", "ramp_down",
                          "imbalance", "sync", "host_output_stall", "second_graph"));
  ASSERT_EQ(json["ipus"].size(), 8U);
  EXPECT_THAT(keys_of(json["ipus"][0]), ElementsAre("ipu", "stages", "state_seconds", "stash_micro_batches", "memory"));
  EXPECT_EQ(json["ipus"][5]["stages"], nlohmann::ordered_json::array({1}));
  EXPECT_EQ(json["ipus"][0]["memory"]["categories"]["weights"], 1e8);
}

TEST(SummaryJson, NumbersAreExact) {
  SampleContent sample;
  sample.summary.makespan_seconds = 0.1 + 0.2;
  const auto json = nlohmann::ordered_json::parse(summary_json(sample.summary));
  EXPECT_EQ(json["makespan_seconds"].get<double>(), 0.1 + 0.2);
  double sum = 0;
  for (const auto& [state, seconds] : json["state_seconds"].items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, sample.trace.makespan_seconds, 1e-12 * sample.trace.makespan_seconds);
}

// 20 samples at 1000, 990, ..., 810 run: 5% lies between the first and the second lowest.
TEST(SummaryJson, UncertaintyHasIntervalsRankingAndFailures) {
  SampleContent sample;
  EXPECT_FALSE(nlohmann::ordered_json::parse(summary_json(sample.summary)).contains("uncertainty"));
  sample.summary.uncertainty = testing::sample_uncertainty();
  const auto json = nlohmann::ordered_json::parse(summary_json(sample.summary))["uncertainty"];
  EXPECT_THAT(keys_of(json), ElementsAre("samples", "seed", "figures", "ranking", "measure", "parameters", "failures"));
  EXPECT_THAT(keys_of(json["figures"]),
              ElementsAre("throughput_samples_per_second", "state_share_forward", "peak_tile_bytes"));
  const auto& throughput = json["figures"]["throughput_samples_per_second"];
  EXPECT_THAT(keys_of(throughput), ElementsAre("low", "median", "high", "unit", "ranking"));
  EXPECT_DOUBLE_EQ(throughput["low"].get<double>(), 815);
  EXPECT_DOUBLE_EQ(throughput["median"].get<double>(), 905);
  EXPECT_DOUBLE_EQ(throughput["high"].get<double>(), 995);
  EXPECT_EQ(json["ranking"], throughput["ranking"]);
  ASSERT_EQ(json["ranking"].size(), 1U);
  EXPECT_EQ(json["ranking"][0]["parameter"], "chips/bow/operator_control_cycles");
  EXPECT_NEAR(json["ranking"][0]["share"].get<double>(), 1, 1e-9);
  EXPECT_EQ(json["ranking"][0]["raises"], false);
  EXPECT_EQ(json["parameters"][1]["maximum"], 0.95);
  ASSERT_EQ(json["failures"].size(), 1U);
  EXPECT_EQ(json["failures"][0]["sample"], 20);
  EXPECT_EQ(json["failures"][0]["error"], "IPU 1 is out of memory");
}

TEST(SummaryText, UncertaintyIsABlockOfItsOwn) {
  SampleContent sample;
  sample.summary.uncertainty = testing::sample_uncertainty();
  const std::string text = summary_text(sample.summary);
  EXPECT_THAT(text,
              AllOf(HasSubstr("Uncertainty (21 samples of 2 parameters that are only inferred)"),
                    HasSubstr("815 samples/s"), HasSubstr("995 samples/s"), HasSubstr("what decides throughput (share"),
                    HasSubstr("100.0%  lowers it, 500 to 4700 cycle"), HasSubstr("raises it"),
                    HasSubstr("1 of 21 samples could not run")));
  EXPECT_THAT(text, Not(HasSubstr("nic_efficiency")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(SummaryOutput, ASecondGraphAndACacheHaveLinesOfTheirOwn) {
  SampleContent sample;
  EXPECT_THAT(summary_text(sample.summary, {}), Not(HasSubstr("Second graph")));
  sample.summary.second_graph = SecondGraphSummary{15, 12, 0.25, 0.002, 0.001, 800, 0};
  sample.summary.startup.compile_seconds = 100;
  sample.summary.startup.store_seconds = 0.5;
  sample.summary.startup.load_seconds = 0.25;
  const std::string text = summary_text(sample.summary, {});
  EXPECT_THAT(text, AllOf(HasSubstr("Second graph (after every 15 host calls)"), HasSubstr("250 ms  (12 host calls)"),
                          HasSubstr("switch to it and back 3 ms"), HasSubstr("100 s  (in the first run)"),
                          HasSubstr("250 ms  (in later runs, instead of the two above)")));
  const auto json = nlohmann::ordered_json::parse(summary_json(sample.summary));
  EXPECT_THAT(keys_of(json["second_graph"]), ElementsAre("every", "calls", "turn_seconds", "switch_seconds",
                                                         "switch_back_seconds", "throughput_samples_per_second"));
  EXPECT_EQ(json["second_graph"]["turn_seconds"], 0.25);
  EXPECT_EQ(json["startup"]["store_seconds"], 0.5);
}

TEST(SummaryText, FitsAHundredColumnsAndNamesTheBottleneck) {
  SampleContent sample;
  sample.summary.links.push_back({std::string(80, 'x'), std::string(80, 'y'), 1e15, 0.5});
  sample.summary.ipus[0].stages = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  sample.summary.ipus[0].memory.peak_tile_bytes = 1e9;  // does not fit
  sample.summary.warnings = {"matmul plans of stage 2 exceed availableMemoryProportion"};
  const std::string text = summary_text(sample.summary);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(text,
              AllOf(HasSubstr("sample\n"), HasSubstr("throughput"), HasSubstr("forward"), HasSubstr("peak tile"),
                    HasSubstr("Bottleneck: "), HasSubstr("Warning: matmul plans of stage 2"), Not(HasSubstr("\033"))));
}

TEST(SummaryText, ColourOnlyWhenAskedFor) {
  const SampleContent sample;
  EXPECT_THAT(summary_text(sample.summary, {true, 16}), HasSubstr("\033[1;33mBottleneck:\033[0m"));
}

TEST(SummaryText, CountsTheIpusItLeavesOut) {
  const SampleContent sample;
  EXPECT_THAT(summary_text(sample.summary, {false, 3}), HasSubstr("... and 5 more (all in --json)"));
}

TEST(SummaryText, NoMemoryColumnsWithoutAChip) {
  SampleContent sample;
  for (IpuSummary& ipu : sample.summary.ipus) ipu.memory = {};
  EXPECT_THAT(summary_text(sample.summary), AllOf(Not(HasSubstr("peak tile")), Not(HasSubstr("free"))));
}

}  // namespace
}  // namespace podsim
