// ONNX files against native families and closed formulas, and what users are told about files that cannot be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"
#include "tests/unit/workloads/onnx_writer.hpp"

namespace podsim::test {
namespace {

using ::testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

class Onnx : public ::testing::Test {
 protected:
  Onnx() : folder_(std::filesystem::temp_directory_path() / ("podsim_onnx_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Onnx() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::unique_ptr<WorkloadGraph> imported(const OnnxWriter& writer, Asked asked = {},
                                                        const std::string& options = "") const {
    writer.save(folder_ / "model.onnx");
    asked.options = R"({"file": "model.onnx")" + options + "}";
    asked.folder = folder_;
    return build("onnx", asked);
  }
  [[nodiscard]] std::string complaint(const OnnxWriter& writer, const std::string& options = "",
                                      std::int64_t micro_batch = 4) const {
    try {
      Asked asked;
      asked.micro_batch_size = micro_batch;
      (void)imported(writer, asked, options);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
  [[nodiscard]] std::string complaint_about_file(const std::string& name, const std::string& content) const {
    if (!content.empty()) std::ofstream(folder_ / name, std::ios::binary) << content;
    try {
      Asked asked;
      asked.options = R"({"file": ")" + name + "\"}";
      asked.folder = folder_;
      (void)build("onnx", asked);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
  // Shape of the last tensor of a model of one node that reads the input x, training excluded.
  [[nodiscard]] Operator only(const OnnxWriter& writer) const {
    Asked asked;
    asked.training = false;
    asked.micro_batch_size = 4;
    return operator_named(*imported(writer, asked), "layer0/y");
  }

  std::filesystem::path folder_;
};

std::vector<std::string> signatures(const WorkloadGraph& graph) {
  std::vector<std::string> result;
  for (const auto vertex : graph.topological_order()) result.push_back(graph.graph[vertex].signature());
  std::sort(result.begin(), result.end());  // host inputs stand at different places
  return result;
}

OnnxWriter mlp(const std::string& batch = "batch") {
  OnnxWriter writer;
  writer.input("samples", {batch, "784"});
  const Shape widths = {784, 512, 512, 10};
  std::string x = "samples";
  for (std::size_t layer = 1; layer < widths.size(); ++layer) {
    const std::string name = "fc" + std::to_string(layer);
    writer.parameter(name + ".weight", {widths[layer], widths[layer - 1]}).parameter(name + ".bias", {widths[layer]});
    writer.node("Gemm", {x, name + ".weight", name + ".bias"}, {name}).with("transB", 1);
    if (layer + 1 < widths.size()) writer.node("Relu", {name}, {name + "_relu"});
    x = name + (layer + 1 < widths.size() ? "_relu" : "");
  }
  return writer.output(x);
}

// The same operators on the same shapes: the same lowering, memory and time.
TEST_F(Onnx, AnMlpIsTheNativeMlp) {
  for (const bool training : {true, false}) {
    Asked asked;
    asked.training = training;
    asked.micro_batch_size = 32;
    const auto graph = imported(mlp(), asked);
    asked.options = R"({"layers": [784, 512, 512, 10]})";
    const auto native = build("mlp", asked);
    EXPECT_EQ(signatures(*graph), signatures(*native));
    EXPECT_EQ(graph->parameter_count(), 785 * 512 + 513 * 512 + 513 * 10);
    EXPECT_DOUBLE_EQ(graph->forward_flops(), 2.0 * 32 * (784 * 512 + 512 * 512 + 512 * 10));
    ASSERT_EQ(graph->blocks.size(), native->blocks.size());
    EXPECT_EQ(graph->blocks.back().name, "layer2");
  }
}

TEST_F(Onnx, MatMulAndAddAreAGemm) {
  OnnxWriter writer;
  writer.input("samples", {"batch", "784"}).parameter("w", {784, 10}).parameter("b", {10});
  writer.node("MatMul", {"samples", "w"}, {"product"}).node("Add", {"b", "product"}, {"sum"}).output("sum");
  Asked asked;
  asked.micro_batch_size = 8;
  const auto graph = imported(writer, asked);
  asked.options = R"({"layers": [784, 10]})";
  EXPECT_EQ(signatures(*graph), signatures(*build("mlp", asked)));
}

// Images are NCHW in ONNX and NHWC on the IPU. 34,826 parameters, as Keras says.
TEST_F(Onnx, AConvolutionalNetworkIsTheNativeOne) {
  OnnxWriter writer;
  writer.input("images", {"1", "1", "28", "28"});
  std::string x = "images";
  std::int64_t channels = 1;
  for (const std::int64_t filters : {32, 64}) {
    const std::string name = "conv" + std::to_string(filters);
    writer.parameter(name + ".weight", {filters, channels, 3, 3}).parameter(name + ".bias", {filters});
    writer.node("Conv", {x, name + ".weight", name + ".bias"}, {name}).with("kernel_shape", {3, 3});
    writer.node("Relu", {name}, {name + "_relu"});
    writer.node("MaxPool", {name + "_relu"}, {name + "_pool"}).with("kernel_shape", {2, 2}).with("strides", {2, 2});
    x = name + "_pool";
    channels = filters;
  }
  writer.parameter("fc.weight", {10, 1600}).parameter("fc.bias", {10});
  writer.node("Flatten", {x}, {"flat"}).node("Dropout", {"flat"}, {"dropped"});
  writer.node("Gemm", {"dropped", "fc.weight", "fc.bias"}, {"logits"}).with("transB", 1).output("logits");
  for (const bool training : {true, false}) {
    Asked asked;
    asked.training = training;
    asked.micro_batch_size = 16;
    const auto graph = imported(writer, asked);
    EXPECT_EQ(graph->parameter_count(), 34'826);
    asked.options = "{}";
    EXPECT_EQ(signatures(*graph), signatures(*build("mnist_cnn_keras", asked)));
  }
}

// One encoder layer with learned embeddings, shapes computed in the graph as PyTorch exports them.
OnnxWriter encoder() {
  OnnxWriter writer;
  writer.input("ids", {"batch", "sequence"}, onnx::TensorProto::INT64).parameter("table", {1000, 64});
  writer.integers("zero", {0}, true).integers("one", {1}, true).integers("first", {0}).integers("heads", {4, 16});
  writer.integers("hidden", {64}).number("root", 4.F).number("sqrt2", 1.4142135F).number("1", 1.F).number("half", 0.5F);
  writer.node("Gather", {"table", "ids"}, {"x"}).node("Shape", {"ids"}, {"shape"});
  writer.node("Gather", {"shape", "zero"}, {"b"}).node("Gather", {"shape", "one"}, {"s"});
  writer.node("Unsqueeze", {"b", "first"}, {"b1"}).node("Unsqueeze", {"s", "first"}, {"s1"});
  writer.node("Concat", {"b1", "s1", "heads"}, {"split"}).with("axis", 0);
  writer.node("Concat", {"b1", "s1", "hidden"}, {"merge"}).with("axis", 0);
  for (const char* part : {"q", "k", "v", "o"}) writer.parameter(std::string(part) + ".weight", {64, 64});
  for (const char* part : {"q", "k", "v"}) {
    const std::string name = part;
    writer.node("MatMul", {"x", name + ".weight"}, {name}).node("Reshape", {name, "split"}, {name + "4"});
    writer.node("Transpose", {name + "4"}, {name + "t"});
    writer.with("perm", name == "k" ? Shape{0, 2, 3, 1} : Shape{0, 2, 1, 3});
  }
  writer.node("MatMul", {"qt", "kt"}, {"scores"}).node("Div", {"scores", "root"}, {"scaled"});
  writer.node("Softmax", {"scaled"}, {"p"}).with("axis", -1).node("MatMul", {"p", "vt"}, {"context"});
  writer.node("Transpose", {"context"}, {"ct"}).with("perm", Shape{0, 2, 1, 3}).node("Reshape", {"ct", "merge"}, {"c"});
  writer.node("MatMul", {"c", "o.weight"}, {"attended"}).node("Add", {"x", "attended"}, {"residual"});
  writer.parameter("g", {64})
      .parameter("beta", {64})
      .parameter("up.weight", {64, 256})
      .parameter("down.weight", {256, 64});
  writer.node("LayerNormalization", {"residual", "g", "beta"}, {"normed"})
      .node("MatMul", {"normed", "up.weight"}, {"up"});
  writer.node("Div", {"up", "sqrt2"}, {"d"}).node("Erf", {"d"}, {"e"}).node("Add", {"e", "1"}, {"a"});
  writer.node("Mul", {"up", "a"}, {"m"}).node("Mul", {"m", "half"}, {"gelu"});
  writer.node("MatMul", {"gelu", "down.weight"}, {"down"});
  writer.node("Transpose", {"table"}, {"tt"}).with("perm", Shape{1, 0}).node("MatMul", {"down", "tt"}, {"logits"});
  return writer.output("logits");
}

TEST_F(Onnx, ATransformerHasTheWorkOfItsFormulas) {
  Asked asked;
  asked.micro_batch_size = 2;
  const auto graph = imported(encoder(), asked, R"(, "dimensions": {"sequence": 32})");
  const double tokens = 2 * 32, hidden = 64, vocabulary = 1000;
  // Projections 4 h^2, feed-forward 8 h^2, scores and context 2 s h for each token; the head reads the whole table.
  EXPECT_DOUBLE_EQ(graph->forward_flops(), 2 * tokens * (12 * hidden * hidden + 2 * 32 * hidden + hidden * vocabulary));
  EXPECT_EQ(graph->parameter_count(), 1000 * 64 + 12 * 64 * 64 + 2 * 64);  // the table is stored once
  EXPECT_EQ(operator_named(*graph, "layer7/logits").weights.front().tied_to, "table");
  EXPECT_EQ(operator_named(*graph, "layer3/scores").outputs.front().shape, (Shape{2, 4, 32, 32}));
  const Operator& gelu = operator_named(*graph, "layer5/e");
  EXPECT_EQ(gelu.kind, OperatorKind::Gelu);
  EXPECT_EQ(gelu.output_elements(), 2 * 32 * 256);
  for (const char* part : {"layer5/d", "layer5/a", "layer5/m", "layer5/gelu"}) {
    EXPECT_THROW((void)operator_named(*graph, part), std::runtime_error) << part;
  }
}

struct ConvolutionCase {
  const char* description;
  std::string operation;
  Shape image, kernel;
  std::vector<std::pair<std::string, Shape>> attributes;
  Shape output;  // NHWC
  double macs;
};

TEST_F(Onnx, ConvolutionsHaveTheSizesOfTheSpecification) {
  const std::vector<ConvolutionCase> cases = {
      {"stride and padding",
       "Conv",
       {4, 8, 14, 14},
       {16, 8, 3, 3},
       {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}},
       {4, 7, 7, 16},
       4.0 * 7 * 7 * 16 * 8 * 9},
      {"groups", "Conv", {4, 8, 14, 14}, {16, 2, 1, 1}, {{"group", {4}}}, {4, 14, 14, 16}, 4.0 * 14 * 14 * 16 * 2},
      {"depthwise", "Conv", {4, 8, 14, 14}, {8, 1, 3, 3}, {{"group", {8}}}, {4, 12, 12, 8}, 4.0 * 12 * 12 * 8 * 9},
      {"dilation",
       "Conv",
       {4, 8, 14, 14},
       {16, 8, 3, 3},
       {{"dilations", {2, 2}}},
       {4, 10, 10, 16},
       4.0 * 10 * 10 * 16 * 8 * 9},
      {"other sides padded",
       "Conv",
       {4, 8, 14, 14},
       {16, 8, 3, 3},
       {{"pads", {0, 0, 1, 1}}},
       {4, 13, 13, 16},
       4.0 * 13 * 13 * 16 * 8 * 9},
      {"one dimension",
       "Conv",
       {4, 8, 100},
       {16, 8, 5},
       {{"strides", {2}}, {"pads", {2, 2}}},
       {4, 1, 50, 16},
       4.0 * 50 * 16 * 8 * 5},
      {"transposed",
       "ConvTranspose",
       {4, 8, 7, 7},
       {8, 16, 4, 4},
       {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}},
       {4, 14, 14, 16},
       4.0 * 7 * 7 * 16 * 8 * 16},
      {"transposed, padded output",
       "ConvTranspose",
       {4, 8, 7, 7},
       {8, 16, 3, 3},
       {{"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}, {"output_padding", {1, 1}}},
       {4, 14, 14, 16},
       4.0 * 7 * 7 * 16 * 8 * 9}};
  for (const ConvolutionCase& test : cases) {
    OnnxWriter writer;
    std::vector<std::string> shape;
    for (const std::int64_t extent : test.image) shape.push_back(std::to_string(extent));
    writer.input("x", shape).parameter("w", test.kernel).node(test.operation, {"x", "w"}, {"y"}).output("y");
    for (const auto& [name, values] : test.attributes) {
      if (name == "group") {
        writer.with(name, values.front());
      } else {
        writer.with(name, values);
      }
    }
    const Operator op = only(writer);
    EXPECT_EQ(op.outputs.front().shape, test.output) << test.description;
    EXPECT_DOUBLE_EQ(op.forward_amp_flops(), 2 * test.macs) << test.description;
    EXPECT_EQ(op.weight_elements(), std::accumulate(test.kernel.begin(), test.kernel.end(), 1LL, std::multiplies<>()));
  }
  OnnxWriter same;
  same.input("x", {"4", "8", "15", "15"}).parameter("w", {16, 8, 3, 3}).node("Conv", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(only(same.with("strides", Shape{2, 2}).with_text("auto_pad", "SAME_UPPER")).outputs.front().shape,
            (Shape{4, 8, 8, 16}));
}

TEST_F(Onnx, NormsHaveTheirStatistics) {
  const auto shape = [this](const std::string& operation, int parameters, std::int64_t groups) {
    OnnxWriter writer;
    std::vector<std::string> inputs = {"x"};
    writer.input("x", {"4", "8", "6", "6"});
    for (int i = 0; i < parameters; ++i) {
      writer.parameter("p" + std::to_string(i), {8});
      inputs.push_back("p" + std::to_string(i));
    }
    writer.node(operation, inputs, {"y"}).output("y");
    if (groups > 0) writer.with("num_groups", groups);
    return only(writer);
  };
  const auto statistics = [](const Operator& op) {
    const auto& norm = std::get<NormShape>(op.shape);
    return std::pair{norm.groups, norm.elements};
  };
  const Operator batch = shape("BatchNormalization", 4, 0);
  EXPECT_EQ(statistics(batch), (std::pair<std::int64_t, std::int64_t>{8, 4 * 36}));
  EXPECT_EQ(batch.weights.size(), 4U);
  EXPECT_FALSE(batch.weights[3].trainable);
  EXPECT_EQ(statistics(shape("InstanceNormalization", 2, 0)), (std::pair<std::int64_t, std::int64_t>{32, 36}));
  EXPECT_EQ(statistics(shape("GroupNormalization", 2, 2)), (std::pair<std::int64_t, std::int64_t>{8, 4 * 36}));
}

TEST_F(Onnx, PoolsAndReductionsShrink) {
  const auto with = [this](const std::string& operation) {
    OnnxWriter writer;
    writer.input("x", {"4", "8", "14", "14"}).node(operation, {"x"}, {"y"}).output("y");
    return writer;
  };
  OnnxWriter maximum = with("MaxPool");
  EXPECT_EQ(only(maximum.with("kernel_shape", Shape{3, 3}).with("strides", Shape{2, 2})).outputs.front().shape,
            (Shape{4, 6, 6, 8}));
  EXPECT_EQ(only(maximum.with("ceil_mode", 1)).outputs.front().shape, (Shape{4, 7, 7, 8}));
  EXPECT_EQ(only(with("GlobalAveragePool")).outputs.front().shape, (Shape{4, 8}));
  EXPECT_EQ(only(with("ReduceMean").with("axes", Shape{-1, -2}).with("keepdims", 0)).outputs.front().shape,
            (Shape{4, 8}));
}

TEST_F(Onnx, DataIsCutJoinedAndMoved) {
  const auto shape_after = [this](OnnxWriter writer) {
    writer.node("ReduceMax", {"z"}, {"y"}).with("axes", Shape{0}).with("keepdims", 0).output("y");
    Asked asked;
    asked.training = false;
    asked.micro_batch_size = 4;
    return operator_named(*imported(writer, asked), "layer0/y").outputs.front().shape;
  };
  const auto start = [] {
    OnnxWriter writer;
    return std::move(
        writer.input("x", {"4", "6", "10"}).integers("one", {1}).integers("ends", {9}).integers("two", {2}));
  };
  EXPECT_EQ(shape_after(start().node("Slice", {"x", "one", "ends", "two", "two"}, {"z"})), (Shape{6, 4}));
  EXPECT_EQ(shape_after(start().node("Split", {"x"}, {"z", "rest"}).with("axis", 1)), (Shape{3, 10}));
  EXPECT_EQ(shape_after(start().node("Concat", {"x", "x"}, {"z"}).with("axis", -1)), (Shape{6, 20}));
  EXPECT_EQ(shape_after(start().node("Transpose", {"x"}, {"z"}).with("perm", Shape{0, 2, 1})), (Shape{10, 6}));
  EXPECT_EQ(shape_after(start().node("Unsqueeze", {"x", "one"}, {"z"})), (Shape{1, 6, 10}));
  EXPECT_EQ(shape_after(start().node("Gather", {"x", "two"}, {"z"}).with("axis", 1)), (Shape{1, 10}));
  EXPECT_EQ(shape_after(start().integers("to", {0, -1}).node("Reshape", {"x", "to"}, {"z"})), (Shape{60}));
  EXPECT_EQ(shape_after(start().integers("to", {2, 4, 6, 10}).node("Expand", {"x", "to"}, {"z"})), (Shape{4, 6, 10}));
}

// Files that were exported with one sample run with any micro-batch, also where the graph repeats that one.
TEST_F(Onnx, ABatchOfOneBecomesTheMicroBatch) {
  OnnxWriter writer;
  writer.input("x", {"1", "6", "10"}).integers("to", {1, 60}).parameter("w", {60, 5});
  writer.node("Reshape", {"x", "to"}, {"flat"}).node("MatMul", {"flat", "w"}, {"logits"}).output("logits");
  Asked asked;
  asked.micro_batch_size = 4;
  const auto graph = imported(writer, asked);
  EXPECT_EQ(operator_named(*graph, "layer0/logits").outputs.front().shape, (Shape{4, 5}));
  EXPECT_THAT(complaint(mlp("8")), HasSubstr("fixed batch of 8, but micro_batch_size is 4"));
  EXPECT_EQ(complaint(mlp("8"), "", 8), "no error");
}

TEST_F(Onnx, BlocksBeginWhereTheUserSays) {
  const auto graph = imported(mlp(), {}, R"(, "block_starts": ["fc3"])");
  ASSERT_EQ(graph->blocks.size(), 2U);
  EXPECT_EQ(graph->blocks[0].name, "layer0");
  EXPECT_EQ(graph->blocks[1].name, "fc3");
  EXPECT_EQ(operator_named(*graph, "layer0/fc2").block, 0);
  EXPECT_THAT(complaint(mlp(), R"(, "block_starts": ["fc4"])"), HasSubstr("no node \"fc4\""));
}

TEST_F(Onnx, NamedCheckpointsAreMarked) {
  const auto graph = imported(mlp(), {}, R"(, "checkpoints": ["layer0/fc1_relu"])");
  EXPECT_TRUE(operator_named(*graph, "layer0/fc1_relu").checkpoint);
}

TEST_F(Onnx, UnknownOperatorsAreNamedWithTheKnownOnes) {
  OnnxWriter writer;
  writer.input("x", {"batch", "3"}).node("LSTM", {"x"}, {"y"}).output("y");
  const std::string message = complaint(writer);
  EXPECT_THAT(message, HasSubstr("options.json:/file"));
  EXPECT_THAT(message, HasSubstr("node \"y\" (LSTM)"));
  EXPECT_THAT(message, HasSubstr("Conv, ConvTranspose"));
}

TEST_F(Onnx, FreeSizesAreAskedFor) {
  EXPECT_THAT(complaint(encoder()), HasSubstr("\"dimensions\": {\"sequence\": 128}"));
  EXPECT_THAT(complaint(encoder(), R"(, "dimensions": {"sequence": 32, "sequnce": 8})"),
              HasSubstr("did you mean \"sequence\"?"));
  EXPECT_THAT(complaint(encoder(), R"(, "dimensions": {"sequence": 0})"), HasSubstr("at least 1"));
}

TEST_F(Onnx, FilesThatAreNone) {
  EXPECT_THAT(complaint_about_file("absent.onnx", ""), HasSubstr("absent.onnx cannot be read"));
  EXPECT_THAT(complaint_about_file("text.onnx", "{\"model\": 1}"), HasSubstr("is not an ONNX file"));
  const std::string whole = mlp().bytes();
  EXPECT_THAT(complaint_about_file("cut.onnx", whole.substr(0, whole.size() / 2)),
              HasSubstr("ends early or is damaged"));
  EXPECT_THAT(complaint_about_file("empty.onnx", OnnxWriter().bytes()), HasSubstr("holds no graph"));
}

TEST_F(Onnx, GraphsThatDoNotFitTogether) {
  OnnxWriter wrong;
  wrong.input("x", {"batch", "3"}).parameter("w", {4, 5}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  EXPECT_THAT(complaint(wrong), HasSubstr("joins matrices that do not fit"));
  OnnxWriter unknown;
  unknown.input("x", {"batch", "3"}).node("Add", {"x", "nothing"}, {"y"}).output("y");
  EXPECT_THAT(complaint(unknown), HasSubstr("reads \"nothing\", which no earlier node makes"));
  OnnxWriter dynamic;
  dynamic.input("x", {"batch", "3"}).input("to", {"2"}, onnx::TensorProto::INT64);
  dynamic.node("Reshape", {"x", "to"}, {"y"}).output("y");
  EXPECT_THAT(complaint(dynamic), HasSubstr("only known when the model runs"));
  OnnxWriter absent;
  absent.input("x", {"batch", "3"}).node("Relu", {"x"}, {"y"}).output("z");
  EXPECT_THAT(complaint(absent), HasSubstr("no node makes the output \"z\""));
  OnnxWriter shapes;
  shapes.input("x", {"batch", "3"}).node("Shape", {"x"}, {"y"}).output("y");
  EXPECT_THAT(complaint(shapes), HasSubstr("computes nothing from its inputs"));
}

}  // namespace
}  // namespace podsim::test
