// Does each IPU of a stage get its part of the work, and are the all-reduces of Megatron-LM where they belong?
#include "workloads/tensor_parallel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"

namespace podsim {
namespace {

using test::build;
using test::operator_named;
using ::testing::HasSubstr;

WorkloadGraph share(const std::string& model, const test::Asked& asked) { return tensor_share(*build(model, asked)); }

std::string message_of(const std::string& model, const test::Asked& asked) {
  try {
    static_cast<void>(share(model, asked));
  } catch (const UserError& error) {
    return error.where() + "|" + error.problem() + "|" + error.remedy();
  }
  return "no error";
}

std::int64_t weight_elements(const WorkloadGraph& graph, const std::string& block) {
  std::int64_t sum = 0;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph.graph))) {
    const Operator& op = graph.graph[vertex];
    if (graph.blocks[static_cast<std::size_t>(op.block)].name == block) sum += op.weight_elements();
  }
  return sum;
}

// All collectives of a block as "forward 4x100", with the bytes of each.
std::vector<std::string> collectives(const WorkloadGraph& graph, const std::string& block) {
  std::vector<std::string> found;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph.graph))) {
    const Operator& op = graph.graph[vertex];
    if (graph.blocks[static_cast<std::size_t>(op.block)].name != block) continue;
    const auto add = [&](const char* pass, const std::vector<StageCollective>& all) {
      for (const StageCollective& each : all) {
        EXPECT_EQ(each.kind, CollectiveKind::AllReduce);
        found.push_back(op.name + " " + pass + " " + std::to_string(each.count) + "x" +
                        std::to_string(static_cast<std::int64_t>(each.bytes)));
      }
    };
    add("forward", op.forward_collectives);
    add("backward", op.backward_collectives);
  }
  return found;
}

// Multiply-accumulates are neither lost nor done twice: an operator that is divided does 1/k of them, others all.
TEST(TensorParallel, TheWorkOfTheIpusAddsUp) {
  const std::vector<std::pair<std::string, std::string>> models = {
      {"bert", ""}, {"gpt2", ""}, {"vit", ""}, {"conformer", ""}, {"mlp", R"("layers": [64, 128, 32, 96, 16], )"}};
  for (const auto& [model, options] : models) {
    for (const int ipus : {2, 4}) {
      const test::Asked asked = {.options = "{" + options + R"("tensor_parallel": )" + std::to_string(ipus) + "}",
                                 .micro_batch_size = 2};
      const auto whole = build(model, asked);
      const WorkloadGraph part = tensor_share(*whole);
      double divided = 0, all = 0;
      for (const auto vertex : boost::make_iterator_range(boost::vertices(whole->graph))) {
        const double before = whole->graph[vertex].forward_amp_flops();
        const double after = part.graph[vertex].forward_amp_flops();
        all += before;
        if (after == before) continue;
        EXPECT_DOUBLE_EQ(after * ipus, before) << whole->graph[vertex].name;
        divided += before;
      }
      EXPECT_DOUBLE_EQ(part.forward_flops(), all - divided + divided / ipus) << model;
      EXPECT_GT(divided / all, model == "conformer" ? 0.5 : 0.95) << model;
    }
  }
}

// 4 H^2 and 8 H^2 weights of a layer are divided, and the biases of the matmuls divided by columns (3 H and 4 H); those
// of the others (2 H) and the norms (4 H) are on each IPU.
TEST(TensorParallel, DividesTheWeightsOfALayer) {
  const std::int64_t h = 768;
  for (const std::int64_t k : {1, 2, 4}) {
    const test::Asked asked = {.options = R"({"tensor_parallel": )" + std::to_string(k) + "}"};
    const WorkloadGraph part = k == 1 ? *build("bert", asked) : share("bert", asked);
    EXPECT_EQ(weight_elements(part, "encoder/5/attention"), (4 * h * h + 3 * h) / k + h + 2 * h);
    EXPECT_EQ(weight_elements(part, "encoder/5/ffn"), (8 * h * h + 4 * h) / k + h + 2 * h);
  }
}

// Megatron-LM: two all-reduces of the activations in the forward pass of a layer, two in its backward pass.
TEST(TensorParallel, ALayerHasTwoAllReducesInEachPass) {
  const WorkloadGraph part = share("bert", {.options = R"({"tensor_parallel": 4})", .micro_batch_size = 8});
  const std::string bytes = "1x" + std::to_string(8 * 128 * 768 * 2);
  EXPECT_THAT(collectives(part, "encoder/5/attention"),
              testing::UnorderedElementsAre("encoder/5/attention/query_key_value backward " + bytes,
                                            "encoder/5/attention/output forward " + bytes));
  EXPECT_THAT(collectives(part, "encoder/5/ffn"), testing::UnorderedElementsAre("encoder/5/ffn/up backward " + bytes,
                                                                                "encoder/5/ffn/down forward " + bytes));
  EXPECT_EQ(operator_named(part, "encoder/5/attention/softmax").outputs[0].shape[0], 8 * 12 / 4);  // heads
  EXPECT_EQ(operator_named(part, "encoder/5/ffn/activation").outputs[0].shape[2], 3072 / 4);
  EXPECT_EQ(operator_named(part, "encoder/5/ffn/residual").outputs[0].shape[2], 768);
}

