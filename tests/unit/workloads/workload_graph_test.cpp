// Graphs, operators, registries: order, checks, counts, names.
#include "workloads/workload_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"

namespace podsim {
namespace {

using test::Asked;
using test::build;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Operator plain(const std::string& name, int block = 0) {
  Operator op;
  op.name = name;
  op.block = block;
  op.outputs = {{name, {2, 3}, ElementType::Float32}};
  return op;
}

WorkloadGraph one_block() {
  WorkloadGraph graph;
  graph.model = "test";
  graph.blocks = {{"B"}};
  return graph;
}

template <typename Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.where() + "|" + error.problem() + "|" + error.remedy();
  }
  return "no error";
}
std::string validation_of(const WorkloadGraph& graph) {
  return message_of([&graph] { graph.validate(); });
}

TEST(WorkloadGraph, EdgesCarryTheBytesOfTheirTensor) {
  WorkloadGraph graph = one_block();
  const auto a = graph.add(plain("a"));
  const auto b = graph.add(plain("b"), {a});
  EXPECT_EQ(graph.graph[boost::edge(a, b, graph.graph).first].bytes, 24);
  ASSERT_EQ(graph.graph[b].inputs.size(), 1U);
  EXPECT_EQ(graph.graph[b].inputs[0].name, "a");
}

TEST(WorkloadGraph, KeepsTheOrderOfInsertionWhereItIsValid) {
  WorkloadGraph graph = one_block();
  const auto a = graph.add(plain("a")), b = graph.add(plain("b")), c = graph.add(plain("c")), d = graph.add(plain("d"));
  graph.connect(d, 0, a);  // a has to wait for d
  EXPECT_THAT(graph.topological_order(), ElementsAre(b, c, d, a));
}

TEST(WorkloadGraph, NamesAnOperatorOfACycle) {
  WorkloadGraph graph = one_block();
  graph.add(plain("before"));
  const auto a = graph.add(plain("a"), {0}), b = graph.add(plain("b"), {a});
  graph.add(plain("after"), {b});
  graph.connect(b, 0, a);
  EXPECT_THAT(validation_of(graph), HasSubstr("workload test|operator \"a\" is on a cycle"));
}

TEST(WorkloadGraph, ChecksBlocksNamesAndWeights) {
  EXPECT_THAT(validation_of(one_block()), HasSubstr("the graph has no operator"));
  WorkloadGraph graph = one_block();
  graph.add(plain("a", 1));
  EXPECT_THAT(validation_of(graph), HasSubstr("operator \"a\" is in no block"));
  graph.blocks = {{"B"}, {"C"}};
  EXPECT_THAT(validation_of(graph), HasSubstr("block \"B\" has no operator"));
  graph.add(plain("b", 0), {0});
  EXPECT_THAT(validation_of(graph), HasSubstr("operator \"b\" of block \"B\" reads \"a\" of the later block \"C\""));
  graph.blocks[1].name = "B";
  EXPECT_THAT(validation_of(graph), HasSubstr("two blocks have the name \"B\""));

  WorkloadGraph twice = one_block();
  twice.add(plain("a"));
  twice.add(plain("a"));
  EXPECT_THAT(validation_of(twice), HasSubstr("two operators have the name \"a\""));

  WorkloadGraph tied = one_block();
  Operator op = plain("a");
  op.weights = {{"w", 1, ElementType::Float16, true, "v"}};
  tied.add(op);
  EXPECT_THAT(validation_of(tied), HasSubstr("weight \"w\" is tied to \"v\", which is not there"));
  tied.graph[0].weights = {{"w", 1}, {"w", 1}};
  EXPECT_THAT(validation_of(tied), HasSubstr("two weights have the name \"w\""));

  WorkloadGraph unread = one_block();
  unread.add(plain("a"));
  Operator input = plain("x");
  input.kind = OperatorKind::Input;
  unread.add(input);
  EXPECT_THAT(validation_of(unread), HasSubstr("host input \"x\" is read by no operator"));

  WorkloadGraph missing = one_block();
  const auto a = missing.add(plain("a"));
  missing.add(plain("b"), {a});
  missing.graph[*boost::edges(missing.graph).first].output = 3;
  EXPECT_THAT(validation_of(missing), HasSubstr("operator \"b\" reads output 3 of \"a\", which has 1"));
}

