// Does the JSON operator graph give the graph that it describes, and say what is wrong where?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"

namespace podsim {
namespace {

using test::build;
using test::operator_named;
using ::testing::HasSubstr;

std::string message_of(const std::string& config) {
  try {
    static_cast<void>(build("graph", {.config = config}));
  } catch (const UserError& error) {
    return error.where() + "|" + error.problem() + "|" + error.remedy();
  }
  return "no error";
}

// A file with one block "B" and the given operators.
std::string with(const std::string& operators) { return R"({"blocks": ["B"], "operators": [)" + operators + "]}"; }
std::string elementwise(const std::string& name, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "kind": "elementwise", "block": "B", "outputs": [{"shape": [4]}])" + more + "}";
}

TEST(GraphFile, TheExampleIsTheNetworkItSays) {
  const Value file = read_json(std::filesystem::path(PODSIM_SOURCE_DIR) / "workloads/examples/two_layers.json");
  const auto graph = build("graph", {.config = to_json(file), .micro_batch_size = 8});
  EXPECT_EQ(graph->parameter_count(), 784 * 256 + 256 + 256 * 10);
  EXPECT_DOUBLE_EQ(graph->forward_flops(), 2.0 * 8 * (784 * 256 + 256 * 10));
  EXPECT_EQ(graph->samples_per_micro_batch, 8);
  EXPECT_EQ(graph->sample_name, "images");
  EXPECT_EQ(graph->blocks[1].role, BlockRole::Head);
  EXPECT_EQ(operator_named(*graph, "labels").input_role, InputRole::Label);
  EXPECT_EQ(operator_named(*graph, "dense").inputs[0].shape, (std::vector<std::int64_t>{8, 784}));
  EXPECT_TRUE(operator_named(*graph, "loss").result);
}

TEST(GraphFile, ReadsEveryKindOfShape) {
  const auto graph = build("graph", {.config = with(R"(
    {"name": "x", "kind": "input", "block": "B", "outputs": [{"shape": ["batch", 8, 8, 4]}]},
    {"name": "conv", "kind": "convolution", "block": "B", "inputs": ["x"], "outputs": [{"shape": ["batch", 4, 4, 6]}],
     "convolution": {"in": [8, 8, 4], "out": [4, 4, 6], "kernel": [3, 3], "stride": [2, 2], "padding": [1, 0],
                     "groups": 2}},
    {"name": "norm", "kind": "batch_norm", "block": "B", "inputs": ["conv"], "outputs": [{"shape": ["batch*96"]}],
     "norm": {"groups": 6, "elements": "batch*16", "replica_span": 2}, "weights": [{"elements": 12},
     {"elements": 12, "trainable": false}]},
    {"name": "pool", "kind": "pooling", "block": "B", "inputs": ["norm"], "outputs": [{"shape": ["batch*6"]}],
     "pool": {"out_elements": "batch*6", "window": 16, "stride": 16, "maximum": false}},
    {"name": "rows", "kind": "gather", "block": "B", "inputs": ["pool"], "gather": {"lookups": 5, "rows": 3, "width": 2},
     "outputs": [{"shape": [10], "type": "fp32"}, {"shape": [3], "type": "int32"}]},
    {"name": "last", "kind": "elementwise", "block": "B", "inputs": ["rows:1"], "outputs": [{"shape": [3]}],
     "operations_per_element": 2.5, "serial_splits": 3, "checkpoint": true, "recomputable": false,
     "differentiable": false, "outline_key": "k", "result": true}
  )"),
                                     .micro_batch_size = 3});
  const auto& conv = std::get<ConvolutionShape>(operator_named(*graph, "conv").shape);
  EXPECT_EQ(conv.batch, 3);
  EXPECT_EQ(conv.padding_height, 1);
  EXPECT_EQ(conv.padding_width, 0);
  EXPECT_EQ(graph->parameter_count(), 3 * 3 * 4 * 6 / 2 + 12);
  EXPECT_EQ(graph->weight_count(), graph->parameter_count() + 12);
  EXPECT_EQ(std::get<NormShape>(operator_named(*graph, "norm").shape).elements, 48);
  EXPECT_FALSE(std::get<PoolShape>(operator_named(*graph, "pool").shape).maximum);
  EXPECT_EQ(std::get<GatherShape>(operator_named(*graph, "rows").shape).lookups, 5);
  const Operator& last = operator_named(*graph, "last");
  EXPECT_EQ(last.inputs[0].type, ElementType::Int32);
  EXPECT_EQ(last.operations_per_element, 2.5);
  EXPECT_EQ(last.serial_splits, 3);
  EXPECT_TRUE(last.checkpoint && last.result && !last.recomputable && !last.differentiable);
  EXPECT_EQ(last.outline_key, "k");
}

