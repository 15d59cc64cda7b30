// ONNX nodes with weights, norms and pools. Definitions: ONNX operator reference, opsets 7 to 21.
#include <algorithm>
#include <array>
#include <numeric>

#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

using Vertex = OnnxGraph::Vertex;

std::int64_t product(OnnxShape::const_iterator begin, OnnxShape::const_iterator end) {
  return std::accumulate(begin, end, std::int64_t{1}, std::multiplies<>());
}

Vertex add_bias(OnnxGraph& graph, Vertex x, std::size_t input) {
  Operator op;
  op.kind = OperatorKind::Elementwise;
  op.outputs = {graph.builder().tensor(x)};
  if (graph.is_activation(input)) return graph.emit(std::move(op), {x, graph.activation(input)}, "/bias");
  op.weights = {graph.weight(graph.required(input))};
  return graph.emit(std::move(op), {x}, "/bias");
}

// Matrix dimensions of a matmul's operand; a vector is one row (left) or one column (right).
OnnxShape matrix(const OnnxValue& value, bool left) {
  OnnxShape shape = value.shape;
  if (shape.size() == 1) shape.insert(left ? shape.begin() : shape.end(), 1);
  return shape;
}

void matmul(OnnxGraph& graph) {
  if (graph.required(0).rank() == 0 || graph.required(1).rank() == 0) {
    graph.fail("multiplies a single number", "export the model again");
  }
  const OnnxShape left = matrix(graph.required(0), true), right = matrix(graph.required(1), false);
  const OnnxShape left_batch(left.begin(), left.end() - 2), right_batch(right.begin(), right.end() - 2);
  const auto batch = broadcast(left_batch, right_batch);
  const std::int64_t rows = left[left.size() - 2], inner = left.back(), columns = right.back();
  if (!batch || inner != right[right.size() - 2])
    graph.fail("joins matrices that do not fit", "export the model again");
  OnnxShape result = *batch;
  if (graph.required(0).rank() > 1) result.push_back(rows);
  if (graph.required(1).rank() > 1) result.push_back(columns);
  Operator op;
  op.kind = OperatorKind::MatMul;
  op.outputs = {graph.tensor(result)};
  const std::int64_t groups = product(batch->begin(), batch->end());
  const bool left_runs = graph.is_activation(0), right_runs = graph.is_activation(1);
  if (!left_runs && !right_runs) return graph.define({result});
  if (left_runs && right_runs) {
    op.shape = MatMulShape{groups, rows, inner, columns, false};
    return graph.define_activation(graph.emit(std::move(op), {graph.activation(0), graph.activation(1)}), result);
  }
  // One operand is a weight: the other one's batches are more rows. x W, or for a weight on the left the transposes.
  const OnnxShape& weight_batch = left_runs ? right_batch : left_batch;
  const std::int64_t weights = product(weight_batch.begin(), weight_batch.end());
  const std::int64_t positions = groups / weights * (left_runs ? rows : columns);
  graph.begin_layer();
  op.shape = MatMulShape{weights, positions, inner, left_runs ? columns : rows, true};
  op.weights = {graph.weight(graph.required(left_runs ? 1 : 0))};
  graph.define_activation(graph.emit(std::move(op), {graph.activation(left_runs ? 0 : 1)}), result);
}

void gemm(OnnxGraph& graph) {
  const OnnxValue &a = graph.required(0), &b = graph.required(1);
  if (a.rank() != 2 || b.rank() != 2) graph.fail("needs matrices", "export the model again");
  const bool transpose_a = graph.node().integer("transA", 0) != 0, transpose_b = graph.node().integer("transB", 0) != 0;
  const std::int64_t rows = a.shape[transpose_a ? 1 : 0], inner = a.shape[transpose_a ? 0 : 1];
  const std::int64_t columns = b.shape[transpose_b ? 0 : 1];
  if (inner != b.shape[transpose_b ? 1 : 0]) graph.fail("joins matrices that do not fit", "export the model again");
  const bool weighted = !graph.is_activation(1);
  if (weighted) graph.begin_layer();
  Operator op;
  op.kind = OperatorKind::MatMul;
  op.shape = MatMulShape{1, rows, inner, columns, weighted};
  op.outputs = {graph.tensor({rows, columns})};
  std::vector<Vertex> producers = {graph.activation(0)};
  if (weighted) {
    op.weights = {graph.weight(b)};
  } else {
    producers.push_back(graph.activation(1));
  }
  Vertex result = graph.emit(std::move(op), producers);
  if (graph.input(2) != nullptr) result = add_bias(graph, result, 2);
  graph.define_activation(result, {rows, columns});
}

