// ONNX nodes that make images of another size.
#include <cmath>

#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

void emit_image(OnnxGraph& graph, OperatorKind kind, OnnxShape shape, double operations = 1) {
  const OnnxValue x = graph.required(0);
  Operator op;
  op.kind = kind;
  op.operations_per_element = operations;
  const OnnxGraph::Vertex producer = graph.activation(0);
  op.outputs = {graph.tensor(graph.layout_like(graph.required(0), shape), x.floating)};
  graph.define_activation(graph.emit(std::move(op), {producer}), std::move(shape));
}

// Scales of a Resize (input 2 of operator set 11 on, 1 before it, attribute before that), or the sizes themselves.
OnnxShape resized(OnnxGraph& graph) {
  const OnnxShape from = graph.required(0).shape;
  if (graph.input(3) != nullptr) return graph.integers(3, {});
  const std::size_t place = graph.node().operation == "Resize" && graph.opset() >= 11 ? 2 : 1;
  const OnnxValue* given = graph.input(place);
  const auto attribute = graph.node().attributes.find("scales");
  const std::vector<double> scales = given != nullptr                             ? given->numbers
                                     : attribute != graph.node().attributes.end() ? attribute->second.numbers
                                                                                  : std::vector<double>{};
  if (scales.size() != from.size()) {
    graph.fail("has scales that are only known when the model runs", "export with fixed shapes and constant folding");
  }
  OnnxShape shape;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    shape.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(from[axis]) * scales[axis])));
  }
  return shape;
}

// Multiplications and additions for an element: two neighbours in each direction that changes, or four.
double operations_of(const OnnxShape& from, const OnnxShape& to, double neighbours) {
  double points = 1;
  for (std::size_t axis = 0; axis < from.size(); ++axis) points *= from[axis] == to[axis] ? 1 : neighbours;
  return 2 * points - 1;
}

void resize(OnnxGraph& graph) {
  const OnnxShape from = graph.required(0).shape;
  OnnxShape shape = resized(graph);
  if (from.empty() || shape.size() != from.size())
    graph.fail("has sizes for another number of dimensions", "export the model again");
  shape.front() = from.front();
  for (const std::int64_t extent : shape) {
    if (extent < 1) graph.fail("makes an image without pixels", "use larger images");
  }
  const std::string mode = graph.node().text("mode");
  if (mode.empty() || mode == "nearest") return emit_image(graph, OperatorKind::Concat, std::move(shape));
  const double operations = operations_of(from, shape, mode == "cubic" ? 4 : 2);
  emit_image(graph, OperatorKind::Elementwise, std::move(shape), operations);
}

void depth_to_space(OnnxGraph& graph) {
  OnnxShape shape = graph.required(0).shape;
  const std::int64_t block = graph.node().integer("blocksize", 0);
  const bool to_space = graph.node().operation == "DepthToSpace";
  if (shape.size() != 4 || block < 1) graph.fail("needs images [N, C, H, W] and a blocksize", "export the model again");
  const bool fits = to_space ? shape[1] % (block * block) == 0 : shape[2] % block == 0 && shape[3] % block == 0;
  if (!fits) graph.fail("has a blocksize that does not divide its input", "export the model again");
  shape[1] = to_space ? shape[1] / (block * block) : shape[1] * block * block;
  for (const std::size_t axis : {2, 3}) shape[axis] = to_space ? shape[axis] * block : shape[axis] / block;
  emit_image(graph, OperatorKind::Transpose, std::move(shape));
}

}  // namespace

const OnnxHandlers& onnx_images() {
  static const OnnxHandlers handlers = {
      {"Resize", resize}, {"Upsample", resize}, {"DepthToSpace", depth_to_space}, {"SpaceToDepth", depth_to_space}};
  return handlers;
}

}  // namespace podsim
