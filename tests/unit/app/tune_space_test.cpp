// The space that tune searches, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/app/loaded_data.hpp"
#include "simulator/app/tune_search.hpp"
#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

TuneRequest bert_request() {
  TuneRequest request;
  request.source = parse_json(R"({"version": 1, "system": {"pod": "pod16"},
    "workload": {"model": "bert", "micro_batch_size": 2, "sequence_length": 64, "config": {"model_type": "bert",
      "hidden_size": 128, "num_hidden_layers": 24, "num_attention_heads": 2, "intermediate_size": 512,
      "vocab_size": 1024, "max_position_embeddings": 64, "type_vocab_size": 2}},
    "ipu_config": {"layers_per_ipu": [3, 7, 7, 7], "replication_factor": 4, "gradient_accumulation_steps": 16,
                   "matmul_proportion": [0.15, 0.25, 0.25, 0.25]},
    "partition": {}})",
                              "bert.json");
  return request;
}

TuneRequest stage_request() {
  TuneRequest request;
  request.source = parse_json(R"({"version": 1, "system": {"pod": "pod16"},
    "workload": {"model": "stage_times", "stages": 4, "forward_seconds": 0.001, "backward_seconds": 0.002},
    "ipu_config": {"gradient_accumulation_steps": 16}})",
                              "stages.json");
  return request;
}

TuneSpace space_of(const TuneRequest& request) { return tune_space(request, LoadedData()); }

std::string refusal(TuneRequest request, const std::vector<std::string>& axes = {}) {
  for (const std::string& axis : axes) request.axes.push_back(parse_axis(axis));
  return message_of([&] { (void)space_of(request); });
}

TEST(TuneSpace, HoldsThePublishedConfiguration) {
  const TuneRequest request = bert_request();
  const TuneSpace space = space_of(request);
  EXPECT_EQ(space.ipus, 16);
  EXPECT_EQ(space.global_batch, 4 * 16 * 2);
  const auto published = std::find_if(space.plans.begin(), space.plans.end(), [](const TunePlan& plan) {
    return plan.layers_per_ipu == std::vector<std::int64_t>{3, 7, 7, 7} && plan.micro_batch_size == 2;
  });
  ASSERT_NE(published, space.plans.end());
  EXPECT_EQ(published->replicas, 4);
  EXPECT_EQ(published->accumulation, 16);
}

TEST(TuneSpace, VariesEveryIpusLayers) {
  const TuneSpace space = space_of(bert_request());
  for (const std::vector<std::int64_t>& split : std::vector<std::vector<std::int64_t>>{
           {3, 7, 8, 6}, {3, 8, 6, 7}, {4, 6, 7, 7}, {6, 6, 6, 6}, {12, 12}, {7, 17}, {24}, {}}) {
    EXPECT_TRUE(std::any_of(space.plans.begin(), space.plans.end(),
                            [&split](const TunePlan& plan) { return plan.layers_per_ipu == split; }));
  }
}

TEST(TuneSpace, EveryPlanGivesTheBatchOnThePod) {
  const TuneSpace space = space_of(bert_request());
  for (const TunePlan& plan : space.plans) {
    EXPECT_EQ(plan.replicas * plan.micro_batch_size * plan.accumulation, space.global_batch);
    EXPECT_LE(plan.replicas * plan.ipus_per_replica, 16);
    std::int64_t layers = 0;
    for (const std::int64_t count : plan.layers_per_ipu) layers += count;
    if (!plan.layers_per_ipu.empty()) {
      EXPECT_EQ(layers, 24);
    }
  }
}

TEST(TuneSpace, VaryNarrowsAndWidens) {
  TuneRequest request = bert_request();
  for (const char* axis : {"layers_per_ipu=[3,7,7,7],[6,6,6,6]", "workload.micro_batch_size=2,4",
                           "matmul_proportion=0.1,0.2,0.3", "execution.recomputation=stage", "schedule=sharded"}) {
    request.axes.push_back(parse_axis(axis));
  }
  const TuneSpace space = space_of(request);
  EXPECT_EQ(space.plans.size(), 2U * 2U * 3U);
  EXPECT_THAT(space.recomputations, ::testing::ElementsAre("stage"));
  EXPECT_EQ(space.variants.size(), 4U);  // offload x sharding
}

