// ONNX nodes that move, cut, join or rename data, and the integers that shapes are computed from.
#include <algorithm>
#include <numeric>

#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

using Vertex = OnnxGraph::Vertex;
using Integers = std::vector<std::int64_t>;

constexpr std::size_t kMostKnownElements = 65536;  // of constants that are made

OnnxValue known(OnnxShape shape, std::optional<Integers> integers) {
  OnnxValue value;
  value.shape = std::move(shape);
  value.floating = !integers.has_value();
  value.integers = std::move(integers);
  return value;
}

// Known contents with the axes in another order, and of each only the given indices.
Integers picked(const OnnxValue& x, const Integers& order, const std::vector<Integers>& indices) {
  std::vector<std::size_t> places = {0};
  for (const std::int64_t axis : order) {
    const auto next = x.shape.begin() + axis + 1;
    const std::int64_t step = std::accumulate(next, x.shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<std::size_t> finer;
    for (const std::size_t place : places) {
      for (const std::int64_t index : indices[static_cast<std::size_t>(axis)]) {
        finer.push_back(place + static_cast<std::size_t>(index * step));
      }
    }
    places = std::move(finer);
  }
  Integers result;
  for (const std::size_t place : places) result.push_back(x.integers->at(place));
  return result;
}

std::vector<Integers> all_indices(const OnnxShape& shape) {
  std::vector<Integers> indices;
  for (const std::int64_t extent : shape) {
    indices.emplace_back(static_cast<std::size_t>(extent));
    std::iota(indices.back().begin(), indices.back().end(), 0);
  }
  return indices;
}

// The same data under another shape: costs nothing.
void view(OnnxGraph& graph, OnnxShape shape) {
  OnnxValue value = graph.required(0);
  if (graph.is_activation(0)) value.vertex = graph.activation(0);
  value.shape = std::move(shape);
  if (value.elements() != graph.required(0).elements()) {
    graph.fail("gives " + std::to_string(graph.required(0).elements()) + " elements a shape of " +
                   std::to_string(value.elements()),
               "export the model again");
  }
  graph.define(std::move(value));
}

void identity(OnnxGraph& graph) { view(graph, graph.required(0).shape); }

void cast(OnnxGraph& graph) {
  OnnxValue value = graph.required(0);
  if (graph.is_activation(0)) value.vertex = graph.activation(0);
  const std::int64_t target = graph.node().integer("to", 1);
  constexpr std::int64_t kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;  // TensorProto.DataType
  value.floating = target == kFloat || target == kFloat16 || target == kDouble || target == kBfloat16;
  graph.define(std::move(value));
}

// Data in another order or a part of it.
void rearrange(OnnxGraph& graph, OperatorKind kind, OnnxShape shape, std::size_t output = 0) {
  const OnnxValue& x = graph.required(0);
  if (!graph.is_activation(0)) return graph.define({shape, x.floating, {}, x.parameter, {}, {}}, output);
  const Vertex producer = graph.activation(0);
  Operator op;
  op.kind = kind;
  op.outputs = {graph.tensor(kind == OperatorKind::Transpose ? shape : graph.layout_like(x, shape), x.floating)};
  graph.define_activation(graph.emit(std::move(op), {producer}), std::move(shape), output);
}

void constant(OnnxGraph& graph) {
  for (const auto& [name, attribute] : graph.node().attributes) {
    if (attribute.tensor) {
      const OnnxTensor& tensor = *attribute.tensor;
      return graph.define({tensor.shape, tensor.floating, {}, {}, tensor.integers, tensor.number, tensor.numbers});
    }
    if (name == "value_int") return graph.define(known({}, Integers{attribute.integer}));
    if (name == "value_float") return graph.define({{}, true, {}, {}, {}, attribute.number});
    if (name == "value_ints") {
      return graph.define(known({static_cast<std::int64_t>(attribute.integers.size())}, attribute.integers));
    }
  }
  graph.fail("holds neither a tensor nor integers", "export the model again");
}

void constant_of_shape(OnnxGraph& graph) {
  const Integers shape = graph.integers(0, {});
  OnnxValue value;
  value.shape = shape;
  graph.define(value);  // checks the shape
  const auto given = graph.node().attributes.find("value");
  if (given != graph.node().attributes.end() && given->second.tensor && given->second.tensor->integers &&
      static_cast<std::size_t>(value.elements()) <= kMostKnownElements) {
    value.floating = false;
    value.integers = Integers(static_cast<std::size_t>(value.elements()), given->second.tensor->integers->front());
  }
  graph.define(std::move(value));
}

void shape_of(OnnxGraph& graph) {
  const OnnxShape& shape = graph.required(0).shape;
  const auto size = static_cast<std::int64_t>(shape.size());
  const auto bound = [size](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t start = bound(graph.node().integer("start", 0)), end = bound(graph.node().integer("end", size));
  Integers part(shape.begin() + start, shape.begin() + std::max(start, end));
  const auto count = static_cast<std::int64_t>(part.size());
  graph.define(known({count}, std::move(part)));
}

void size_of(OnnxGraph& graph) { graph.define(known({}, Integers{graph.required(0).elements()})); }

void range(OnnxGraph& graph) {
  const auto scalar = [&](std::size_t i) {
    const Integers values = graph.integers(i, {});
    if (values.size() != 1) graph.fail("needs single numbers", "export the model again");
    return values.front();
  };
  const std::int64_t start = scalar(0), limit = scalar(1), step = scalar(2);
  Integers values;
  for (std::int64_t at = start; step != 0 && (step > 0 ? at < limit : at > limit); at += step) {
    if (values.size() >= kMostKnownElements) graph.fail("makes too long a list", "check the sizes of the inputs");
    values.push_back(at);
  }
  const auto count = static_cast<std::int64_t>(values.size());
  graph.define(known({count}, std::move(values)));
}

// 0 keeps an extent, -1 stands for what is left. A batch of one that was exported as a number is the micro-batch.
void reshape(OnnxGraph& graph) {
  const OnnxValue& x = graph.required(0);
  OnnxShape shape = graph.integers(1, "shape");
  std::int64_t given = 1;
  std::size_t open = shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < x.shape.size() && graph.node().integer("allowzero", 0) == 0) shape[i] = x.shape[i];
    if (shape[i] < -1) graph.fail("asks for a dimension of " + std::to_string(shape[i]), "export the model again");
    if (shape[i] < 0) open = i;
    given *= shape[i] < 0 ? 1 : shape[i];
  }
  const std::int64_t batch = graph.request().micro_batch_size;
  if (!shape.empty() && shape.front() == 1 && !x.shape.empty() && x.shape.front() == batch &&
      (open < shape.size() || given * batch == x.elements())) {
    shape.front() = batch;
    given *= batch;
  }
  if (open < shape.size()) shape[open] = given > 0 ? x.elements() / given : 0;
  view(graph, std::move(shape));
}

