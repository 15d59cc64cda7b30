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
                          "imbalance", "sync", "host_output_stall"));
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
