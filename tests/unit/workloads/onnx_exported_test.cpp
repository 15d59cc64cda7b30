// Files as torch.onnx.export (PyTorch 1.13) writes them, without the contents of their weights: exported/.
// Do they become the networks that they are, by the numbers of their parameters in PyTorch?
#include <gtest/gtest.h>

#include "tests/unit/workloads/build.hpp"

namespace podsim::test {
namespace {

std::unique_ptr<WorkloadGraph> exported(const std::string& name, const std::string& options = "",
                                        bool training = true) {
  Asked asked;
  asked.options = R"({"file": ")" + name + R"(.onnx")" + options + "}";
  asked.folder = PODSIM_SOURCE_DIR "/tests/unit/workloads/exported";
  asked.micro_batch_size = 2;
  asked.training = training;
  return build("onnx", asked);
}

std::int64_t count(const WorkloadGraph& graph, OperatorKind kind) {
  std::int64_t found = 0;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph.graph))) {
    found += graph.graph[vertex].kind == kind ? 1 : 0;
  }
  return found;
}

// Operator set 13, free batch and length; masks, positions from a range, layer norms in parts, GELU by erf.
TEST(OnnxExported, AnEncoderLayerWithAMask) {
  const auto graph = exported("attention", R"(, "dimensions": {"seq": 32})");
  EXPECT_EQ(graph->parameter_count(), 58'562 - 128);       // of the layer norms' equal weights PyTorch writes one
  EXPECT_EQ(count(*graph, OperatorKind::Softmax), 1 + 1);  // and the loss
  EXPECT_EQ(count(*graph, OperatorKind::Gelu), 1);
  EXPECT_EQ(count(*graph, OperatorKind::EmbeddingGather), 1);  // positions are known before the run
  // 2 products of activations, projections of q, k, v and the result, feed-forward up and down, head.
  EXPECT_EQ(count(*graph, OperatorKind::MatMul), 2 + 4 + 2 + 1);
  const double tokens = 2 * 32, hidden = 64;
  const double products = 2 * tokens * 32 * hidden;
  EXPECT_DOUBLE_EQ(graph->forward_flops() / 2, tokens * 12 * hidden * hidden + products + 2 * hidden * 2);
}

// Operator set 14: causal mask by Trilu's constant, Split into q, k, v, GELU by tanh. The word embedding is stored a
// second time, transposed, for the head.
TEST(OnnxExported, ADecoderLayer) {
  const auto graph = exported("causal");
  EXPECT_EQ(graph->parameter_count(), 56'256 + 100 * 64);
  EXPECT_EQ(count(*graph, OperatorKind::MatMul), 2 + 2 + 2 + 1);
}

// Operator set 17: resized and padded images, transposed convolution, group and instance norm, PReLU, ELU.
TEST(OnnxExported, AnImageNetwork) {
  const auto graph = exported("images");
  EXPECT_EQ(graph->parameter_count(), 664);
  EXPECT_EQ(count(*graph, OperatorKind::Convolution), 3);
}

// Operator set 11: a layer norm in parts, softplus, softmax.
TEST(OnnxExported, APerceptron) { EXPECT_EQ(exported("perceptron")->parameter_count(), 6'282); }

// Operator set 16: squeeze and excitation.
TEST(OnnxExported, ASqueezeAndExcitationBlock) { EXPECT_EQ(exported("squeeze")->parameter_count(), 681); }

// Operator set 13, exported for training: batch norms stay.
TEST(OnnxExported, ACnnWithBatchNorms) {
  const auto graph = exported("batch_norm");
  EXPECT_EQ(graph->parameter_count(), 3'194);
  EXPECT_EQ(count(*graph, OperatorKind::BatchNorm), 2);
}

}  // namespace
}  // namespace podsim::test