void flatten(OnnxGraph& graph) {
  const OnnxShape& shape = graph.required(0).shape;
  std::int64_t axis = graph.node().integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  axis = std::clamp<std::int64_t>(axis, 0, static_cast<std::int64_t>(shape.size()));
  const std::int64_t rows = std::accumulate(shape.begin(), shape.begin() + axis, std::int64_t{1}, std::multiplies<>());
  view(graph, {rows, graph.required(0).elements() / std::max<std::int64_t>(rows, 1)});
}

void squeeze(OnnxGraph& graph) {
  const OnnxShape& from = graph.required(0).shape;
  const Integers axes = graph.integers(1, "axes");
  std::vector<bool> removed(from.size(), false);
  for (const std::int64_t axis : axes) removed[onnx_axis(graph, axis, from.size())] = true;
  OnnxShape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (axes.empty() ? from[i] != 1 : !removed[i]) shape.push_back(from[i]);
  }
  view(graph, std::move(shape));
}

void unsqueeze(OnnxGraph& graph) {
  const OnnxShape& from = graph.required(0).shape;
  const Integers axes = graph.integers(1, "axes");
  std::vector<bool> added(from.size() + axes.size(), false);
  for (const std::int64_t axis : axes) added[onnx_axis(graph, axis, added.size())] = true;
  OnnxShape shape;
  auto next = from.begin();
  for (const bool is_added : added) shape.push_back(is_added || next == from.end() ? 1 : *next++);
  view(graph, std::move(shape));
}

