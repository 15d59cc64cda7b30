// The notation of axes: every form, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/app/sweep_grid.hpp"
#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> values(const std::string& text) {
  std::vector<std::string> result;
  for (const auto& row : parse_axis(text).rows) {
    std::string joined;
    for (const std::string& value : row) joined += (joined.empty() ? "" : "|") + value;
    result.push_back(joined);
  }
  return result;
}

std::string refusal(const std::string& text) {
  return message_of([&] { (void)parse_axis(text); });
}

TEST(SweepAxes, Lists) {
  EXPECT_THAT(values("replication_factor=1,2,4"), ElementsAre("1", "2", "4"));
  EXPECT_THAT(values("system.pod=pod4, pod16"), ElementsAre("pod4", "pod16"));
  EXPECT_THAT(values("layers_per_ipu=[3,7,7,7],[6 6 6 6]"), ElementsAre("[3,7,7,7]", "[6 6 6 6]"));
  EXPECT_THAT(values(R"(schedule={"pipelined":{"order":"popart"}},sharded)"),
              ElementsAre(R"({"pipelined":{"order":"popart"}})", "sharded"));
  EXPECT_THAT(values(R"(workload.config="a,b.json",c.json)"), ElementsAre("\"a,b.json\"", "c.json"));
}

TEST(SweepAxes, Ranges) {
  EXPECT_THAT(values("runs=1:4"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(values("runs=1:10:+3"), ElementsAre("1", "4", "7", "10"));
  EXPECT_THAT(values("runs=1:11:+3"), ElementsAre("1", "4", "7", "10"));
  EXPECT_THAT(values("runs=9:1:-4"), ElementsAre("9", "5", "1"));
  EXPECT_THAT(values("runs=1:64:x2"), ElementsAre("1", "2", "4", "8", "16", "32", "64"));
  EXPECT_THAT(values("runs=3:40:x3"), ElementsAre("3", "9", "27"));
  EXPECT_THAT(values("runs=64:8:x0.5"), ElementsAre("64", "32", "16", "8"));
  EXPECT_THAT(values("runs=0,1:4:x2,9"), ElementsAre("0", "1", "2", "4", "9"));
  EXPECT_THAT(values("runs=5:5"), ElementsAre("5"));
}

TEST(SweepAxes, DecimalRangesAreExact) {
  EXPECT_THAT(values("matmul_proportion=0.1:0.4:+0.1"), ElementsAre("0.1", "0.2", "0.3", "0.4"));
  EXPECT_THAT(values("host.callback_seconds=1e-3:3e-3:+1e-3"), ElementsAre("0.001", "0.002", "0.003"));
  EXPECT_THAT(values("host.callback_seconds=0.001:1:x10"), ElementsAre("0.001", "0.01", "0.1", "1"));
}

TEST(SweepAxes, ZippedKeys) {
  const SweepAxis axis = parse_axis("replication_factor,gradient_accumulation_steps=1/8,2/4");
  EXPECT_THAT(axis.keys, ElementsAre("replication_factor", "gradient_accumulation_steps"));
  EXPECT_THAT(axis.rows, ElementsAre(ElementsAre("1", "8"), ElementsAre("2", "4")));
  EXPECT_THAT(values(R"(workload.config,runs="a/b.json"/1,c.json/2)"), ElementsAre("\"a/b.json\"|1", "c.json|2"));
}

TEST(SweepAxes, EqualValuesAreFound) {
  EXPECT_THAT(parse_axis("runs=1,2,1,2,3").first, ElementsAre(0, 1, 0, 1, 4));
  EXPECT_THAT(parse_axis("layers_per_ipu=[1,2],[1 2],[2,1]").first, ElementsAre(0, 0, 2));
}

TEST(SweepAxes, Refusals) {
  EXPECT_EQ(refusal("runs"),
            "--vary runs: is not of the form KEY=VALUES (for example --vary replication_factor=1,2,4)");
  EXPECT_EQ(refusal("=1"), "--vary =1: a key is missing (for example --vary replication_factor=1,2,4)");
  EXPECT_EQ(refusal("runs="), "--vary runs=: a value is missing (for example --vary replication_factor=1,2,4)");
  EXPECT_EQ(refusal("runs=1,,2"), "--vary runs=1,,2: a value is missing (for example --vary replication_factor=1,2,4)");
  EXPECT_EQ(refusal("replication_facto=1"),
            "--vary replication_facto=1: unknown key \"replication_facto\" (did you mean replication_factor?)");
  EXPECT_EQ(
      refusal("runs=1:4:+0"),
      "--vary runs=1:4:+0: the range 1:4:+0 has a step of 0 and never ends (for example 1:10, 1:10:+3, 10:1:-3 or "
      "1:64:x2)");
  EXPECT_THAT(refusal("runs=4:1"), HasSubstr("the range 4:1 steps away from its end"));
  EXPECT_THAT(refusal("runs=1:4:x1"), HasSubstr("the range 1:4:x1 has a factor of 1 and never ends"));
  EXPECT_THAT(refusal("runs=0:4:x2"), HasSubstr("the range 0:4:x2 multiplies, and needs numbers above 0"));
  EXPECT_THAT(refusal("runs=4:1:x2"), HasSubstr("the range 4:1:x2 steps away from its end"));
  EXPECT_THAT(refusal("runs=0:1e9"), HasSubstr("the range 0:1e9 has more than 1,000,000 values"));
  EXPECT_THAT(refusal("runs=0:1:+1e-13"), HasSubstr("has more than 12 decimals"));
  EXPECT_THAT(refusal("runs=1:1.2.3"), HasSubstr("\"1.2.3\" is not a number"));
  EXPECT_EQ(refusal("runs,device_iterations=1/2,3"),
            "--vary runs,device_iterations=1/2,3: \"3\" has 1 values for 2 keys (zipped values stand side by side with "
            "\"/\": --vary \"K1,K2=1/2,2/4\")");
  EXPECT_THAT(refusal("runs,device_iterations=1:4/2"), HasSubstr("the range 1:4 cannot stand in zipped values"));
}

TEST(SweepAxes, FromSweepFile) {
  const Value file = parse_json(
      R"({"runs": [1, 2], "system.pod": ["pod4"], "device_iterations": "1:4:x2", "runs,device_iterations": [[1, 2]]})",
      "s.json");
  EXPECT_THAT(axis_from("runs", file.at("runs")).rows, ElementsAre(ElementsAre("1"), ElementsAre("2")));
  EXPECT_THAT(axis_from("system.pod", file.at("system.pod")).rows, ElementsAre(ElementsAre("\"pod4\"")));
  EXPECT_EQ(axis_from("device_iterations", file.at("device_iterations")).rows.size(), 3U);
  EXPECT_THAT(axis_from("runs,device_iterations", file.at("runs,device_iterations")).rows,
              ElementsAre(ElementsAre("1", "2")));
  const Value wrong = parse_json(R"({"a": [[1]], "b": []})", "s.json");
  EXPECT_EQ(message_of([&] { (void)axis_from("runs,device_iterations", wrong.at("a")); }),
            "s.json:/a/0: 1 values for 2 keys (give one value for each key: [[1, 2], [2, 4]])");
  EXPECT_EQ(message_of([&] { (void)axis_from("runs", wrong.at("b")); }),
            "s.json:/b: an axis without values (give at least one, or leave it out)");
}

TEST(SweepAxes, KeysThatExcludeEachOther) {
  const auto check = [](const std::vector<std::string>& axes, const std::vector<std::string>& sets) {
    std::vector<SweepAxis> parsed;
    for (const std::string& axis : axes) parsed.push_back(parse_axis(axis));
    return message_of([&] { require_distinct_keys(parsed, sets); });
  };
  EXPECT_EQ(check({"runs=1,2", "device_iterations=1"}, {"system.pod"}), "no UserError");
  EXPECT_EQ(check({"runs=1,2", "runs=3"}, {}), "--vary runs=3: runs is given twice (give it once)");
  EXPECT_EQ(check({"device_iterations=1", "ipu_config.device_iterations=2"}, {}),
            "--vary ipu_config.device_iterations=2: ipu_config.device_iterations and device_iterations set the same "
            "value (give it once)");
  EXPECT_EQ(check({"schedule=sharded"}, {"schedule.pipelined.order"}),
            "--vary schedule=sharded: schedule and schedule.pipelined.order set the same value (give it once)");
}

TEST(SweepGrid, LastAxisChangesFastest) {
  const SweepGrid grid({parse_axis("runs=1,2"), parse_axis("device_iterations=5,6,7")});
  EXPECT_EQ(grid.points(), 6U);
  EXPECT_THAT(grid.overrides(0), ElementsAre(Override{"runs", "1"}, Override{"device_iterations", "5"}));
  EXPECT_THAT(grid.overrides(1), ElementsAre(Override{"runs", "1"}, Override{"device_iterations", "6"}));
  EXPECT_THAT(grid.overrides(5), ElementsAre(Override{"runs", "2"}, Override{"device_iterations", "7"}));
}

TEST(SweepGrid, DuplicatesHaveOneRepresentative) {
  const SweepGrid grid({parse_axis("runs=1,1,2"), parse_axis("device_iterations=5,6,5")});
  EXPECT_EQ(grid.representative(2), 0U);  // (1, 5)
  EXPECT_EQ(grid.representative(4), 1U);  // (1, 6)
  EXPECT_EQ(grid.representative(8), 6U);  // (2, 5)
}

TEST(SweepGrid, TooManyPoints) {
  EXPECT_EQ(message_of([] {
              SweepGrid({parse_axis("runs=1:5000"), parse_axis("device_iterations=1:5000")});
            }),
            "--vary device_iterations=1:5000: the sweep has more than 10,000,000 points (vary less, or split it into "
            "several sweeps)");
}

TEST(SweepShard, BothNumberingsCoverAllPoints) {
  for (const int first : {0, 1}) {
    std::vector<int> seen(10, 0);
    for (int k = first; k < first + 3; ++k) {
      const SweepShard shard = parse_shard(std::to_string(k) + "/3");
      for (std::size_t point = 0; point < seen.size(); ++point) seen[point] += shard.holds(point) ? 1 : 0;
    }
    EXPECT_THAT(seen, ::testing::Each(1));
  }
}

TEST(SweepShard, Refusals) {
  for (const char* text : {"", "3", "4/3", "1/0", "-1/3", "1/x", "1/3 "}) {
    EXPECT_EQ(message_of([&] { (void)parse_shard(text); }),
              std::string("--shard ") + text +
                  ": is not of the form K/N with K up to N (for example --shard 3/16; number the shards 0 to N-1, or 1 "
                  "to N)");
  }
}

}  // namespace
}  // namespace podsim