// The vocabulary is divided too, padded to a multiple: the sums of the embedding go round, three statistics of each
// token in the cross entropy, and the gradient of the projection's input.
TEST(TensorParallel, DividesTheVocabulary) {
  const test::Asked asked = {.options = R"({"tensor_parallel": 4, "sequence_length": 256})"};
  const auto whole = build("gpt2", asked);
  EXPECT_EQ(whole->parameter_count(), build("gpt2", {})->parameter_count() + 3 * 768);  // 50,260 instead of 50,257
  const WorkloadGraph part = tensor_share(*whole);
  EXPECT_EQ(std::get<GatherShape>(operator_named(part, "embedding/word").shape).rows, 50260 / 4);
  EXPECT_EQ(operator_named(part, "embedding/word").weight_elements(), 50260 / 4 * 768);
  EXPECT_THAT(collectives(part, "embedding"),
              testing::ElementsAre("embedding/word forward 1x" + std::to_string(256 * 768 * 2)));
  EXPECT_THAT(collectives(part, "head"),
              testing::UnorderedElementsAre("head/language_model backward 1x" + std::to_string(256 * 768 * 2),
                                            "head/cross_entropy/softmax forward 2x" + std::to_string(256 * 4),
                                            "head/cross_entropy/loss forward 1x" + std::to_string(256 * 4)));
  const WorkloadGraph inference = share("gpt2", {.options = asked.options, .training = false});
  EXPECT_TRUE(operator_named(inference, "head/language_model").divided);
  EXPECT_EQ(operator_named(inference, "head/language_model").outputs[0].shape.back(), 50260 / 4);
}

// [64 x 128] by columns, [128 x 32] by rows, [32 x 96], [96 x 16]; samples have no gradient.
TEST(TensorParallel, DividesPerceptronLayersInPairs) {
  const WorkloadGraph part =
      share("mlp", {.options = R"({"layers": [64, 128, 32, 96, 16], "tensor_parallel": 2})", .micro_batch_size = 4});
  EXPECT_THAT(collectives(part, "layer0"), testing::IsEmpty());
  EXPECT_THAT(collectives(part, "layer1"),
              testing::ElementsAre("layer1/dense forward 1x" + std::to_string(4 * 32 * 2)));
  EXPECT_THAT(collectives(part, "layer2"),
              testing::ElementsAre("layer2/dense backward 1x" + std::to_string(4 * 32 * 2)));
  EXPECT_THAT(collectives(part, "layer3"),
              testing::ElementsAre("layer3/dense forward 1x" + std::to_string(4 * 16 * 2)));
  EXPECT_EQ(weight_elements(part, "layer0"), 64 * 64 + 64);
  EXPECT_EQ(weight_elements(part, "layer1"), 64 * 32 + 32);
}

// Position scores of the Conformer: queries divided by heads meet a position table divided by heads.
TEST(TensorParallel, FollowsTheHeadsOfRelativePositions) {
  const WorkloadGraph part = share("conformer", {.options = R"({"tensor_parallel": 2})"});
  const Operator& scores = operator_named(part, "encoder/0/position_scores");
  EXPECT_EQ(std::get<MatMulShape>(scores.shape).groups, 2);
  EXPECT_EQ(scores.inputs[1].shape[0], 2);
  EXPECT_TRUE(scores.forward_collectives.empty());
  EXPECT_TRUE(scores.backward_collectives.empty());
}

std::string graph_of(const std::string& operators) {
  return R"({"blocks": ["B"], "operators": [
    {"name": "x", "kind": "input", "block": "B", "outputs": [{"shape": [6, 8]}]},
    {"name": "up", "kind": "matmul", "block": "B", "inputs": ["x"], "split": "columns",
     "matmul": {"rows": 6, "inner": 8, "columns": 12}, "outputs": [{"shape": [6, 12]}]})" +
         operators + "]}";
}

std::string matmul(const std::string& name, const std::string& input, const std::string& more) {
  return R"(, {"name": ")" + name + R"(", "kind": "matmul", "block": "B", "inputs": [")" + input +
         R"("], "matmul": {"rows": 6, "inner": 12, "columns": 5}, "outputs": [{"shape": [6, 5]}])" + more + "}";
}