TEST(WorkloadGraph, CountsTiedWeightsOnceAndOnlyTrainableOnesAsParameters) {
  WorkloadGraph graph = one_block();
  Operator op = plain("a");
  op.weights = {
      {"own", 10}, {"average", 5, ElementType::Float32, false, ""}, {"tied", 10, ElementType::Float16, true, "own"}};
  graph.add(op);
  EXPECT_EQ(graph.parameter_count(), 10);
  EXPECT_EQ(graph.weight_count(), 15);
  EXPECT_EQ(graph.graph[0].weight_elements(), 25);
}

TEST(Operator, AmpOperationsAreTwoForEachMultiplyAccumulate) {
  Operator op;
  op.shape = MatMulShape{3, 4, 5, 6, false};
  EXPECT_EQ(op.forward_amp_flops(), 2 * 3 * 4 * 5 * 6);
  ConvolutionShape shape;
  shape.batch = 2;
  shape.in_height = shape.in_width = 8;
  shape.out_height = shape.out_width = 4;
  shape.in_channels = 6;
  shape.out_channels = 10;
  shape.kernel_height = shape.kernel_width = 3;
  shape.groups = 2;
  op.shape = shape;
  EXPECT_EQ(op.forward_amp_flops(), 2.0 * 2 * 16 * 9 * 6 * 10 / 2);
  shape.transposed = true;  // every input position meets the kernel
  op.shape = shape;
  EXPECT_EQ(op.forward_amp_flops(), 2.0 * 2 * 64 * 9 * 6 * 10 / 2);
  op.shape = {};
  EXPECT_EQ(op.forward_amp_flops(), 0);
}

TEST(Operator, SignatureTellsWhatLowersDifferently) {
  const Operator base = plain("a");
  std::set<std::string> signatures = {base.signature()};
  const auto expect_new = [&signatures](const Operator& op) {
    EXPECT_TRUE(signatures.insert(op.signature()).second) << op.signature();
  };
  for (const OperatorKind kind : {OperatorKind::Relu, OperatorKind::Transpose}) {
    Operator op = base;
    op.kind = kind;
    expect_new(op);
  }
  Operator op = base;
  op.outputs[0].type = ElementType::Float16;
  expect_new(op);
  op = base;
  op.outputs[0].shape = {3, 2};
  expect_new(op);
  op = base;
  op.operations_per_element = 1.0000001;
  expect_new(op);
  op = base;
  op.serial_splits = 2;
  expect_new(op);
  op = base;
  op.differentiable = false;
  expect_new(op);
  op = base;
  op.weights = {{"w", 3}};
  expect_new(op);
  op = base;
  op.shape = MatMulShape{1, 2, 3, 4, true};
  expect_new(op);
  op.shape = MatMulShape{1, 2, 3, 4, false};
  expect_new(op);
  op.shape = ProfiledTimes{1e-9, 0, 0, 0};
  expect_new(op);
  op.shape = ProfiledTimes{2e-9, 0, 0, 0};
  expect_new(op);
  op = base;
  op.name = "other name";
  EXPECT_EQ(op.signature(), base.signature());
}

TEST(Operator, KindsHaveDifferentNames) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(OperatorKind::Profiled); ++kind) {
    EXPECT_TRUE(names.insert(name_of(static_cast<OperatorKind>(kind))).second);
  }
  EXPECT_EQ(name_of(OperatorKind::Input), "input");
  EXPECT_EQ(name_of(OperatorKind::EmbeddingGather), "embedding_gather");
  EXPECT_EQ(name_of(OperatorKind::Scatter), "scatter");
  EXPECT_EQ(name_of(OperatorKind::Profiled), "profiled");
}

