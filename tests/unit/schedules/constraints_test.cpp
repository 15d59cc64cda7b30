// Every combination that a scheme refuses, with the message that its user reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedules/registry.hpp"
#include "tests/support/message.hpp"
#include "tests/unit/schedules/models.hpp"

namespace podsim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::string& schedule, const Execution& execution, const Value::Object& options = {},
                    const StagedModel& model = chain(4)) {
  return message_of([&] { (void)emit(schedule, model, execution, options); });
}

TEST(Refused, AccumulationBelowTheStages) {
  EXPECT_THAT(refusal("pipelined", training(3)),
              AllOf(HasSubstr("test:/schedule"), HasSubstr("gradient_accumulation_steps 3"),
                    HasSubstr("4 pipeline stages"), HasSubstr("at least 4")));
  EXPECT_THAT(refusal("pipelined", training(4)), "no UserError");
  EXPECT_THAT(refusal("pipelined", training(1), {{"order", "sequential"}}), "no UserError");
}

TEST(Refused, InferenceIterationsBelowTheStages) {
  EXPECT_THAT(refusal("pipelined", inference(3)),
              AllOf(HasSubstr("device_iterations 3"), HasSubstr("4 pipeline stages"), HasSubstr("at least 4")));
  EXPECT_THAT(refusal("zero_bubble", inference(3)), AllOf(HasSubstr("device_iterations 3"), HasSubstr("at least 4")));
  EXPECT_THAT(refusal("sharded", inference(1)), "no UserError");
}

TEST(Refused, GroupedNeedsAMultipleOfTwiceTheStages) {
  EXPECT_THAT(refusal("pipelined", training(12), {{"order", "grouped"}}),
              AllOf(HasSubstr("gradient_accumulation_steps 12"), HasSubstr("multiple of 8"), HasSubstr("use 16")));
}

TEST(Refused, InterleavedNeedsAMultipleOfTheStages) {
  EXPECT_THAT(refusal("pipelined", training(10), {{"order", "interleaved"}}),
              AllOf(HasSubstr("gradient_accumulation_steps 10"), HasSubstr("multiple of 4"), HasSubstr("use 12")));
}

TEST(Refused, ZeroBubbleNeedsItsMicroBatchesInFlight) {
  EXPECT_THAT(refusal("zero_bubble", training(5)),
              AllOf(HasSubstr("gradient_accumulation_steps 5"), HasSubstr("6 micro-batches"), HasSubstr("4 stages")));
  EXPECT_THAT(refusal("zero_bubble", training(6)), "no UserError");
}

TEST(Refused, UnknownOrder) {
  EXPECT_THAT(refusal("pipelined", training(8), {{"order", "popar"}}), HasSubstr("order"));
}

TEST(Refused, CountsBelowOne) {
  Execution execution = training(8);
  execution.runs = 0;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("at least 1"));
}

TEST(Refused, OverlappedIoWhereItCannotOverlap) {
  Execution execution = training(8);
  execution.io_overlap = IoOverlap::AccumulationLoop;
  EXPECT_THAT(refusal("pipelined", execution, {{"order", "interleaved"}}),
              AllOf(HasSubstr("\"pipelined\" cannot overlap host IO"), HasSubstr("popart or grouped")));
  EXPECT_THAT(refusal("sharded", execution), HasSubstr("\"sharded\" cannot overlap host IO"));
  EXPECT_THAT(refusal("phased", execution, {{"mode", "parallel"}}), HasSubstr("\"phased\" cannot overlap"));
  EXPECT_THAT(refusal("pipelined", execution), "no UserError");
  EXPECT_THAT(refusal("pipelined", execution, {{"order", "grouped"}}), "no UserError");
  EXPECT_THAT(refusal("sharded", execution, {}, staged_model({0, 0})), "no UserError");
}

TEST(Refused, OutputPeriodThatDoesNotDivide) {
  Execution execution = training(8, 4);
  execution.output_mode = OutputMode::EveryN;
  execution.output_period = 3;
  EXPECT_THAT(refusal("pipelined", execution), AllOf(HasSubstr("output period 3"), HasSubstr("8 micro-batches")));
  execution.output_period = 24;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("output period 24"));
  execution.output_period = 16;
  EXPECT_THAT(refusal("pipelined", execution), "no UserError");
  execution.io_overlap = IoOverlap::AccumulationLoop;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("every 16 micro-batches does not go with overlapped IO"));
}

TEST(Refused, ShardedActivations) {
  Execution execution = training(8);
  execution.replicas = 2;
  execution.activations.sharded = true;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("activations cannot be sharded"));
}

TEST(Refused, LocationsOfWhatInferenceDoesNotHave) {
  Execution execution = inference(8);
  execution.optimizer_state.off_chip = true;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("inference keeps no optimizer_state"));
  execution.optimizer_state.off_chip = false;
  execution.weights.off_chip = true;
  EXPECT_THAT(refusal("pipelined", execution), "no UserError");
}

TEST(Refused, ShardingDomainThatDoesNotDivideTheReplicas) {
  Execution execution = training(8);
  execution.replicas = 6;
  execution.optimizer_state.sharded = true;
  execution.optimizer_state.sharding_domain = 4;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("sharding domain of 4 replicas does not divide 6 replicas"));
}

TEST(Refused, DifferentShardingsOfTheSameWeights) {
  Execution execution = training(8);
  execution.replicas = 4;
  execution.optimizer_state.sharded = execution.weights.sharded = true;
  execution.weights.sharding_domain = 2;
  EXPECT_THAT(refusal("pipelined", execution), HasSubstr("different sharding domains (2 and 0 replicas)"));
}

TEST(Registry, ListsAllSchemesByName) {
  std::vector<std::string> names;
  for (const Schedule* schedule : schedules()) names.push_back(schedule->name());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(names, testing::IsSupersetOf({"phased", "pipelined", "sharded", "zero_bubble"}));
}

TEST(Registry, UnknownNamesGetTheNearestOne) {
  EXPECT_THAT(message_of([] { (void)find_schedule("pipelines", "x.json:/schedule"); }),
              AllOf(HasSubstr("x.json:/schedule"), HasSubstr("did you mean \"pipelined\""), HasSubstr("zero_bubble")));
}

TEST(Registry, EveryScheduleDescribesItselfAndItsOptions) {
  for (const Schedule* schedule : schedules()) {
    EXPECT_FALSE(schedule->description().empty()) << schedule->name();
    for (const Option& option : schedule->options()) EXPECT_FALSE(option.help.empty()) << option.name;
  }
}

}  // namespace
}  // namespace podsim