// What a window (of a convolution or pool) does in one direction.
struct Window {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;

  [[nodiscard]] std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
  [[nodiscard]] std::int64_t output(bool round_up) const {
    const std::int64_t free = input + before + after - reach();
    return free < 0 ? 0 : (free + (round_up ? stride - 1 : 0)) / stride + 1;
  }
};

// Height and width; sequences ([N, C, L]) have a height of one. Kernel sizes are given for convolutions.
std::array<Window, 2> windows(OnnxGraph& graph, const OnnxShape& image, OnnxShape kernel) {
  const std::size_t directions = image.size() - 2;
  if (image.size() < 3 || directions > 2 || kernel.size() != directions) {
    graph.fail("works on a tensor of " + std::to_string(image.size()) + " dimensions",
               "use images [N, C, H, W] or sequences [N, C, L]");
  }
  const auto strides = graph.node().integers("strides"), dilations = graph.node().integers("dilations"),
             pads = graph.node().integers("pads");
  const std::string automatic = graph.node().text("auto_pad");
  std::array<Window, 2> result;
  for (std::size_t i = 0; i < directions; ++i) {
    Window& window = result[2 - directions + i];
    window.input = image[2 + i];
    window.kernel = kernel[i];
    if (i < strides.size()) window.stride = strides[i];
    if (i < dilations.size()) window.dilation = dilations[i];
    if (window.kernel < 1 || window.stride < 1 || window.dilation < 1) {
      graph.fail("has a kernel, stride or dilation below 1", "export the model again");
    }
    if (automatic.starts_with("SAME")) {
      const std::int64_t output = (window.input + window.stride - 1) / window.stride;
      window.before = std::max<std::int64_t>(0, (output - 1) * window.stride + window.reach() - window.input);
      window.after = window.before / 2;
      window.before -= window.after;
    } else if (pads.size() == 2 * directions) {
      window.before = pads[i];
      window.after = pads[directions + i];
    }
  }
  return result;
}

OnnxShape image_of(const OnnxShape& input, std::int64_t channels, std::int64_t height, std::int64_t width) {
  if (input.size() == 3) return {input[0], channels, width};
  return {input[0], channels, height, width};
}

void convolve(OnnxGraph& graph, bool transposed) {
  const OnnxValue &image = graph.required(0), &kernel = graph.required(1);
  if (graph.is_activation(1)) graph.fail("has a kernel that another node makes", "export with constant folding");
  if (kernel.rank() != image.rank()) graph.fail("has a kernel of another rank", "export the model again");
  const std::array<Window, 2> window = windows(graph, image.shape, {kernel.shape.begin() + 2, kernel.shape.end()});
  const auto &high = window[0], &wide = window[1];
  ConvolutionShape shape;
  shape.groups = graph.node().integer("group", 1);
  if (shape.groups < 1) graph.fail("has fewer than one group", "export the model again");
  shape.batch = image.shape[0];
  shape.in_channels = image.shape[1];
  shape.out_channels = transposed ? kernel.shape[1] * shape.groups : kernel.shape[0];
  if (kernel.shape[transposed ? 0 : 1] * (transposed ? 1 : shape.groups) != shape.in_channels) {
    graph.fail("has a kernel for another number of channels", "export the model again");
  }
  shape.in_height = high.input;
  shape.in_width = wide.input;
  const auto added = graph.node().integers("output_padding");
  const auto extent = [&](const Window& of, std::size_t direction) {
    if (!transposed) return of.output(false);
    const std::size_t index = direction + added.size();
    const std::int64_t more = index >= 2 && index - 2 < added.size() ? added[index - 2] : 0;
    return of.stride * (of.input - 1) + more + of.reach() - of.before - of.after;
  };
  shape.out_height = extent(high, 0);
  shape.out_width = extent(wide, 1);
  if (shape.out_height < 1 || shape.out_width < 1)
    graph.fail("has an input smaller than its kernel", "use larger images");
  shape.kernel_height = high.kernel;
  shape.kernel_width = wide.kernel;
  shape.stride_height = high.stride;
  shape.stride_width = wide.stride;
  shape.padding_height = (high.before + high.after) / 2;
  shape.padding_width = (wide.before + wide.after) / 2;
  shape.transposed = transposed;
  graph.begin_layer();
  Operator op;
  op.kind = OperatorKind::Convolution;
  op.shape = shape;
  op.outputs = {graph.tensor({shape.batch, shape.out_height, shape.out_width, shape.out_channels})};
  op.weights = {graph.weight(kernel)};
  Vertex result = graph.emit(std::move(op), {graph.activation(0)});
  if (graph.input(2) != nullptr) result = add_bias(graph, result, 2);
  graph.define_activation(result, image_of(image.shape, shape.out_channels, shape.out_height, shape.out_width));
}

