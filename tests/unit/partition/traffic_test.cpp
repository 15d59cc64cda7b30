// Are the bytes between stages, the stashes, host data and weights of a split what its tensors say?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/partition/models.hpp"

namespace podsim {
namespace {

using test::chain;
using test::workload;

PartitionRequest stages_of_one_block(const WorkloadGraph& graph, bool training = true) {
  PartitionRequest request;
  request.training = training;
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    request.stages.push_back({{graph.blocks[index].name}, static_cast<int>(index), ""});
  }
  return request;
}

// BERT-Large, micro-batch b of S tokens with hidden size H in fp16: b S H hidden states and b S mask values go down,
// gradients of the hidden states come back. The last boundary needs no mask.
TEST(Traffic, OfBertIsHiddenStatesAndMask) {
  const double b = 8, s = 128, h = 1024, fp16 = 2;
  PartitionRequest request;
  request.layers_per_ipu = {3, 7, 7, 7};
  const StagedModel model = partition(*workload("bert", R"({"variant": "large"})", true, 8), request);
  ASSERT_EQ(model.edges.size(), 4U);
  for (int edge = 0; edge < 3; ++edge) {
    EXPECT_EQ(model.edges[edge].activation_bytes, (b * s * h + b * s) * fp16) << edge;
    EXPECT_EQ(model.edges[edge].gradient_bytes, b * s * h * fp16);
    EXPECT_EQ(model.stages[edge + 1].activation_in_bytes, (b * s * h + b * s) * fp16);
    EXPECT_EQ(model.stages[edge + 1].stash_bytes, (b * s * h + b * s) * fp16);
  }
  EXPECT_EQ(model.edges[3].activation_bytes, b * s * h * fp16);
}

TEST(Traffic, InferenceHasNoGradientsAndNoStash) {
  PartitionRequest request;
  request.layers_per_ipu = {6, 6};
  request.training = false;
  const StagedModel model = partition(*workload("bert", "{}", false), request);
  for (const StageEdge& edge : model.edges) EXPECT_EQ(edge.gradient_bytes, 0);
  for (const Stage& stage : model.stages) EXPECT_EQ(stage.stash_bytes, 0);
}

// op0 is read by op1 and op3: it passes through stage 2, which does not keep it.
TEST(Traffic, SkippedStagesPassTensorsOn) {
  WorkloadGraph graph = chain(4, 10);
  graph.connect(0, 0, 3);
  const StagedModel model = partition(graph, stages_of_one_block(graph));
  EXPECT_EQ(model.edges[0].activation_bytes, 20);
  EXPECT_EQ(model.edges[1].activation_bytes, 40);
  EXPECT_EQ(model.edges[2].activation_bytes, 40);
  EXPECT_EQ(model.edges[2].gradient_bytes, 40);
  EXPECT_EQ(model.stages[2].activation_in_bytes, 40);
  EXPECT_EQ(model.stages[2].stash_bytes, 20);
  EXPECT_EQ(model.stages[3].stash_bytes, 40);
}

TEST(Traffic, ATensorWithSeveralReadersCrossesOnce) {
  WorkloadGraph graph = chain(2, 10);
  Operator op;
  op.name = "second reader";
  op.block = 1;
  op.outputs = {{op.name, {1}, ElementType::Float16}};
  graph.add(op, {0});
  const StagedModel model = partition(graph, stages_of_one_block(graph));
  EXPECT_EQ(model.edges[0].activation_bytes, 20);
  EXPECT_EQ(model.stages[1].stash_bytes, 20);
}

TEST(HostData, ArrivesWhereItIsRead) {
  PartitionRequest request;
  request.layers_per_ipu = {3, 7, 7, 7};
  const StagedModel model = partition(*workload("bert", R"({"variant": "large"})", true, 8), request);
  ASSERT_EQ(model.stages[0].host_inputs.size(), 3U);  // ids, mask, types
  for (const HostTensor& tensor : model.stages[0].host_inputs) {
    EXPECT_EQ(tensor.bytes, 8 * 128 * 4);
    EXPECT_FALSE(tensor.label);
  }
  EXPECT_EQ(model.stages[0].stash_bytes, 3 * 8 * 128 * 4);
  ASSERT_EQ(model.stages[4].host_inputs.size(), 2U);
  EXPECT_EQ(model.stages[4].host_inputs[0].bytes, 8 * 20 * 4);
  EXPECT_TRUE(model.stages[4].host_inputs[0].label);
  ASSERT_EQ(model.stages[4].host_results.size(), 1U);
  EXPECT_EQ(model.stages[4].host_results[0].bytes, 4);
}

// 224 x 224 x 3 images: fp16 as the model's, int8 or fp32 as transferred; labels keep their type.
TEST(HostData, SamplesComeInTheTypeOfTheHost) {
  const double elements = 20.0 * 224 * 224 * 3;
  for (const auto& [width, bytes] : {std::pair{0.0, 2 * elements}, {1.0, elements}, {4.0, 4 * elements}}) {
    PartitionRequest request;
    request.input_bytes_per_element = width;
    const StagedModel model = partition(*workload("resnet50", "{}", true, 20), request);
    EXPECT_EQ(model.stages[0].host_inputs[0].bytes, bytes);
    EXPECT_EQ(model.stages[0].host_inputs[1].bytes, 20 * 4);
  }
}

TEST(Weights, AreStoredOnceAndSumUpToTheModel) {
  PartitionRequest request;
  request.layers_per_ipu = {3, 7, 7, 7};
  request.optimizer = find_optimizer("lamb", "");
  const auto graph = workload("bert", R"({"variant": "large"})");
  const StagedModel model = partition(*graph, request);
  std::int64_t elements = 0;
  for (const Stage& stage : model.stages) elements += model.weight_elements(stage.index);
  EXPECT_EQ(elements, 336'226'108);
  // 7 layers of 12,596,224 parameters: fp16 weights and accumulators, two fp32 moments.
  const double layers = 7 * 12'596'224.0;
  EXPECT_EQ(model.weight_bytes(1), 2 * layers);
  EXPECT_EQ(model.gradient_bytes(1), 2 * layers);
  EXPECT_EQ(model.optimizer_state_bytes(1), 8 * layers);
}

TEST(Weights, MovingAveragesHaveNoGradient) {
  const StagedModel model = partition(*workload("resnet50"), {});
  EXPECT_EQ(model.weight_elements(0), 25'557'032);
  EXPECT_EQ(model.weight_bytes(0), 2 * (25'557'032 + 53'120));
  EXPECT_EQ(model.gradient_bytes(0), 2 * 25'557'032);
}

// A layer of two blocks is one layer for checkpoints: its operators have one block number.
TEST(Layers, CountAsOneBlockForCheckpoints) {
  const StagedModel model = partition(*workload("bert"), {});
  std::map<int, std::string> first_names;
  for (const Operator& op : model.stages[0].operators) first_names.emplace(op.block, op.name);
  EXPECT_EQ(first_names.size(), 12U + 2U);
}

// Every operator but the inputs is on one stage; each reads only what its stage made, received or streams in.
TEST(Property, EveryOperatorIsOnExactlyOneStageAndBytesAddUp) {
  for (const auto& [name, options] : {std::pair<std::string, std::string>{"bert", "{}"},
                                      {"gpt2", R"({"sequence_length": 64})"},
                                      {"vit", "{}"},
                                      {"resnet50", "{}"},
                                      {"efficientnet", "{}"},
                                      {"conformer", "{}"},
                                      {"schnet", "{}"},
                                      {"mlp", "{}"}}) {
    const auto graph = workload(name, options);
    for (const int depth : {1, 2, 4}) {
      PartitionRequest request;
      request.pipeline_depth = depth;
      const StagedModel model = partition(*graph, request);
      std::map<std::string, int> stage_of;
      for (const Stage& stage : model.stages) {
        for (const Operator& op : stage.operators) {
          EXPECT_TRUE(stage_of.emplace(op.name, stage.index).second) << op.name;
        }
      }
      std::vector<double> crossing(model.edges.size(), 0);
      std::size_t operators = 0;
      for (const auto vertex : boost::make_iterator_range(boost::vertices(graph->graph))) {
        const Operator& op = graph->graph[vertex];
        if (op.kind == OperatorKind::Input) continue;
        ++operators;
        int last = stage_of.at(op.name);
        for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, graph->graph))) {
          const int reader = stage_of.at(graph->graph[boost::target(edge, graph->graph)].name);
          EXPECT_GE(reader, stage_of.at(op.name));
          last = std::max(last, reader);
        }
        for (int edge = stage_of.at(op.name); edge < last; ++edge) {
          crossing[edge] += static_cast<double>(op.output_bytes());
        }
      }
      EXPECT_EQ(stage_of.size(), operators) << name;
      for (std::size_t edge = 0; edge < crossing.size(); ++edge) {
        EXPECT_GE(model.edges[edge].activation_bytes, crossing[edge]) << name;  // host data may pass on as well
        EXPECT_LE(model.edges[edge].gradient_bytes, model.edges[edge].activation_bytes) << name;
      }
    }
  }
}

}  // namespace
}  // namespace podsim