TEST(Registry, FindsWorkloadsAndSuggestsNames) {
  std::vector<std::string> names;
  for (const Workload* workload : workloads()) names.push_back(workload->name());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(find_workload("resnet50", "").name(), "resnet50");
  EXPECT_THAT(message_of([] { static_cast<void>(find_workload("resnet5", "s.json:/workload/model")); }),
              HasSubstr("s.json:/workload/model|unknown workload model \"resnet5\"|did you mean \"resnet50\"?"));
}

// Every workload that needs no input of the user builds, in both modes, the same graph each time.
TEST(Registry, EveryWorkloadBuildsWithItsDefaults) {
  for (const Workload* workload : workloads()) {
    if (workload->name() == "graph" || workload->name() == "stage_times") continue;
    for (const bool training : {true, false}) {
      Asked asked{.training = training, .micro_batch_size = 2};
      if (workload->name() == "onnx") asked.options = R"({"file": "scenarios/configs/mnist_cnn.onnx"})";
      asked.folder = PODSIM_SOURCE_DIR;
      const auto first = build(workload->name(), asked);
      const auto second = build(workload->name(), asked);
      ASSERT_EQ(boost::num_vertices(first->graph), boost::num_vertices(second->graph));
      int results = 0;
      for (const auto vertex : boost::make_iterator_range(boost::vertices(first->graph))) {
        EXPECT_EQ(first->graph[vertex].signature(), second->graph[vertex].signature());
        EXPECT_EQ(first->graph[vertex].name, second->graph[vertex].name);
        results += first->graph[vertex].result ? 1 : 0;
        if (!first->graph[vertex].result) {
          EXPECT_GT(first->graph[vertex].kind == OperatorKind::Dropout ? 1U : boost::out_degree(vertex, first->graph),
                    0U)
              << workload->name() << ": " << first->graph[vertex].name << " is used by nothing";
        }
        if (!training) {
          EXPECT_NE(first->graph[vertex].input_role, InputRole::Label) << workload->name();
        }
      }
      EXPECT_GT(results, 0) << workload->name();
    }
  }
}

// An operator, or the last one of a block; ViT's published recompute_mid_layers name such tensors.
TEST(Checkpoints, AreMarkedByNameOfOperatorOrBlock) {
  const auto graph = build("vit", {.options = R"({"checkpoints": ["encoder/1/ffn", "encoder/4/attention/softmax"]})"});
  EXPECT_TRUE(test::operator_named(*graph, "encoder/1/ffn/residual").checkpoint);
  EXPECT_TRUE(test::operator_named(*graph, "encoder/4/attention/softmax").checkpoint);
  EXPECT_FALSE(test::operator_named(*graph, "encoder/1/ffn/down").checkpoint);
  EXPECT_THAT(
      message_of([] { static_cast<void>(build("resnet50", {.options = R"({"checkpoints": ["stage1/blok0"]})"})); }),
      HasSubstr("options.json:/checkpoints|no operator or block \"stage1/blok0\"|did you mean "
                "\"stage1/block0\"?"));
}

TEST(Optimizers, HaveTheStatesOfTheirUpdateRules) {
  for (const auto& [name, states, norms] :
       {std::tuple{"sgd", 0, 0}, {"momentum", 1, 0}, {"adam", 2, 0}, {"adamw", 2, 0}, {"lamb", 2, 2}, {"lars", 1, 2}}) {
    const Optimizer& optimizer = find_optimizer(name, "");
    EXPECT_EQ(optimizer.states_per_weight, states) << name;
    EXPECT_EQ(optimizer.state_types.size(), static_cast<std::size_t>(states)) << name;
    EXPECT_EQ(optimizer.norms_per_weight_tensor, norms) << name;
  }
  EXPECT_THAT(message_of([] { static_cast<void>(find_optimizer("adm", "s.json:/workload/optimizer")); }),
              HasSubstr("s.json:/workload/optimizer|unknown optimizer \"adm\"|did you mean \"adam\"?"));
}