TEST(TensorParallel, AGraphFileMarksItsMatmuls) {
  const std::string relu = R"(, {"name": "relu", "kind": "relu", "block": "B", "inputs": ["up"],
    "outputs": [{"shape": [6, 12]}]})";
  const WorkloadGraph part =
      share("graph", {.options = R"({"tensor_parallel": 4})",
                      .config = graph_of(relu + matmul("down", "relu", R"(, "split": "rows")"))});
  EXPECT_EQ(std::get<MatMulShape>(operator_named(part, "up").shape).columns, 3);
  EXPECT_EQ(operator_named(part, "relu").outputs[0].shape, (std::vector<std::int64_t>{6, 3}));
  EXPECT_EQ(std::get<MatMulShape>(operator_named(part, "down").shape).inner, 3);
  EXPECT_EQ(operator_named(part, "down").weight_elements(), 3 * 5);
  EXPECT_THAT(collectives(part, "B"), testing::ElementsAre("down forward 1x60"));
}

TEST(TensorParallel, SaysWhatCannotBeDivided) {
  const auto graph = [](const std::string& operators, int ipus = 4) {
    return message_of(
        "graph", {.options = R"({"tensor_parallel": )" + std::to_string(ipus) + "}", .config = graph_of(operators)});
  };
  EXPECT_THAT(
      message_of("bert", {.options = R"({"tensor_parallel": 8})"}),
      HasSubstr("num_attention_heads 12 cannot be divided over the 8 IPUs of a stage (tensor_parallel)|choose a "
                "tensor_parallel that divides it"));
  EXPECT_THAT(message_of("gpt2", {.options = R"({"tensor_parallel": 5, "variant": "large"})"}), "no error");
  EXPECT_THAT(message_of("mlp", {.options = R"({"tensor_parallel": 2, "layers": [8, 9, 4]})"}),
              HasSubstr("width 9 cannot be divided over the 2 IPUs"));
  EXPECT_THAT(message_of("mlp", {.options = R"({"tensor_parallel": 2, "layers": [8, 4]})"}),
              HasSubstr("tensor_parallel divides pairs of layers, and there is only one"));
  EXPECT_THAT(graph("", 5), HasSubstr("workload operator up|its columns, 12, cannot be divided over 5 IPUs"));
  EXPECT_THAT(graph(matmul("down", "up", "")),
              HasSubstr("workload operator down|it needs the whole of \"up\", of which each of 4 IPUs has a part|put a "
                        "matmul with \"split\": \"rows\" between them"));
  EXPECT_THAT(graph(R"(, {"name": "norm", "kind": "layer_norm", "block": "B", "inputs": ["up"],
                       "norm": {"groups": 6, "elements": 12}, "outputs": [{"shape": [6, 12]}]})"),
              HasSubstr("workload operator norm|it needs the whole of \"up\""));
  EXPECT_THAT(graph(matmul("down", "up", R"(, "split": "rows")") + R"(, {"name": "again", "kind": "matmul",
                    "block": "B", "inputs": ["down"], "split": "rows", "matmul": {"rows": 6, "inner": 5, "columns": 4},
                    "outputs": [{"shape": [6, 4]}]})"),
              HasSubstr("a matmul divided by rows reads \"down\", whose features are not divided|divide the matmul "
                        "before it by columns"));
  EXPECT_THAT(graph(R"(, {"name": "r", "kind": "relu", "block": "B", "inputs": ["up"], "split": "rows",
                       "outputs": [{"shape": [6, 12]}]})"),
              HasSubstr("only a matmul or an embedding_gather can be divided|remove it"));
  EXPECT_THAT(graph(R"(, {"name": "e", "kind": "embedding_gather", "block": "B", "inputs": ["x"], "split": "columns",
                       "gather": {"lookups": 6, "rows": 8, "width": 8}, "outputs": [{"shape": [6, 8]}]})"),
              HasSubstr("only a matmul with a weight, and an embedding by its rows, can be divided|remove \"split\""));
  EXPECT_THAT(graph(R"(, {"name": "p", "kind": "matmul", "block": "B", "inputs": ["x"], "split": "none",
                       "matmul": {"rows": 6, "inner": 8, "columns": 12}, "outputs": [{"shape": [6, 12]}],
                       "weights": [{"elements": 96, "tied_to": "up/weight"}]})"),
              HasSubstr("weight \"p/weight\" is divided in another way than \"up/weight\", to which it is tied"));
  EXPECT_THAT(message_of("graph", {.options = R"({"tensor_parallel": 2})",
                                   .config = R"({"blocks": ["B"], "operators": [{"name": "a", "kind": "relu",
                                     "block": "B", "outputs": [{"shape": [4]}]}]})"}),
              HasSubstr("no operator is divided, so 2 IPUs cannot share a stage|mark matmuls with"));
}

}  // namespace
}  // namespace podsim
