// Are blocks put where published pipelines have them, and are users told what is wrong with a split?
#include "simulator/partition/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/partition/models.hpp"

namespace podsim {
namespace {

using test::chain;
using test::ipus_of;
using test::layers_of;
using test::message_of;
using test::workload;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PartitionRequest by_layers(std::vector<std::int64_t> layers) {
  PartitionRequest request;
  request.layers_per_ipu = std::move(layers);
  request.where = "ipu.json:/layers_per_ipu";
  return request;
}

PartitionRequest by_stages(const std::vector<std::pair<std::vector<std::string>, int>>& stages) {
  PartitionRequest request;
  request.where = "s.json:/partition";
  for (std::size_t index = 0; index < stages.size(); ++index) {
    request.stages.push_back({stages[index].first, stages[index].second, "s.json:/stages/" + std::to_string(index)});
  }
  return request;
}

// Five stages on four IPUs, device mapping [0, 1, 2, 3, 0]: BERT-Large pre-training as published for POD16.
TEST(LayersPerIpu, BertPretrainingReturnsToTheFirstIpu) {
  const auto graph = workload("bert", R"({"variant": "large"})");
  const StagedModel model = partition(*graph, by_layers({3, 7, 7, 7}));
  EXPECT_THAT(ipus_of(model), ElementsAre(0, 1, 2, 3, 0));
  EXPECT_THAT(layers_of(model), ElementsAre(3, 7, 7, 7, 0));
  EXPECT_EQ(model.stages[0].blocks.front(), "embedding");
  EXPECT_THAT(model.stages[4].blocks, ElementsAre("head"));
  EXPECT_EQ(model.ipus_per_replica, 4);
}

// [0, 4, 4, 4] of the published BERT-Base: the embedding alone on IPU 0.
TEST(LayersPerIpu, ZeroKeepsTheEmbeddingAlone) {
  const StagedModel model = partition(*workload("bert"), by_layers({0, 4, 4, 4}));
  EXPECT_THAT(model.stages[0].blocks, ElementsAre("embedding"));
  EXPECT_THAT(layers_of(model), ElementsAre(0, 4, 4, 4, 0));
}

// The question-answering head is not tied: it stays with the last layers.
TEST(LayersPerIpu, QuestionAnsweringHeadIsOnTheLastIpu) {
  const auto graph = workload("bert", R"({"variant": "large", "task": "squad", "sequence_length": 384})");
  const StagedModel model = partition(*graph, by_layers({2, 3, 3, 3, 3, 3, 3, 4}));
  EXPECT_EQ(model.stages.size(), 8U);
  EXPECT_EQ(model.stages[7].blocks.back(), "head");
  EXPECT_THAT(layers_of(model), ElementsAre(2, 3, 3, 3, 3, 3, 3, 4));
}

TEST(LayersPerIpu, OneIpuHoldsEverythingInOneStage) {
  const StagedModel model = partition(*workload("bert"), by_layers({12}));
  ASSERT_EQ(model.stages.size(), 1U);
  EXPECT_EQ(model.stages[0].blocks.back(), "head");
}

// optimum-graphcore: [-1] on 4 IPUs and 8 layers gives [2, 2, 2, 2].
TEST(LayersPerIpu, WildcardsTakeTheRest) {
  PartitionRequest request = by_layers({-1});
  request.ipus_per_replica = 4;
  EXPECT_THAT(layers_of(partition(*workload("vit"), request)), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(layers_of(partition(*workload("vit"), by_layers({1, -1}))), ElementsAre(1, 11));
  EXPECT_THAT(layers_of(partition(*workload("vit"), by_layers({2, -1, -1, -1}))), ElementsAre(2, 3, 3, 4));
}

TEST(LayersPerIpu, NamesBothNumbersWhenLayersDoNotAddUp) {
  EXPECT_THAT(message_of(*workload("bert"), by_layers({3, 7, 7, 7})),
              HasSubstr("ipu.json:/layers_per_ipu|layers_per_ipu [3, 7, 7, 7] has 24 layers, but the model has 12"));
  EXPECT_THAT(message_of(*workload("bert"), by_layers({13, -1})), HasSubstr("has 13 layers, but the model has 12"));
  EXPECT_THAT(message_of(*workload("bert"), by_layers({-2, 14})), HasSubstr("has the entry -2"));
  EXPECT_THAT(message_of(*workload("bert"), by_layers({6, 0, 3, 3})), HasSubstr("leaves IPU 1 without work"));
}

TEST(Replica, NeedsAPowerOfTwo) {
  const auto graph = workload("bert");
  EXPECT_THAT(message_of(*graph, by_layers({4, 4, 4})),
              HasSubstr("a replica of 3 IPUs is not possible: the number must be a power of 2|split over 2 or 4 IPUs"));
  PartitionRequest request = by_layers({4, 4, 4});
  request.round_to_power_of_two = true;
  EXPECT_EQ(partition(*graph, request).ipus_per_replica, 4);
}

TEST(Replica, MayHaveIdleIpusButNotTooFew) {
  PartitionRequest request = by_layers({6, 6});
  request.ipus_per_replica = 4;
  EXPECT_EQ(partition(*workload("bert"), request).ipus_per_replica, 4);
  request.ipus_per_replica = 1;
  EXPECT_THAT(message_of(*workload("bert"), request), HasSubstr("the split uses 2 IPUs, but ipus_per_replica is 1"));
}

// poptorch.Stage("B1", "B2").ipu(0), poptorch.Stage("B3", "B4").ipu(1) of the PopTorch tutorial.
TEST(Stages, AreTheBlocksOfTheTutorial) {
  const auto graph = workload("mnist_pipeline");
  const StagedModel model = partition(*graph, by_stages({{{"B1", "B2"}, 0}, {{"B3", "B4"}, 1}}));
  EXPECT_THAT(model.stages[0].blocks, ElementsAre("B1", "B2"));
  EXPECT_THAT(model.stages[1].blocks, ElementsAre("B3", "B4"));
  EXPECT_EQ(model.ipus_per_replica, 2);
}

// MLPerf 1.1 POD64: attention and feed-forward halves on 8 IPUs, [att, ffn]: IPU 1 [2, 2], 2 [3, 3], 3 [4, 3], 4 [3,
// 4], 5 [4, 3], 6 [3, 4], 7 [4, 3], and the last [1, 2] with the embedding and the head on IPU 0.
TEST(Stages, CutLayersInHalves) {
  const auto graph = workload("bert", R"({"variant": "large", "sequence_length": 512, "sequences_per_pack": 3})");
  const StagedModel model = partition(*graph, by_stages({{{"embedding"}, 0},
                                                         {{"encoder/0..encoder/1"}, 1},
                                                         {{"encoder/2..encoder/4"}, 2},
                                                         {{"encoder/5..encoder/8/attention"}, 3},
                                                         {{"encoder/8/ffn..encoder/11"}, 4},
                                                         {{"encoder/12..encoder/15/attention"}, 5},
                                                         {{"encoder/15/ffn..encoder/18"}, 6},
                                                         {{"encoder/19..encoder/22/attention"}, 7},
                                                         {{"encoder/22/ffn", "encoder/23", "head"}, 0}}));
  EXPECT_THAT(layers_of(model, "/attention"), ElementsAre(0, 2, 3, 4, 3, 4, 3, 4, 1));
  EXPECT_THAT(layers_of(model, "/ffn"), ElementsAre(0, 2, 3, 3, 4, 3, 4, 3, 2));
  EXPECT_EQ(model.ipus_per_replica, 8);
}

TEST(Stages, SayWhatIsWrong) {
  const auto graph = workload("mnist_pipeline");
  EXPECT_THAT(message_of(*graph, by_stages({{{"B1", "B22"}, 0}})),
              HasSubstr("s.json:/stages/0|unknown block \"B22\"|did you mean \"B2\"? The blocks are B1, B2, B3, B4"));
  EXPECT_THAT(message_of(*graph, by_stages({{{"B1", "B2"}, 0}, {{"B2", "B3", "B4"}, 1}})),
              HasSubstr("s.json:/stages/1|block \"B2\" is in a stage twice"));
  EXPECT_THAT(message_of(*graph, by_stages({{{"B1", "B2"}, 0}, {{"B4"}, 1}})),
              HasSubstr("s.json:/partition|block \"B3\" is in no stage"));
  EXPECT_THAT(message_of(*graph, by_stages({{{"B3", "B4"}, 0}, {{"B1", "B2"}, 1}})),
              HasSubstr("block \"B1\" comes after \"B4\", but runs before it"));
  EXPECT_THAT(message_of(*graph, by_stages({{{"B3..B1"}, 0}})), HasSubstr("the range \"B3..B1\" runs backwards"));
  EXPECT_THAT(message_of(*graph, by_stages({{{}, 0}})), HasSubstr("a stage without blocks"));
  EXPECT_THAT(message_of(*graph, by_stages({{{"B1"}, -1}})), HasSubstr("a stage on IPU -1"));
}

TEST(Stages, KeepTiedWeightsTogether) {
  const auto graph = workload("gpt2");
  PartitionRequest request = by_stages({{{"embedding", "decoder"}, 0}, {{"head"}, 1}});
  EXPECT_THAT(message_of(*graph, request),
              HasSubstr("weight \"head/language_model/weight\" is tied to \"embedding/word/weight\", but they are on "
                        "IPUs 1 and 0|put the stage of block \"head\" on IPU 0"));
}

TEST(Annotations, PutBlocksOnTheirIpus) {
  WorkloadGraph graph = chain(4);
  for (std::size_t index = 0; index < 4; ++index) graph.blocks[index].ipu = static_cast<int>(index / 2);
  PartitionRequest request;
  request.where = "s.json:/workload";
  EXPECT_THAT(ipus_of(partition(graph, request)), ElementsAre(0, 1));
  request.pipeline_depth = 2;
  EXPECT_THAT(message_of(graph, request), HasSubstr("the blocks have IPUs of their own (\"ipu\"), but pipeline_depth"));
  request.pipeline_depth = 0;
  graph.blocks[3].ipu = -1;
  EXPECT_THAT(message_of(graph, request), HasSubstr("block \"B4\" has no ipu, but others have one"));
}

TEST(Default, IsOneStage) {
  const StagedModel model = partition(chain(3), {});
  ASSERT_EQ(model.stages.size(), 1U);
  EXPECT_EQ(model.ipus_per_replica, 1);
  EXPECT_TRUE(model.edges.empty());
}

TEST(StageTimes, IsOneStageForEachEntry) {
  const auto graph = workload("stage_times", R"({"forward_seconds": [1, 2, 3], "output_bytes": 100,
                                                 "weight_bytes": [20, 40, 60], "recompute_seconds": 0.5})");
  const StagedModel model = partition(*graph, {});
  EXPECT_TRUE(model.profiled);
  EXPECT_THAT(ipus_of(model), ElementsAre(0, 1, 2));
  EXPECT_EQ(model.ipus_per_replica, 3);
  EXPECT_EQ(model.edges[1].activation_bytes, 100);
  EXPECT_EQ(model.edges[1].gradient_bytes, 100);
  EXPECT_EQ(model.stages[2].stash_bytes, 100);
  EXPECT_EQ(model.weight_bytes(2), 60);
  EXPECT_EQ(model.gradient_bytes(2), 60);
  EXPECT_EQ(std::get<ProfiledTimes>(model.stages[2].operators[0].shape).forward_seconds, 3);
  EXPECT_EQ(std::get<ProfiledTimes>(model.stages[2].operators[0].shape).recompute_seconds, 0.5);
}

TEST(StageTimes, MayShareIpusAndBeSplitByDepth) {
  const auto mapped = workload("stage_times", R"({"forward_seconds": 1, "ipu": [0, 1, 2, 3, 0]})");
  EXPECT_THAT(ipus_of(partition(*mapped, {})), ElementsAre(0, 1, 2, 3, 0));
  const auto graph = workload("stage_times", R"({"forward_seconds": [4, 1, 1, 2], "backward_seconds": 0})");
  PartitionRequest request;
  request.pipeline_depth = 2;
  const StagedModel model = partition(*graph, request);
  EXPECT_THAT(model.stages[0].blocks, ElementsAre("stage0"));
  EXPECT_EQ(model.stages[1].operators.size(), 3U);
}

TEST(Profiles, AreForAllOperatorsOrNone) {
  WorkloadGraph graph = chain(2);
  graph.graph[0].kind = OperatorKind::Profiled;
  EXPECT_THAT(message_of(graph, {}), HasSubstr("operator \"op0\" has given times, but \"op1\" has not"));
}

// Two IPUs share each stage: everything that counts IPUs counts pairs.
TEST(SharedStages, ThreePairsAndTheHeadWithTheEmbedding) {
  const auto graph = workload("bert", R"({"variant": "large", "tensor_parallel": 2})");
  const StagedModel model = partition(*graph, by_layers({3, 7, 7, 7}));
  EXPECT_THAT(ipus_of(model), ElementsAre(0, 2, 4, 6, 0));
  EXPECT_THAT(layers_of(model), ElementsAre(3, 7, 7, 7, 0));
  EXPECT_EQ(model.ipus_per_replica, 8);
  EXPECT_EQ(model.ipus_per_stage, 2);
  EXPECT_TRUE(model.on_ipu(model.stages[1], 3));
  EXPECT_FALSE(model.on_ipu(model.stages[1], 4));
  // What goes from stage to stage is whole on each of the two; weights are parts.
  const StagedModel single = partition(*workload("bert", R"({"variant": "large"})"), by_layers({3, 7, 7, 7}));
  EXPECT_EQ(model.edges[1].activation_bytes, single.edges[1].activation_bytes);
  const std::int64_t h = 1024;
  EXPECT_EQ(model.weight_elements(1), 7 * (12 * h * h / 2 + 7 * h / 2 + 6 * h));
  EXPECT_EQ(model.gradient_bytes(1), 2.0 * static_cast<double>(model.weight_elements(1)));
}

// Seven layers with two all-reduces each way, and the same again when the forward pass is; with a checkpoint at every
// layer, the last operator of a layer, a norm, is kept, its all-reduces are not.
TEST(SharedStages, CollectivesOfAStage) {
  const auto graph = workload("bert", R"({"variant": "large", "tensor_parallel": 4})", true, 2);
  const double bytes = 2 * 128 * 1024 * 2;
  for (const Recomputation recomputation : {Recomputation::None, Recomputation::Stage, Recomputation::EveryLayer}) {
    PartitionRequest request = by_layers({3, 7, 7, 7});
    request.recomputation = recomputation;
    const Stage stage = partition(*graph, request).stages[1];
    ASSERT_EQ(stage.forward_collectives.size(), 1U);
    EXPECT_EQ(stage.forward_collectives[0].count, 14);
    EXPECT_EQ(stage.forward_collectives[0].bytes, bytes);
    ASSERT_EQ(stage.backward_collectives.size(), 1U);
    EXPECT_EQ(stage.backward_collectives[0].count, 14);
    EXPECT_EQ(stage.recompute_collectives.size(), recomputation == Recomputation::None ? 0U : 1U);
    if (recomputation != Recomputation::None) {
      EXPECT_EQ(stage.recompute_collectives[0].count, 14);
    }
  }
  PartitionRequest inference = by_layers({3, 7, 7, 7});
  inference.training = false;
  EXPECT_TRUE(partition(*graph, inference).stages[1].backward_collectives.empty());
}

TEST(SharedStages, SayWhatIsWrong) {
  const auto three = workload("bert", R"({"tensor_parallel": 3})");
  EXPECT_THAT(message_of(*three, by_layers({6, 6})),
              HasSubstr("3 IPUs cannot share a stage: the number must be a power of 2, as that of a replica's IPUs|set "
                        "tensor_parallel or domain_sharding to 2"));
  const auto four = workload("bert", R"({"tensor_parallel": 4})");
  EXPECT_THAT(message_of(*four, by_layers({4, 4, 4})),
              HasSubstr("a replica of 12 IPUs is not possible: the number must be a power of 2, and 4 IPUs share each "
                        "stage"));
}

}  // namespace
}  // namespace podsim