TEST(StageTimes, EmptyListsAreRefused) {
  EXPECT_THAT(message_of([] {
                static_cast<void>(build("stage_times", {.options = R"({"forward_seconds": 1, "weight_bytes": []})"}));
              }),
              HasSubstr("weight_bytes|the list is empty"));
}

TEST(WorkloadGraph, AbsurdSizesAreRefused) {
  EXPECT_THAT(message_of([] {
                static_cast<void>(build("conformer", {.options = R"({"hidden": 10000000, "frames": 10000000})"}));
              }),
              HasSubstr("has a tensor of more than 10^15 elements"));
  EXPECT_THAT(message_of([] { static_cast<void>(build("schnet", {.options = R"({"interactions": 10000000})"})); }),
              HasSubstr("the model has more than 200000 operators"));
  EXPECT_THAT(message_of([] { static_cast<void>(build("resnet50", {.config = R"({"embedding_size": 1000000000})"})); }),
              HasSubstr("must be at most 10^7"));
}

TEST(StageTimes, CountsStagesByListsOrTheSplit) {
  EXPECT_EQ(build("stage_times", {.options = R"({"forward_seconds": [1, 2, 3]})"})->blocks.size(), 3U);
  EXPECT_EQ(build("stage_times", {.options = R"({"forward_seconds": 1, "stages": 5})"})->blocks.size(), 5U);
  EXPECT_EQ(build("stage_times", {.options = R"({"forward_seconds": 1, "ipu": [0, 1, 0]})"})->blocks.size(), 3U);
  WorkloadRequest request;
  const Workload& workload = find_workload("stage_times", "");
  request.options = read_options(parse_json(R"({"forward_seconds": 1})", "o"), workload.options());
  EXPECT_EQ(workload.build(request)->blocks.size(), 1U);
  request.pipeline_ipus = 8;
  EXPECT_EQ(workload.build(request)->blocks.size(), 8U);
}

TEST(StageTimes, InferenceHasForwardTimesOnly) {
  const auto graph = build("stage_times", {.options = R"({"forward_seconds": 1, "backward_seconds": 2,
    "recompute_seconds": 3, "weight_update_seconds": 4})",
                                           .training = false});
  const auto& times = std::get<ProfiledTimes>(test::operator_named(*graph, "stage0").shape);
  EXPECT_EQ(times.forward_seconds, 1);
  EXPECT_EQ(times.backward_seconds + times.recompute_seconds + times.weight_update_seconds, 0);
}

TEST(StageTimes, SaysWhatIsWrong) {
  const auto message = [](const std::string& options) {
    return message_of([&options] { static_cast<void>(build("stage_times", {.options = options})); });
  };
  EXPECT_THAT(
      message(R"({"forward_seconds": [1, 2], "backward_seconds": [1, 2, 3]})"),
      HasSubstr("options.json:/backward_seconds|backward_seconds has 3 entries, but forward_seconds says 2 stages"));
  EXPECT_THAT(message(R"({"forward_seconds": [1, 2], "stages": 3})"),
              HasSubstr("forward_seconds has 2 entries, but stages says 3 stages"));
  EXPECT_THAT(message(R"({"forward_seconds": 1, "weight_bytes": 3})"),
              HasSubstr("weights are fp16, but the bytes are odd"));
  EXPECT_THAT(message(R"({"forward_seconds": 1, "output_bytes": 1.5})"), HasSubstr("bytes must be whole numbers"));
  EXPECT_THAT(message(R"({"forward_seconds": -1})"), HasSubstr("options.json:/forward_seconds"));
}

}  // namespace
}  // namespace podsim
