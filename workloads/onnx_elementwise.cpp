// ONNX nodes that work element by element or reduce. What is known before the run is computed here: shapes are made of
// such integers.
#include <algorithm>
#include <functional>

#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

using Vertex = OnnxGraph::Vertex;
using Integers = std::vector<std::int64_t>;

void unary(OnnxGraph& graph, OperatorKind kind) {
  const OnnxValue x = graph.required(0);
  if (!graph.is_activation(0)) return graph.define({x.shape, x.floating, {}, x.parameter, {}, {}});
  Operator op;
  op.kind = kind;
  const Vertex producer = graph.activation(0);
  op.outputs = {graph.tensor(graph.builder().tensor(producer).shape, x.floating)};
  graph.define_activation(graph.emit(std::move(op), {producer}), x.shape);
}

void relu(OnnxGraph& graph) { unary(graph, OperatorKind::Relu); }
void gelu(OnnxGraph& graph) { unary(graph, OperatorKind::Gelu); }
void sigmoid(OnnxGraph& graph) { unary(graph, OperatorKind::Sigmoid); }
void tanh(OnnxGraph& graph) { unary(graph, OperatorKind::Tanh); }
void simple(OnnxGraph& graph) { unary(graph, OperatorKind::Elementwise); }

std::int64_t computed(const std::string& operation, std::int64_t a, std::int64_t b) {
  if (operation == "Add") return a + b;
  if (operation == "Sub") return a - b;
  if (operation == "Mul") return a * b;
  if (operation == "Div") return b == 0 ? 0 : a / b;
  if (operation == "Mod") return b == 0 ? 0 : a % b;
  if (operation == "Equal") return a == b ? 1 : 0;
  return operation == "Min" ? std::min(a, b) : std::max(a, b);
}

bool computes_integers(const std::string& operation) {
  constexpr std::string_view kKnown[] = {"Add", "Sub", "Mul", "Div", "Mod", "Equal", "Min", "Max"};
  return std::find(std::begin(kKnown), std::end(kKnown), operation) != std::end(kKnown);
}

// Contents of the result of known operands, where they are known: of vectors, and of scalars that go with them.
std::optional<Integers> known_result(OnnxGraph& graph) {
  std::vector<const Integers*> operands;
  std::size_t size = 1;
  for (std::size_t i = 0; i < graph.inputs(); ++i) {
    const OnnxValue& value = graph.required(i);
    if (!value.integers || value.rank() > 1) return std::nullopt;
    operands.push_back(&*value.integers);
    size = std::max(size, value.integers->size());
  }
  const auto at = [](const Integers& from, std::size_t i) { return from.size() == 1 ? from.front() : from.at(i); };
  const std::string& operation = graph.node().operation;
  Integers result;
  for (std::size_t i = 0; i < size; ++i) {
    if (operation == "Where" && operands.size() == 3) {
      result.push_back(at(*operands[at(*operands[0], i) != 0 ? 1 : 2], i));
    } else if (computes_integers(operation) && operands.size() == 2) {
      result.push_back(computed(operation, at(*operands[0], i), at(*operands[1], i)));
    } else {
      return std::nullopt;
    }
  }
  return result;
}

bool compares(const std::string& operation) {
  constexpr std::string_view kKnown[] = {"Equal",          "Less", "LessOrEqual", "Greater",
                                         "GreaterOrEqual", "And",  "Or",          "Xor"};
  return std::find(std::begin(kKnown), std::end(kKnown), operation) != std::end(kKnown);
}

// Any number of operands; parameters of more than one element are weights (biases, scales), single ones are constants.
void combine(OnnxGraph& graph) {
  OnnxShape shape;
  bool floating = false;
  std::size_t like = 0;  // the activation whose layout the result has
  std::vector<Vertex> producers;
  Operator op;
  op.kind = OperatorKind::Elementwise;
  for (std::size_t i = 0; i < graph.inputs(); ++i) {
    const OnnxValue& value = graph.required(i);
    const auto joined = broadcast(shape, value.shape);
    if (!joined) graph.fail("combines shapes that do not go together", "export the model again");
    shape = *joined;
    floating = floating || (value.floating && !(i == 0 && graph.node().operation == "Where"));
    if (graph.is_activation(i)) {
      if (producers.empty() || value.elements() > graph.required(like).elements()) like = i;
      producers.push_back(graph.activation(i));
    }
  }
  if (compares(graph.node().operation)) floating = false;
  if (producers.empty()) {
    const auto known = known_result(graph);
    return graph.define({shape, floating, {}, {}, known, {}});
  }
  for (std::size_t i = 0; i < graph.inputs(); ++i) {
    const OnnxValue& value = graph.required(i);
    if (!graph.is_activation(i) && value.floating && value.elements() > 1) op.weights.push_back(graph.weight(value));
  }
  op.outputs = {graph.tensor(graph.layout_like(graph.required(like), shape), floating)};
  graph.define_activation(graph.emit(std::move(op), producers), shape);
}

