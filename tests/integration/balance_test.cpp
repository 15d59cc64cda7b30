// What `podsim plan` says about a split: how even the IPUs' work is, and what travels between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulator/app/data_folder.hpp"
#include "simulator/config/json.hpp"
#include "tests/integration/sweep_program.hpp"

namespace podsim {
namespace {

using testing::Finished;
using ::testing::HasSubstr;

class Plan : public testing::SweepProgram {
 protected:
  Finished plan(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", (scenarios_folder() / "bert_large_bow_pod16.json").string()});
    return podsim(arguments);
  }
  // Longest passes of an IPU over the mean of the IPUs.
  double imbalance(const std::string& split) {
    const Finished finished = plan({"--json", "--set", split, "--set", "allow_out_of_memory=true"});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::vector<double> seconds(4, 0.0);
    const Value value = parse_json(finished.out, "plan");
    for (const Value& stage : value.at("stages").array()) {
      for (const char* pass : {"forward_seconds", "recompute_seconds", "backward_seconds"}) {
        seconds.at(static_cast<std::size_t>(stage.at("ipu").integer())) += stage.at(pass).number();
      }
    }
    const double mean = (seconds[0] + seconds[1] + seconds[2] + seconds[3]) / 4;
    return *std::max_element(seconds.begin(), seconds.end()) / mean - 1;
  }
};

TEST_F(Plan, ABalancedSplitIsMoreEvenThanThePublishedOne) {
  const double balanced = imbalance("pipeline_depth=4"), published = imbalance("layers_per_ipu=[3 7 7 7]");
  EXPECT_LT(balanced, 0.06);
  EXPECT_GT(published, 2 * balanced);
  EXPECT_GT(imbalance("layers_per_ipu=[0 8 8 8]"), 2 * published);
}

TEST_F(Plan, SaysWhichIpuIsSlowestAndWhatStagesSend) {
  const Finished text = plan({});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("balance: the passes of IPU 1 take longest, 12."));
  const Value value = parse_json(plan({"--json"}).out, "plan");
  const Value::Array& stages = value.at("stages").array();
  ASSERT_EQ(stages.size(), 5U);  // embedding and head are both on IPU 0
  // Eight sequences of 128 tokens of 1,024 fp16 values, and to each encoder the attention mask.
  const double values = 8 * 128 * 1024 * 2, mask = 8 * 128 * 2;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stages[i].at("sent_bytes").number(), values + mask) << i;
  EXPECT_EQ(stages[3].at("sent_bytes").number(), values);
  EXPECT_EQ(stages[4].at("sent_bytes").number(), 0);
}

TEST_F(Plan, ShowsTheSecondGraphToo) {
  const Finished finished = podsim({"plan", (scenarios_folder() / "mnist_epochs_pod4.json").string()});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const std::size_t second = finished.out.find("\nSecond graph\n");
  ASSERT_NE(second, std::string::npos);
  EXPECT_THAT(finished.out.substr(second), HasSubstr("B1"));
  EXPECT_THAT(finished.out.substr(second), HasSubstr("fullest tile"));
}

}  // namespace
}  // namespace podsim
