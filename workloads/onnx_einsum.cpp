// Einsum of two operands as the batched matmul that it is: letters of both and the result count groups, those of both
// alone are summed over, the others are rows and columns.
#include <map>

#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

struct Equation {
  std::string left, right, result;
};

Equation equation_of(const OnnxGraph& graph) {
  std::string text;
  for (const char c : graph.node().text("equation")) {
    if (c != ' ') text += c;
  }
  const std::size_t comma = text.find(','), arrow = text.find("->");
  const bool two = comma != std::string::npos && arrow != std::string::npos && comma < arrow &&
                   text.find(',', comma + 1) == std::string::npos && text.find('.') == std::string::npos;
  if (!two || graph.inputs() != 2) {
    graph.fail("has the equation \"" + text + "\"", "only those of two operands, as \"bij,bjk->bik\", are known");
  }
  return {text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
}

void einsum(OnnxGraph& graph) {
  const Equation equation = equation_of(graph);
  std::map<char, std::int64_t> extents;
  const auto read = [&](const std::string& letters, std::size_t operand) {
    const OnnxShape& shape = graph.required(operand).shape;
    if (shape.size() != letters.size()) graph.fail("has letters for another number of dimensions", "export it again");
    for (std::size_t i = 0; i < letters.size(); ++i) extents[letters[i]] = shape[i];
  };
  read(equation.left, 0);
  read(equation.right, 1);
  const auto in = [](const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; };
  MatMulShape shape{1, 1, 1, 1, false};  // the weight, if there is one, is the right operand
  const bool weighted = !graph.is_activation(1), swapped = !graph.is_activation(0);
  for (const auto& [letter, extent] : extents) {
    const bool left = in(equation.left, letter), right = in(equation.right, letter);
    if (!in(equation.result, letter)) {
      shape.inner *= extent;
    } else if (left && right) {
      shape.groups *= extent;
    } else {
      (left != swapped ? shape.rows : shape.columns) *= extent;
    }
  }
  OnnxShape result;
  for (const char letter : equation.result) {
    if (!extents.contains(letter)) graph.fail("makes a dimension that no operand has", "export the model again");
    result.push_back(extents[letter]);
  }
  if (weighted && swapped) return graph.define({result});
  Operator op;
  op.kind = OperatorKind::MatMul;
  std::vector<OnnxGraph::Vertex> producers;
  if (weighted || swapped) {
    graph.begin_layer();
    shape.right_is_weight = true;
    op.weights = {graph.weight(graph.required(swapped ? 0 : 1))};
    producers = {graph.activation(swapped ? 1 : 0)};
  } else {
    producers = {graph.activation(0), graph.activation(1)};
  }
  op.shape = shape;
  op.outputs = {graph.tensor(result)};
  graph.define_activation(graph.emit(std::move(op), producers), std::move(result));
}

}  // namespace

const OnnxHandlers& onnx_einsum() {
  static const OnnxHandlers handlers = {{"Einsum", einsum}};
  return handlers;
}

}  // namespace podsim
