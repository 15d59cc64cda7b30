// Chips and small operators for the tests of this folder.
#include "tests/unit/machine/test_chip.hpp"

#include "simulator/config/json.hpp"

namespace podsim {

Chip shipped_chip(const std::string& name) {
  return chip_from(ParameterSet(read_json(std::string(PODSIM_SOURCE_DIR) + "/topology/data/chips/" + name + ".json")));
}

LoweringOptions half_partials(double available_memory_proportion) {
  LoweringOptions options;
  options.partials = ElementType::Float16;
  options.available_memory_proportion = available_memory_proportion;
  return options;
}

Operator matmul(std::int64_t groups, std::int64_t rows, std::int64_t inner, std::int64_t columns, bool right_is_weight,
                ElementType type) {
  Operator op;
  op.name = "matmul";
  op.kind = OperatorKind::MatMul;
  op.shape = MatMulShape{groups, rows, inner, columns, right_is_weight};
  op.inputs.push_back({"left", {groups, rows, inner}, type});
  if (right_is_weight) {
    op.weights.push_back({"weight", groups * inner * columns, type, true, {}});
  } else {
    op.inputs.push_back({"right", {groups, inner, columns}, type});
  }
  op.outputs.push_back({"result", {groups, rows, columns}, type});
  return op;
}

Operator convolution(const ConvolutionShape& shape, ElementType type) {
  Operator op;
  op.name = "convolution";
  op.kind = OperatorKind::Convolution;
  op.shape = shape;
  op.inputs.push_back({"image", {shape.batch, shape.in_height, shape.in_width, shape.in_channels}, type});
  op.outputs.push_back({"result", {shape.batch, shape.out_height, shape.out_width, shape.out_channels}, type});
  op.weights.push_back(
      {"kernel",
       shape.kernel_height * shape.kernel_width * shape.in_channels / shape.groups * shape.out_channels,
       type,
       true,
       {}});
  return op;
}

Operator elementwise(OperatorKind kind, std::int64_t rows, std::int64_t columns, ElementType type) {
  Operator op;
  op.name = "elementwise";
  op.kind = kind;
  op.inputs.push_back({"x", {rows, columns}, type});
  op.outputs.push_back({"y", {rows, columns}, type});
  return op;
}

}  // namespace podsim