TEST(GraphFile, ReadsFunctionsSelectionsAndSequenceLosses) {
  const auto graph = build("graph", {.config = with(R"(
    {"name": "x", "kind": "input", "block": "B", "outputs": [{"shape": [8, 64]}]},
    {"name": "f", "kind": "elementwise", "block": "B", "inputs": ["x"], "outputs": [{"shape": [8, 64]}],
     "functions": ["absolute", "log1p"]},
    {"name": "k", "kind": "top_k", "block": "B", "inputs": ["f"], "outputs": [{"shape": [8, 4]}],
     "top_k": {"rows": 8, "elements": 64, "k": 4}},
    {"name": "c", "kind": "ctc_loss", "block": "B", "inputs": ["k"], "outputs": [{"shape": [2]}],
     "ctc": {"batch": 2, "time": 30, "labels": 5, "classes": 40}})")});
  EXPECT_EQ(operator_named(*graph, "f").functions,
            (std::vector{ElementFunction::Absolute, ElementFunction::LogOnePlus}));
  EXPECT_EQ(std::get<TopKShape>(operator_named(*graph, "k").shape).k, 4);
  EXPECT_EQ(std::get<CtcShape>(operator_named(*graph, "c").shape).classes, 40);
  EXPECT_THAT(message_of(with(elementwise("a", R"(, "functions": ["cosin"])"))),
              HasSubstr("unknown function \"cosin\""));
  EXPECT_THAT(message_of(with(elementwise("a", R"(, "functions": ["add"], "operations_per_element": 2)"))),
              HasSubstr("without operations_per_element"));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "top_k", "block": "B", "outputs": [{"shape": [1]}],
    "top_k": {"rows": 1, "elements": 4, "k": 5}})")),
              HasSubstr("keeps 5 of 4 elements"));
}

TEST(GraphFile, TakesTimesAndBlocksWithRoles) {
  const auto graph = build("graph", {.config = R"({"name": "timed", "samples_per_micro_batch": 7,
    "blocks": [{"name": "a", "role": "embedding", "ipu": 1}, {"name": "b", "layer": 4, "ipu": 0}],
    "operators": [
      {"name": "p", "kind": "profiled", "block": "a", "outputs": [{"shape": [1]}], "times": {"forward_seconds": 2}},
      {"name": "q", "kind": "profiled", "block": "b", "outputs": [{"shape": [1]}], "times": {"backward_seconds": 3}}]})"});
  EXPECT_EQ(graph->model, "timed");
  EXPECT_EQ(graph->samples_per_micro_batch, 7);
  EXPECT_EQ(graph->blocks[0].role, BlockRole::Embedding);
  EXPECT_EQ(graph->blocks[0].ipu, 1);
  EXPECT_EQ(graph->blocks[1].layer, 4);
  EXPECT_EQ(std::get<ProfiledTimes>(operator_named(*graph, "p").shape).forward_seconds, 2);
}

TEST(GraphFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(message_of("null"), HasSubstr("the workload graph needs \"config\""));
  EXPECT_THAT(message_of(R"({"blocks": [], "operators": [], "opreators": []})"), HasSubstr("config.json:/opreators"));
  EXPECT_THAT(message_of(R"({"blocks": [], "operators": []})"), HasSubstr("the graph has no operator"));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "matmull", "block": "B", "outputs": []})")),
              HasSubstr("config.json:/operators/0/kind|unknown kind of operator \"matmull\"|did you mean \"matmul\"?"));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "relu", "block": "C", "outputs": []})")),
              HasSubstr("config.json:/operators/0/block|unknown block \"C\""));
  EXPECT_THAT(message_of(with(elementwise("a") + "," + elementwise("b", R"(, "inputs": ["aa"])"))),
              HasSubstr("no operator \"aa\" comes before this one"));
  EXPECT_THAT(message_of(with(elementwise("a") + "," + elementwise("b", R"(, "inputs": ["a:1"])"))),
              HasSubstr("operator \"a\" has no output 1"));
  EXPECT_THAT(message_of(with(elementwise("a") + "," + elementwise("a"))), HasSubstr("two operators have the name"));
  EXPECT_THAT(message_of(with(elementwise("a", R"(, "role": "label")"))),
              HasSubstr("only operators of kind input have a role"));
  EXPECT_THAT(message_of(with(elementwise("a", R"(, "matmul": {})"))),
              HasSubstr("of kind elementwise has no \"matmul\""));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "matmul", "block": "B", "outputs": []})")),
              HasSubstr("operator \"a\" of kind matmul needs \"matmul\""));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "matmul", "block": "B", "outputs": [{"shape": [7]}],
                                  "matmul": {"rows": 2, "inner": 3, "columns": 4}})")),
              HasSubstr("operator \"a\" has 7 output elements, but its shape gives 8"));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "relu", "block": "B", "outputs": [{"shape": [0]}]})")),
              HasSubstr("config.json:/operators/0/outputs/0/shape/0|must be between 1 and"));
  EXPECT_THAT(message_of(with(R"({"name": "a", "kind": "relu", "block": "B", "outputs": [{"shape": ["bath"]}]})")),
              HasSubstr("\"bath\" is not a size"));
  EXPECT_THAT(
      message_of(with(R"({"name": "a", "kind": "relu", "block": "B", "outputs": [{"shape": [1], "type": "fp17"}]})")),
      HasSubstr("unknown element type \"fp17\""));
  const std::string conv = R"({"name": "a", "kind": "convolution", "block": "B", "outputs": [{"shape": [9]}], )";
  EXPECT_THAT(message_of(with(conv + R"("convolution": {"in": [3, 3], "out": [3, 3, 1]}})")),
              HasSubstr("needs 3 sizes, found 2"));
  EXPECT_THAT(message_of(with(conv + R"("convolution": {"in": [3, 3, 3], "out": [3, 3, 1], "groups": 3}})")),
              HasSubstr("3 groups do not divide the channels"));
}

}  // namespace
}  // namespace podsim