void transpose(OnnxGraph& graph) {
  const OnnxShape from = graph.required(0).shape;
  Integers order = graph.node().integers("perm");
  if (order.empty()) {
    order.resize(from.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != from.size()) graph.fail("permutes another number of dimensions", "export the model again");
  OnnxShape shape;
  std::int64_t last = -1;
  bool moves = false;  // of extents of one there is nothing to move
  for (const std::int64_t axis : order) {
    const std::size_t index = onnx_axis(graph, axis, from.size());
    shape.push_back(from[index]);
    if (from[index] == 1) continue;
    moves = moves || static_cast<std::int64_t>(index) < last;
    last = static_cast<std::int64_t>(index);
  }
  if (!moves) return view(graph, std::move(shape));
  const OnnxValue& x = graph.required(0);
  if (x.integers) return graph.define(known(std::move(shape), picked(x, order, all_indices(x.shape))));
  rearrange(graph, OperatorKind::Transpose, std::move(shape));
}

void expand(OnnxGraph& graph) {
  const OnnxShape from = graph.required(0).shape;
  const Integers factors = graph.integers(1, {});
  OnnxShape shape = from;
  if (graph.node().operation == "Tile") {
    for (std::size_t i = 0; i < shape.size() && i < factors.size(); ++i) shape[i] *= factors[i];
  } else if (const auto joined = broadcast(from, factors)) {
    shape = *joined;
  }
  const OnnxValue sized = known(shape, std::nullopt);
  if (sized.elements() == graph.required(0).elements()) return view(graph, std::move(shape));
  rearrange(graph, OperatorKind::Concat, std::move(shape));
}

void pad(OnnxGraph& graph) {
  const Integers pads = graph.integers(1, "pads");
  OnnxShape shape = graph.required(0).shape;
  if (pads.size() != 2 * shape.size()) graph.fail("pads another number of dimensions", "export the model again");
  bool pads_anything = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    shape[i] += pads[i] + pads[shape.size() + i];
    pads_anything = pads_anything || pads[i] != 0 || pads[shape.size() + i] != 0;
  }
  if (!pads_anything) return identity(graph);
  rearrange(graph, OperatorKind::Concat, std::move(shape));
}

void split(OnnxGraph& graph) {
  const OnnxShape from = graph.required(0).shape;
  const std::size_t axis = onnx_axis(graph, graph.node().integer("axis", 0), from.size());
  const auto parts = static_cast<std::int64_t>(graph.node().outputs.size());
  Integers sizes = graph.integers(1, "split");
  const std::int64_t chunk = (from[axis] + parts - 1) / parts;
  for (std::int64_t part = static_cast<std::int64_t>(sizes.size()); part < parts; ++part) {
    sizes.push_back(std::min(chunk, from[axis] - part * chunk));
  }
  for (std::size_t part = 0; part < graph.node().outputs.size(); ++part) {
    OnnxShape shape = from;
    shape[axis] = sizes[part];
    rearrange(graph, OperatorKind::Slice, std::move(shape), part);
  }
}

void slice(OnnxGraph& graph) {
  const OnnxValue x = graph.required(0);
  const Integers starts = graph.integers(1, "starts"), ends = graph.integers(2, "ends"), steps = graph.integers(4, {});
  Integers axes = graph.integers(3, "axes");
  for (auto i = static_cast<std::int64_t>(axes.size()); i < static_cast<std::int64_t>(starts.size()); ++i) {
    axes.push_back(i);
  }
  OnnxShape shape = x.shape;
  std::vector<Integers> kept = all_indices(x.integers ? x.shape : OnnxShape{});
  for (std::size_t i = 0; i < starts.size() && i < ends.size(); ++i) {
    const std::size_t axis = onnx_axis(graph, axes[i], shape.size());
    const std::int64_t extent = shape[axis], step = i < steps.size() ? steps[i] : 1;
    const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
    const auto bound = [&](std::int64_t at) { return std::clamp(at < 0 ? at + extent : at, lowest, highest); };
    const std::int64_t start = bound(starts[i]), end = bound(std::max(ends[i], -extent - 1));
    if (step == 0) graph.fail("has a step of 0", "export the model again");
    shape[axis] = std::max<std::int64_t>(0, (end - start + step + (step > 0 ? -1 : 1)) / step);
    if (!x.integers) continue;
    kept[axis].clear();
    for (std::int64_t n = 0; n < shape[axis]; ++n) kept[axis].push_back(start + n * step);
  }
  if (x.integers) {
    Integers order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    return graph.define(known(shape, picked(x, order, kept)));
  }
  if (shape == x.shape) return identity(graph);
  rearrange(graph, OperatorKind::Slice, std::move(shape));
}

