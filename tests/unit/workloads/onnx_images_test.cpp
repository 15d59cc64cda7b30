// ONNX nodes of image-to-image networks, and Einsum: shapes, operators and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"
#include "tests/unit/workloads/onnx_writer.hpp"

namespace podsim::test {
namespace {

using ::testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

class OnnxNodes : public ::testing::Test {
 protected:
  OnnxNodes() : folder_(std::filesystem::temp_directory_path() / ("podsim_nodes_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~OnnxNodes() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Operator node_y(const OnnxWriter& writer) const {
    writer.save(folder_ / "model.onnx");
    Asked asked;
    asked.options = R"({"file": "model.onnx"})";
    asked.folder = folder_;
    asked.training = false;
    asked.micro_batch_size = 4;
    return operator_named(*build("onnx", asked), "layer0/y");
  }
  [[nodiscard]] std::string complaint(const OnnxWriter& writer) const {
    try {
      (void)node_y(writer);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

OnnxWriter image(std::int64_t opset = 17) {
  OnnxWriter writer(opset);
  writer.input("x", {"batch", "12", "8", "6"});
  return writer;
}

TEST_F(OnnxNodes, ResizeByScalesAndBySizes) {
  OnnxWriter nearest = image();
  nearest.numbers("scales", {1, 1, 2, 3}).node("Resize", {"x", "", "scales"}, {"y"}).output("y");
  EXPECT_EQ(node_y(nearest).outputs.front().shape, (Shape{4, 16, 18, 12}));  // NHWC
  EXPECT_EQ(node_y(nearest).kind, OperatorKind::Concat);
  OnnxWriter linear = image();
  linear.integers("sizes", {1, 12, 16, 12}).node("Resize", {"x", "", "", "sizes"}, {"y"}).with_text("mode", "linear");
  linear.output("y");
  EXPECT_EQ(node_y(linear).outputs.front().shape, (Shape{4, 16, 12, 12}));
  EXPECT_DOUBLE_EQ(node_y(linear).operations_per_element, 2 * 4 - 1);  // four neighbours: 4 products, 3 sums
}

TEST_F(OnnxNodes, UpsampleOfOldOperatorSets) {
  OnnxWriter writer = image(9);
  writer.numbers("scales", {1, 1, 2, 2}).node("Upsample", {"x", "scales"}, {"y"}).output("y");
  EXPECT_EQ(node_y(writer).outputs.front().shape, (Shape{4, 16, 12, 12}));
}

TEST_F(OnnxNodes, ResizeThatIsNotKnownBeforeTheRun) {
  OnnxWriter unknown = image();
  unknown.node("Resize", {"x", "", "x"}, {"y"}).output("y");
  EXPECT_THAT(complaint(unknown), HasSubstr("has scales that are only known when the model runs"));
  OnnxWriter nothing = image();
  nothing.numbers("scales", {1, 1, 0.01F, 1}).node("Resize", {"x", "", "scales"}, {"y"}).output("y");
  EXPECT_THAT(complaint(nothing), HasSubstr("makes an image without pixels"));
  OnnxWriter flat = image();
  flat.integers("sizes", {12, 16, 12}).node("Resize", {"x", "", "", "sizes"}, {"y"}).output("y");
  EXPECT_THAT(complaint(flat), HasSubstr("another number of dimensions"));
}

TEST_F(OnnxNodes, DepthToSpaceAndBack) {
  OnnxWriter space = image();
  space.node("DepthToSpace", {"x"}, {"y"}).with("blocksize", 2).output("y");
  EXPECT_EQ(node_y(space).outputs.front().shape, (Shape{4, 16, 12, 3}));
  OnnxWriter depth = image();
  depth.node("SpaceToDepth", {"x"}, {"y"}).with("blocksize", 2).output("y");
  EXPECT_EQ(node_y(depth).outputs.front().shape, (Shape{4, 4, 3, 48}));
  OnnxWriter wrong = image();
  wrong.node("DepthToSpace", {"x"}, {"y"}).with("blocksize", 5).output("y");
  EXPECT_THAT(complaint(wrong), HasSubstr("does not divide its input"));
}

// As torch.nn.functional.pad is exported: pairs from the last axis to the first become begins and ends.
TEST_F(OnnxNodes, PadsThatAreComputedBeforeTheRun) {
  OnnxWriter writer = image();
  writer.integers("pairs", {1, 2, 3, 4, 0, 0, 0, 0}).integers("two", {-1, 2}).integers("one", {-1});
  writer.integers("start", {-1}).integers("end", {-1000}).integers("axis", {0}).integers("step", {-1});
  writer.node("Reshape", {"pairs", "two"}, {"rows"})
      .node("Slice", {"rows", "start", "end", "axis", "step"}, {"turned"});
  writer.node("Transpose", {"turned"}, {"columns"}).with("perm", {1, 0}).node("Reshape", {"columns", "one"}, {"pads"});
  writer.node("Pad", {"x", "pads"}, {"y"}).output("y");
  EXPECT_EQ(node_y(writer).outputs.front().shape, (Shape{4, 8 + 3 + 4, 6 + 1 + 2, 12}));
}

TEST_F(OnnxNodes, EinsumIsABatchedMatmul) {
  OnnxWriter scores;
  scores.input("q", {"batch", "10", "3", "16"}).input("k", {"batch", "20", "3", "16"});
  scores.node("Einsum", {"q", "k"}, {"y"}).with_text("equation", "bqhd, bkhd -> bhqk").output("y");
  const Operator op = node_y(scores);
  const auto& product = std::get<MatMulShape>(op.shape);
  EXPECT_EQ((Shape{product.groups, product.rows, product.inner, product.columns}), (Shape{4 * 3, 10, 16, 20}));
  EXPECT_FALSE(product.right_is_weight);
  EXPECT_EQ(op.outputs.front().shape, (Shape{4, 3, 10, 20}));
}

TEST_F(OnnxNodes, EinsumWithAWeightOnEitherSide) {
  for (const bool left : {false, true}) {
    OnnxWriter writer;
    writer.input("x", {"batch", "10", "16"}).parameter("w", {16, 5});
    const std::vector<std::string> operands =
        left ? std::vector<std::string>{"w", "x"} : std::vector<std::string>{"x", "w"};
    writer.node("Einsum", operands, {"y"}).with_text("equation", left ? "df,btd->btf" : "btd,df->btf").output("y");
    const Operator op = node_y(writer);
    const auto& product = std::get<MatMulShape>(op.shape);
    EXPECT_EQ((Shape{product.groups, product.rows, product.inner, product.columns}), (Shape{1, 40, 16, 5}));
    EXPECT_TRUE(product.right_is_weight);
    EXPECT_EQ(op.weights.front().elements, 80);
  }
}

TEST_F(OnnxNodes, EinsumsThatAreNoMatmul) {
  const auto with = [&](const std::string& equation) {
    OnnxWriter writer;
    writer.input("a", {"batch", "8"}).input("b", {"batch", "8"});
    writer.node("Einsum", {"a", "b"}, {"y"}).with_text("equation", equation).output("y");
    return complaint(writer);
  };
  EXPECT_THAT(with("...i,...i->..."), HasSubstr("only those of two operands"));
  EXPECT_THAT(with("bi,bi"), HasSubstr("only those of two operands"));
  EXPECT_THAT(with("bij,bi->b"), HasSubstr("letters for another number of dimensions"));
  EXPECT_THAT(with("bi,bi->bz"), HasSubstr("a dimension that no operand has"));
}

// Found by changing exported files at random: none may reach arithmetic.
TEST_F(OnnxNodes, DamagedNodesAndParametersAreNamed) {
  const auto of_image = [&](const std::string& operation, const std::vector<std::string>& inputs) {
    return image()
        .parameter("k", {4, 12, 3, 3})
        .integers("big", {1000000, 1000000, 1000000})
        .node(operation, inputs, {"y"});
  };
  EXPECT_THAT(complaint(of_image("Conv", {"x", "k"}).with("strides", {0, 1}).output("y")),
              HasSubstr("has a kernel, stride or dilation below 1"));
  EXPECT_THAT(complaint(of_image("Conv", {"x", "k"}).with("group", std::int64_t{0}).output("y")),
              HasSubstr("has fewer than one group"));
  EXPECT_THAT(complaint(of_image("ConstantOfShape", {"big"}).output("y")), HasSubstr("more than 10^15 elements"));
  EXPECT_THAT(complaint(image().integers("s", {-5}).node("Reshape", {"x", "s"}, {"y"}).output("y")),
              HasSubstr("asks for a dimension of -5"));
  EXPECT_THAT(complaint(image().integers("p", {0, 0, -9, 0, 0, 0, 0, 0}).node("Pad", {"x", "p"}, {"y"}).output("y")),
              HasSubstr("a dimension of -1"));
  EXPECT_THAT(complaint(image().parameter("t", {0, 4}).node("Gather", {"t", "x"}, {"y"}).output("y")),
              HasSubstr("an empty table"));
  EXPECT_THAT(complaint(image().parameter("t", {}).node("MatMul", {"x", "t"}, {"y"}).output("y")),
              HasSubstr("multiplies a single number"));
  EXPECT_THAT(complaint(image().parameter("t", {-3}).node("Add", {"x", "t"}, {"y"}).output("y")),
              HasSubstr("the parameter \"t\" has a negative size"));
  OnnxWriter range = image();
  range.integers("a", {0}, true).integers("b", {1000000000}, true).integers("c", {1}, true);
  EXPECT_THAT(complaint(range.node("Range", {"a", "b", "c"}, {"y"}).output("y")), HasSubstr("makes too long a list"));
}

TEST_F(OnnxNodes, NormsNeedChannels) {
  OnnxWriter writer;
  writer.input("x", {"batch"}).parameter("s", {1}).node("BatchNormalization", {"x", "s", "s"}, {"y"}).output("y");
  EXPECT_THAT(complaint(writer), HasSubstr("works on a tensor without channels"));
}

}  // namespace
}  // namespace podsim::test