void convolution(OnnxGraph& graph) { convolve(graph, false); }
void transposed_convolution(OnnxGraph& graph) { convolve(graph, true); }

void pool(OnnxGraph& graph, bool maximum) {
  const OnnxValue& image = graph.required(0);
  const std::array<Window, 2> window = windows(graph, image.shape, graph.node().integers("kernel_shape"));
  const bool round_up = graph.node().integer("ceil_mode", 0) != 0;
  const std::int64_t height = window[0].output(round_up), width = window[1].output(round_up);
  if (height < 1 || width < 1) graph.fail("has an input smaller than its window", "use larger images");
  Operator op;
  op.kind = OperatorKind::Pooling;
  op.outputs = {graph.tensor({image.shape[0], height, width, image.shape[1]})};
  op.shape = PoolShape{op.outputs.front().elements(), window[0].kernel * window[1].kernel,
                       window[0].stride * window[1].stride, maximum};
  graph.define_activation(graph.emit(std::move(op), {graph.activation(0)}),
                          image_of(image.shape, image.shape[1], height, width));
}

void maximum_pool(OnnxGraph& graph) { pool(graph, true); }
void average_pool(OnnxGraph& graph) { pool(graph, false); }

void global_pool(OnnxGraph& graph) {
  const OnnxShape image = graph.required(0).shape;
  if (image.size() < 3) graph.fail("works on a tensor of fewer than 3 dimensions", "use images [N, C, H, W]");
  const std::int64_t window = product(image.begin() + 2, image.end());
  Operator op;
  op.kind = OperatorKind::Pooling;
  op.shape = PoolShape{image[0] * image[1], window, window, graph.node().operation == "GlobalMaxPool"};
  op.outputs = {graph.tensor({image[0], image[1]})};
  OnnxShape result(image.size(), 1);
  std::copy_n(image.begin(), 2, result.begin());
  graph.define_activation(graph.emit(std::move(op), {graph.activation(0)}), result);
}

void norm(OnnxGraph& graph, OperatorKind kind, const NormShape& shape) {
  Operator op;
  op.kind = kind;
  op.shape = shape;
  const Vertex x = graph.activation(0);
  op.outputs = {graph.builder().tensor(x)};
  for (std::size_t i = 1; i < graph.inputs(); ++i) {
    if (graph.input(i) != nullptr) op.weights.push_back(graph.weight(graph.required(i), i < 3));
  }
  graph.define_activation(graph.emit(std::move(op), {x}), graph.required(0).shape);
}

void require_channels(OnnxGraph& graph) {
  if (graph.required(0).rank() < 2) graph.fail("works on a tensor without channels", "use [N, C, …]");
}

void batch_norm(OnnxGraph& graph) {
  require_channels(graph);
  const OnnxValue& x = graph.required(0);
  const std::int64_t channels = x.shape[1];
  norm(graph, OperatorKind::BatchNorm, {channels, x.elements() / channels, 1});
}

void layer_norm(OnnxGraph& graph) {
  const OnnxValue& x = graph.required(0);
  const std::size_t axis = onnx_axis(graph, graph.node().integer("axis", -1), x.shape.size());
  const std::int64_t width = product(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  norm(graph, OperatorKind::LayerNorm, {x.elements() / width, width, 1});
}

// Statistics for each sample and group of channels; for instance norm a group is one channel.
void group_norm(OnnxGraph& graph) {
  require_channels(graph);
  const OnnxValue& x = graph.required(0);
  const std::int64_t groups = x.shape[0] * graph.node().integer("num_groups", x.shape[1]);
  if (groups < 1 || x.elements() % groups != 0) graph.fail("has groups that do not divide", "export the model again");
  norm(graph, OperatorKind::GroupNorm, {groups, x.elements() / groups, 1});
}

}  // namespace

const OnnxHandlers& onnx_layers() {
  static const OnnxHandlers handlers = {{"MatMul", matmul},
                                        {"Gemm", gemm},
                                        {"Conv", convolution},
                                        {"ConvTranspose", transposed_convolution},
                                        {"MaxPool", maximum_pool},
                                        {"AveragePool", average_pool},
                                        {"GlobalAveragePool", global_pool},
                                        {"GlobalMaxPool", global_pool},
                                        {"BatchNormalization", batch_norm},
                                        {"LayerNormalization", layer_norm},
                                        {"InstanceNormalization", group_norm},
                                        {"GroupNormalization", group_norm}};
  return handlers;
}

}  // namespace podsim
