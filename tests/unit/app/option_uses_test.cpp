// Options that a model has no use for: errors where they contradict it, warnings where configurations carry them along.
#include "simulator/app/option_uses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/app/compile.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> warnings_of(const std::string& workload, const std::string& others) {
  const Value source =
      parse_json(R"({"version": 1, "system": {"pod": "pod16"}, "allow_out_of_memory": true, "workload": {)" + workload +
                     "}" + others + "}",
                 "s.json");
  return compile(read_scenario(source, "."), DataFolder()).warnings;
}

std::string refusal_of(const std::string& workload, const std::string& others) {
  try {
    (void)warnings_of(workload, others);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kBert = R"("model": "bert", "sequence_length": 32)";
constexpr const char* kNamed = R"(, "execution": {"recomputation": "named"})";

TEST(OptionUses, CheckpointsAndNamedRecomputationNeedEachOther) {
  const std::string checkpoint = R"(, "checkpoints": ["encoder/3/ffn"])";
  EXPECT_THAT(refusal_of(kBert, kNamed), HasSubstr("no output is named for recomputation to keep"));
  EXPECT_THAT(warnings_of(kBert + checkpoint, ""), ElementsAre(HasSubstr("workload.checkpoints has no effect")));
  EXPECT_EQ(refusal_of(kBert + checkpoint, kNamed), "no error");
}

TEST(OptionUses, BatchNormsSpanReplicasThatThereAre) {
  const std::string norm = R"("model": "resnet50", "norm_span": 2)";
  EXPECT_THAT(refusal_of(norm, ""), HasSubstr("shares its statistics between 2 replicas, and there are 1"));
  EXPECT_EQ(refusal_of(norm, R"(, "ipu_config": {"replication_factor": 4})"), "no error");
}

TEST(OptionUses, TheTransferTypeIsOfFloatingPointSamples) {
  const std::string host = R"(, "host": {"data": "real", "input_type": "int8"})";
  EXPECT_THAT(warnings_of(kBert, host),
              ElementsAre(HasSubstr("host.input_type has no effect: bert reads no floating")));
  EXPECT_TRUE(warnings_of(R"("model": "mlp")", host).empty());
}

TEST(OptionUses, GivenTimesNeedNoChip) {
  const std::string stages = R"("model": "stage_times", "forward_seconds": 0.001, "stages": 1)";
  EXPECT_TRUE(warnings_of(stages, "").empty());
  EXPECT_THAT(
      warnings_of(stages + R"(, "precision": "fp32", "input_bytes": 10)", R"(, "execution": {"outlining": false})"),
      ElementsAre(HasSubstr("workload.precision has no effect"), HasSubstr("execution.outlining has no effect"),
                  HasSubstr("workload.input_bytes has no effect: the data is synthetic")));
}

}  // namespace
}  // namespace podsim