void softmax(OnnxGraph& graph) {
  const OnnxValue x = graph.required(0);
  const bool flattens = graph.opset() > 0 && graph.opset() < 13;  // then everything from the axis on is one row
  const std::size_t axis = onnx_axis(graph, graph.node().integer("axis", flattens ? 1 : -1), x.shape.size());
  std::int64_t width = x.shape[axis];
  for (std::size_t i = axis + 1; flattens && i < x.shape.size(); ++i) width *= x.shape[i];
  Operator op;
  op.kind = OperatorKind::Softmax;
  op.shape = NormShape{x.elements() / width, width, 1};
  const Vertex producer = graph.activation(0);
  op.outputs = {graph.builder().tensor(producer)};
  graph.define_activation(graph.emit(std::move(op), {producer}), x.shape);
}

void reduce(OnnxGraph& graph) {
  const OnnxValue x = graph.required(0);
  const bool selects = graph.node().operation.starts_with("Arg");  // ArgMax: one axis
  Integers axes = selects ? Integers{graph.node().integer("axis", 0)} : graph.integers(1, "axes");
  if (axes.empty() && graph.node().integer("noop_with_empty_axes", 0) != 0) return graph.define(x);
  std::vector<bool> reduced(x.shape.size(), axes.empty());
  for (const std::int64_t axis : axes) reduced[onnx_axis(graph, axis, x.shape.size())] = true;
  const bool keep = graph.node().integer("keepdims", 1) != 0;
  OnnxShape shape;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    if (!reduced[axis]) shape.push_back(x.shape[axis]);
    if (reduced[axis] && keep) shape.push_back(1);
  }
  if (!graph.is_activation(0)) return graph.define({shape, x.floating, {}, {}, {}, {}});
  Operator op;
  op.kind = OperatorKind::Reduction;
  const Vertex producer = graph.activation(0);
  op.outputs = {graph.tensor(graph.layout_like(graph.required(0), shape), x.floating && !selects)};
  graph.define_activation(graph.emit(std::move(op), {producer}), shape);
}

void dropout(OnnxGraph& graph) {
  const OnnxValue* given = graph.input(1);
  const auto attribute = graph.node().attributes.find("ratio");
  double ratio = attribute == graph.node().attributes.end() ? 0.5 : attribute->second.number;
  if (given != nullptr && given->number) ratio = *given->number;
  if (graph.request().training && ratio > 0) return unary(graph, OperatorKind::Dropout);
  OnnxValue x = graph.required(0);
  if (graph.is_activation(0)) x.vertex = graph.activation(0);
  graph.define(std::move(x));
}

}  // namespace

const OnnxHandlers& onnx_elementwise() {
  static const OnnxHandlers handlers = [] {
    OnnxHandlers known = {{"Gelu", gelu},       {"Erf", gelu},           {"Sigmoid", sigmoid}, {"Tanh", tanh},
                          {"Softmax", softmax}, {"LogSoftmax", softmax}, {"Dropout", dropout}};
    for (const char* name : {"Relu", "LeakyRelu", "Clip", "HardSigmoid", "HardSwish"}) known[name] = relu;
    for (const char* name : {"Sqrt",     "Exp",  "Log",  "Neg",   "Abs",   "Reciprocal", "Not",   "Floor",
                             "Ceil",     "Sin",  "Cos",  "Tan",   "Elu",   "Selu",       "Celu",  "Softplus",
                             "Softsign", "Mish", "Sign", "Round", "Trilu", "IsNaN",      "IsInf", "ThresholdedRelu"}) {
      known[name] = simple;
    }
    for (const char* name : {"Add", "Sub",   "Mul",   "Div",   "Mod",  "Pow",         "Min",     "Max",
                             "Sum", "PRelu", "Where", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
                             "And", "Or",    "Xor",   "Mean"}) {
      known[name] = combine;
    }
    for (const char* name : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                             "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ArgMax", "ArgMin"}) {
      known[name] = reduce;
    }
    return known;
  }();
  return handlers;
}

}  // namespace podsim