TEST(TuneSpace, GivenStagesStayAsTheyAre) {
  const TuneRequest request = stage_request();
  const TuneSpace space = space_of(request);
  ASSERT_EQ(space.plans.size(), 1U);
  EXPECT_EQ(space.plans[0].ipus_per_replica, 4);
  EXPECT_EQ(space.plans[0].replicas, 4);
  EXPECT_EQ(space.plans[0].accumulation, 4);
}

TEST(TuneSpace, ScenarioWithTheChoices) {
  const TuneRequest request = bert_request();
  const TuneSpace space = space_of(request);
  TunePlan plan{2, {10, 14}, 8, 1, 16, {{"runs", "3"}}};
  const Value source = tuned_source(request, space, plan, "stage", {"true", "false", "sharded"});
  EXPECT_EQ(source.at("runs").integer(), 3);
  EXPECT_EQ(source.at("schedule").text(), "sharded");
  EXPECT_EQ(source.at("execution").at("recomputation").text(), "stage");
  EXPECT_EQ(source.at("ipu_config").at("replication_factor").integer(), 8);
  EXPECT_EQ(source.at("ipu_config").at("ipus_per_replica").integer(), 2);
  EXPECT_EQ(source.at("ipu_config").at("matmul_proportion").number(), 0.15);  // one for two IPUs: the smallest
  plan.layers_per_ipu.clear();
  EXPECT_EQ(tuned_source(request, space, plan, "", {"", "", "sharded"}).at("partition").at("pipeline_depth").integer(),
            2);
  EXPECT_EQ(describe(TunePlan{4, {3, 7, 7, 7}, 4, 2, 16, {}}, "stage",
                     {"true", "true", R"({"pipelined":{"order":"popart"}})"}),
            "4 x [3,7,7,7], micro-batch 2 x 16, pipelined:order:popart, recomputation stage, state off chip, sharded");
}

TEST(TuneSpace, Refusals) {
  TuneRequest request = bert_request();
  request.ipus = 32;
  EXPECT_EQ(refusal(request),
            "--ipus 32: the pod has 16 IPUs (choose a larger one with --set system.pod=…, or fewer IPUs)");
  request = bert_request();
  request.global_batch = 7;
  request.axes = {parse_axis("workload.micro_batch_size=2")};
  EXPECT_EQ(refusal(request),
            "tune: no pipeline on 16 IPUs gives a global batch of 7 (choose another --global-batch or --ipus)");
  EXPECT_THAT(refusal(bert_request(), {"replication_factor=1,2"}),
              HasSubstr("--vary replication_factor=1,2: replication_factor follows from the other choices"));
  EXPECT_THAT(refusal(bert_request(), {"workload.micro_batch_size,runs=1/2"}),
              HasSubstr("workload.micro_batch_size is chosen by tune and cannot be zipped with another key"));
  request = bert_request();
  request.source.member("workload").set("mode", "inference");
  request.global_batch = 4;
  EXPECT_EQ(refusal(request), "--global-batch: inference updates no weights (leave it out)");
}

// N = 4 stages of f = 1 ms and b = 2 ms, M = 16 micro-batches: no IPU can be done before 16 x 3 ms, whatever the
// schedule.
TEST(TuneBound, IsTheWorkOfTheSlowestIpu) {
  const Scenario scenario = read_scenario(stage_request().source, ".");
  const Compilation compilation = compile(scenario, LoadedData());
  EXPECT_NEAR(least_run_seconds(compilation, scenario), 0.048, 1e-12);
  EXPECT_NEAR(least_run_seconds(compilation.program), 0.048, 1e-12);
}

// Replicas take as many IPUs as their stages and those that share each of them.
TEST(TuneSpace, CountsTheIpusThatShareStages) {
  TuneRequest request = bert_request();
  request.source.member("workload").set("tensor_parallel", 2);
  for (const TunePlan& plan : space_of(request).plans) {
    EXPECT_EQ(plan.ipus_per_stage, 2);
    EXPECT_LE(plan.replicas * plan.ipus_per_replica * 2, 16);
  }
  request.axes.push_back(parse_axis("workload.tensor_parallel=1,2"));
  int shared = 0;
  for (const TunePlan& plan : space_of(request).plans) {
    shared += plan.ipus_per_stage == 2 ? 1 : 0;
    EXPECT_LE(plan.replicas * plan.ipus_per_replica * plan.ipus_per_stage, 16);
  }
  EXPECT_GT(shared, 0);
}

}  // namespace
}  // namespace podsim