void concat(OnnxGraph& graph) {
  OnnxShape shape = graph.required(0).shape;
  const std::size_t axis = onnx_axis(graph, graph.node().integer("axis", 0), shape.size());
  std::optional<Integers> integers = Integers{};
  std::vector<Vertex> producers;
  std::size_t like = 0;
  std::int64_t extent = 0;
  bool floating = false;
  for (std::size_t i = 0; i < graph.inputs(); ++i) {
    const OnnxValue& value = graph.required(i);
    if (value.shape.size() != shape.size()) graph.fail("joins tensors of different ranks", "export the model again");
    extent += value.shape[axis];
    floating = floating || value.floating;
    if (!value.integers) integers.reset();
    if (integers) integers->insert(integers->end(), value.integers->begin(), value.integers->end());
    if (!graph.is_activation(i)) continue;
    if (producers.empty()) like = i;
    producers.push_back(graph.activation(i));
  }
  shape[axis] = extent;
  if (producers.empty()) {
    if (shape.size() > 1) integers.reset();
    OnnxValue value = known(std::move(shape), std::move(integers));
    value.floating = floating;
    return graph.define(std::move(value));
  }
  Operator op;
  op.kind = OperatorKind::Concat;
  op.outputs = {graph.tensor(graph.layout_like(graph.required(like), shape), floating)};
  for (std::size_t i = 0; i < graph.inputs(); ++i) {
    const OnnxValue& value = graph.required(i);
    if (!graph.is_activation(i) && value.floating && value.elements() > 1) op.weights.push_back(graph.weight(value));
  }
  graph.define_activation(graph.emit(std::move(op), producers), std::move(shape));
}

// Rows that are known before the run are a part of the data; others are looked up, in a table of weights or in data.
void gather(OnnxGraph& graph) {
  const OnnxValue data = graph.required(0);
  const OnnxValue indices = graph.required(1);
  const std::size_t axis = onnx_axis(graph, graph.node().integer("axis", 0), data.shape.size());
  OnnxShape shape(data.shape.begin(), data.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), data.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.shape.end());
  if (data.integers && indices.integers && data.rank() == 1) {
    Integers found;
    for (const std::int64_t index : *indices.integers) {
      found.push_back(data.integers->at(onnx_axis(graph, index, data.integers->size())));
    }
    return graph.define(known(std::move(shape), std::move(found)));
  }
  if (!graph.is_activation(1)) return rearrange(graph, OperatorKind::Slice, std::move(shape));
  const std::int64_t rows = data.shape[axis];
  if (rows < 1) graph.fail("looks rows up in an empty table", "export the model again");
  Operator op;
  op.shape = GatherShape{indices.elements(), rows, data.elements() / rows};
  std::vector<Vertex> producers;
  if (graph.is_activation(0)) {
    op.kind = OperatorKind::Gather;
    producers.push_back(graph.activation(0));
  } else {
    graph.begin_layer();
    op.kind = OperatorKind::EmbeddingGather;
    op.serial_splits = graph.request().embedding_serialization;
    op.weights = {graph.weight(data)};
  }
  producers.push_back(graph.activation(1));
  op.outputs = {graph.tensor(shape, data.floating)};
  graph.define_activation(graph.emit(std::move(op), producers), std::move(shape));
}

}  // namespace

const OnnxHandlers& onnx_shapes() {
  static const OnnxHandlers handlers = {{"Constant", constant},
                                        {"ConstantOfShape", constant_of_shape},
                                        {"Shape", shape_of},
                                        {"Size", size_of},
                                        {"Range", range},
                                        {"Identity", identity},
                                        {"Cast", cast},
                                        {"Reshape", reshape},
                                        {"Flatten", flatten},
                                        {"Squeeze", squeeze},
                                        {"Unsqueeze", unsqueeze},
                                        {"Transpose", transpose},
                                        {"Expand", expand},
                                        {"Tile", expand},
                                        {"Pad", pad},
                                        {"Split", split},
                                        {"Slice", slice},
                                        {"Concat", concat},
                                        {"Gather", gather}};
  return handlers;
}

}  // namespace podsim
