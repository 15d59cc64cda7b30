// Does each IPU of a stage get its rows of the images, and what it needs from its neighbours?
#include "workloads/domain_sharding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"

namespace podsim {
namespace {

using test::build;
using test::operator_named;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string options(int ipus, const std::string& more = "") {
  return R"({"domain_sharding": )" + std::to_string(ipus) + more + "}";
}

WorkloadGraph share(const std::string& model, const test::Asked& asked) {
  return domain_share(*build(model, asked), asked.training);
}

std::string message_of(const std::string& model, const test::Asked& asked) {
  try {
    static_cast<void>(share(model, asked));
  } catch (const UserError& error) {
    return error.where() + "|" + error.problem() + "|" + error.remedy();
  }
  return "no error";
}

// "all-reduce 100" of each collective.
std::vector<std::string> texts(const std::vector<StageCollective>& collectives) {
  std::vector<std::string> found;
  for (const StageCollective& each : collectives) {
    EXPECT_EQ(each.count, 1);
    found.push_back(std::string(name_of(each.kind)) + " " + std::to_string(static_cast<std::int64_t>(each.bytes)));
  }
  return found;
}

// Where rows divide, each of two IPUs does half of a convolution; the seven rows of the last stage make four and three.
TEST(DomainSharding, TheWorkOfTheIpusAddsUp) {
  const auto whole = build("resnet50", {.options = options(2)});
  const WorkloadGraph part = domain_share(*whole, true);
  int halves = 0;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(whole->graph))) {
    const Operator& before = whole->graph[vertex];
    if (before.kind != OperatorKind::Convolution) continue;
    const std::int64_t rows = std::get<ConvolutionShape>(before.shape).out_height;
    const double share = rows == 7 ? 4.0 / 7 : 0.5;
    halves += rows == 7 ? 0 : 1;
    EXPECT_DOUBLE_EQ(part.graph[vertex].forward_amp_flops(), share * before.forward_amp_flops()) << before.name;
  }
  EXPECT_EQ(halves, 53 - 9);  // He et al. 2016, table 1: three blocks of three at 7 x 7, their projection and first 1x1
  EXPECT_EQ(part.weight_count(), whole->weight_count());
}

// A 3x3 convolution needs one row from each side, [batch, 1, 56, 64] in fp16, and gives their gradients back; the 7x7
// one with stride 2 five rows of images, which have no gradient. 1x1 convolutions need nothing.
TEST(DomainSharding, NeighboursExchangeHalos) {
  const WorkloadGraph part = share("resnet50", {.options = options(4), .micro_batch_size = 2});
  const Operator& spatial = operator_named(part, "stage1/block1/spatial");
  const std::string halo = "halo exchange " + std::to_string(2 * 2 * 56 * 64 * 2);
  EXPECT_THAT(texts(spatial.forward_collectives), testing::ElementsAre(halo));
  EXPECT_THAT(texts(spatial.backward_collectives), testing::ElementsAre(halo));
  EXPECT_EQ(std::get<ConvolutionShape>(spatial.shape).in_height, 14 + 2);
  EXPECT_EQ(std::get<ConvolutionShape>(spatial.shape).out_height, 14);
  const Operator& stem = operator_named(part, "stem/convolution");
  EXPECT_THAT(texts(stem.forward_collectives),
              testing::ElementsAre("halo exchange " + std::to_string(2 * 5 * 224 * 3 * 2)));
  EXPECT_THAT(stem.backward_collectives, IsEmpty());
  EXPECT_THAT(operator_named(part, "stage1/block1/reduce").forward_collectives, IsEmpty());
  EXPECT_EQ(operator_named(part, "stem/images").outputs[0].shape, (std::vector<std::int64_t>{2, 56, 224, 3}));
  // 3x3 with stride 2: one row.
  EXPECT_THAT(texts(operator_named(part, "stem/pool").forward_collectives),
              testing::ElementsAre("halo exchange " + std::to_string(2 * 1 * 112 * 64 * 2)));
}

// Two fp32 sums for each channel in training; in inference a batch norm has its averages, a group norm has not.
TEST(DomainSharding, NormsAddUpTheirStatistics) {
  const std::string sums = "all-reduce " + std::to_string(2 * 64 * 4);
  const WorkloadGraph training = share("resnet50", {.options = options(2)});
  const Operator& norm = operator_named(training, "stem/convolution_norm");
  EXPECT_THAT(texts(norm.forward_collectives), testing::ElementsAre(sums));
  EXPECT_THAT(texts(norm.backward_collectives), testing::ElementsAre(sums));
  EXPECT_EQ(std::get<NormShape>(norm.shape).elements, 112 * 112 / 2);
  const WorkloadGraph inference = share("resnet50", {.options = options(2), .training = false});
  EXPECT_THAT(operator_named(inference, "stem/convolution_norm").forward_collectives, IsEmpty());
  const WorkloadGraph groups =
      share("resnet50", {.options = options(2, R"(, "norm": "group", "norm_groups": 32)"), .training = false});
  EXPECT_THAT(texts(operator_named(groups, "stem/convolution_norm").forward_collectives),
              testing::ElementsAre("all-reduce " + std::to_string(2 * 32 * 4)));
}

// The pooling over the whole field adds up its parts; what follows is whole on each IPU. Gradients of weights are parts
// only where the data are, and a batch norm's sums are complete.
TEST(DomainSharding, EndsWithTheField) {
  const WorkloadGraph part = share("resnet50", {.options = options(2), .micro_batch_size = 3});
  EXPECT_THAT(texts(operator_named(part, "head/pool").forward_collectives),
              testing::ElementsAre("all-reduce " + std::to_string(3 * 2048 * 2)));
  EXPECT_EQ(std::get<PoolShape>(operator_named(part, "head/pool").shape).window, 4 * 7);
  EXPECT_FALSE(operator_named(part, "head/classifier").divided);
  EXPECT_FALSE(operator_named(part, "head/classifier").weights[0].partial_gradient);
  EXPECT_TRUE(operator_named(part, "stem/convolution").weights[0].partial_gradient);
  for (const Weight& weight : operator_named(part, "stem/convolution_norm").weights) {
    EXPECT_FALSE(weight.partial_gradient) << weight.name;
  }
}

// Squeeze and excitation: pooled features are whole, the gate multiplies parts, so its gradient is summed.
TEST(DomainSharding, GatesOfWholeFeatures) {
  const WorkloadGraph part = share("efficientnet", {.options = options(2), .micro_batch_size = 2});
  const Operator& excite = operator_named(part, "block2b/excite");
  const std::int64_t channels = excite.outputs[0].shape[3];
  EXPECT_TRUE(excite.divided);
  EXPECT_THAT(texts(excite.backward_collectives),
              testing::ElementsAre("all-reduce " + std::to_string(2 * channels * 2)));
}

std::string graph_of(const std::string& operators) {
  return R"({"blocks": ["B"], "operators": [
    {"name": "x", "kind": "input", "block": "B", "outputs": [{"shape": [2, 8, 8, 4]}]})" +
         operators + "]}";
}

std::string convolution(int kernel, const std::string& more = "") {
  const std::string k = std::to_string(kernel), p = std::to_string(kernel / 2);
  return R"(, {"name": "c", "kind": "convolution", "block": "B", "inputs": ["x"], "outputs": [{"shape": [2, 8, 8, 4]}],
    "convolution": {"batch": 2, "in": [8, 8, 4], "out": [8, 8, 4], "kernel": [)" +
         k + ", " + k + R"(], "padding": [)" + p + ", " + p + "]" + more + "}}";
}

// A dense layer behind the images: each IPU has the rows of the weight for its rows of the images.
TEST(DomainSharding, ADenseLayerReadsRowsOfItsWeight) {
  const std::string dense = R"(, {"name": "d", "kind": "matmul", "block": "B", "inputs": ["c"],
    "matmul": {"rows": 2, "inner": 256, "columns": 10}, "outputs": [{"shape": [2, 10]}]})";
  const WorkloadGraph part = share("graph", {.options = options(4), .config = graph_of(convolution(3) + dense)});
  EXPECT_EQ(std::get<MatMulShape>(operator_named(part, "d").shape).inner, 64);
  EXPECT_EQ(operator_named(part, "d").weight_elements(), 64 * 10);
  EXPECT_FALSE(operator_named(part, "d").weights[0].partial_gradient);
  EXPECT_THAT(texts(operator_named(part, "d").forward_collectives), testing::ElementsAre("all-reduce 40"));
}

TEST(DomainSharding, SaysWhatCannotBeDivided) {
  const auto graph = [](const std::string& operators, int ipus) {
    return message_of("graph", {.options = options(ipus), .config = graph_of(operators)});
  };
  EXPECT_THAT(
      message_of("resnet50", {.options = options(8)}),
      HasSubstr("its rows, 7, is less than 8 IPUs can share|choose a smaller domain_sharding, or larger images"));
  EXPECT_THAT(graph(convolution(7), 4),
              HasSubstr("workload operator c|its kernel of 7 rows reaches beyond the 2 rows of a neighbour"));
  EXPECT_THAT(graph(convolution(3, R"(, "transposed": true)"), 2),
              HasSubstr("it needs the whole of \"x\", of which each of 2 IPUs has a part|pool over the whole field "
                        "before it, or set domain_sharding to 1"));
  EXPECT_THAT(graph(R"(, {"name": "t", "kind": "transpose", "block": "B", "inputs": ["x"],
                       "outputs": [{"shape": [2, 256]}]})",
                    2),
              HasSubstr("workload operator t|it needs the whole of \"x\""));
  EXPECT_THAT(graph(R"(, {"name": "r", "kind": "relu", "block": "B", "inputs": ["x"],
                       "outputs": [{"shape": [2, 8, 8, 4]}]})",
                    2),
              HasSubstr("no convolution reads images, so 2 IPUs have no domain to share|set domain_sharding to 1"));
  EXPECT_THAT(
      message_of("graph", {.options = options(2, R"(, "tensor_parallel": 2)"), .config = graph_of(convolution(3))}),
      HasSubstr("domain_sharding and tensor_parallel divide a stage in two ways|use one of them"));
}

}  // namespace
}  // namespace podsim
