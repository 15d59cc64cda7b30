// Shapes, weights and names of the layers.
#include "workloads/layers.hpp"

#include <algorithm>
#include <utility>

#include "simulator/core/error.hpp"
#include "workloads/domain_sharding.hpp"

namespace podsim {

namespace {

// NHWC.
struct ImageShape {
  std::int64_t batch, height, width, channels;
};

ImageShape image_shape(const Tensor& tensor) {
  if (tensor.shape.size() != 4) throw InternalError("\"" + tensor.name + "\" is not an image tensor (NHWC)");
  return {tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]};
}

std::int64_t output_extent(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const std::int64_t reach = input + 2 * padding - kernel;
  return reach < 0 ? 0 : reach / stride + 1;
}

void require_output(const std::string& name, std::int64_t height, std::int64_t width) {
  if (height > 0 && width > 0) return;
  throw UserError("workload operator " + name, "the input is smaller than the kernel", "use larger images");
}

}  // namespace

ConvolutionLayer square_convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                                    std::int64_t groups) {
  const std::int64_t padding = (kernel - 1) / 2;
  return {channels, kernel, kernel, stride, padding, padding, groups, false};
}

Option checkpoints_option() {
  return {"checkpoints", OptionType::Texts, Value(Value::Array{}),
          "Operators, or blocks for their last operator, whose outputs recomputation \"named\" keeps."};
}

LayerBuilder::LayerBuilder(std::string model, const WorkloadRequest& request)
    : request_(request), workload_(std::make_unique<WorkloadGraph>()) {
  workload_->model = std::move(model);
  workload_->samples_per_micro_batch = request.micro_batch_size;
  set_sharing(request, *workload_);
}

void LayerBuilder::begin_block(const std::string& name, BlockRole role, int layer, const std::string& outline) {
  workload_->blocks.push_back({name, role, layer, -1});
  prefix_ = name;
  outline_ = outline;
}

LayerBuilder::Vertex LayerBuilder::emit(const std::string& name, Operator op, const std::vector<Vertex>& producers) {
  if (workload_->blocks.empty()) throw InternalError("operator \"" + name + "\" before the first block");
  op.name = full_name(name);
  op.block = static_cast<int>(workload_->blocks.size()) - 1;
  op.layer = workload_->blocks.back().layer;
  if (!outline_.empty()) op.outline_key = outline_ + "/" + name;
  for (std::size_t index = 0; index < op.outputs.size(); ++index) {
    op.outputs[index].name = op.name + (index == 0 ? "" : ":" + std::to_string(index));
  }
  const bool trained = std::any_of(op.weights.begin(), op.weights.end(), [](const Weight& w) { return w.trainable; });
  const bool reached = std::any_of(producers.begin(), producers.end(),
                                   [this](Vertex producer) { return workload_->graph[producer].differentiable; });
  op.differentiable = trained || reached;
  return workload_->add(std::move(op), producers);
}

Weight LayerBuilder::weight(const std::string& name, std::int64_t elements) const {
  return {full_name(name), elements, request_.precision, true, ""};
}

const Tensor& LayerBuilder::tensor(Vertex vertex) const { return workload_->graph[vertex].outputs.front(); }

void LayerBuilder::mark_result(Vertex vertex) { at(vertex).result = true; }

LayerBuilder::Vertex LayerBuilder::input(const std::string& name, std::vector<std::int64_t> shape, ElementType type,
                                         InputRole role) {
  Operator op;
  op.kind = OperatorKind::Input;
  op.input_role = role;
  op.outputs = {{"", std::move(shape), type}};
  op.recomputable = false;
  return emit(name, std::move(op), {});
}

LayerBuilder::Vertex LayerBuilder::embedding(const std::string& name, Vertex ids, std::int64_t rows, std::int64_t width,
                                             std::int64_t serial_splits, Split split) {
  Operator op;
  op.kind = OperatorKind::EmbeddingGather;
  const Tensor& indices = tensor(ids);
  op.shape = GatherShape{indices.elements(), rows, width};
  std::vector<std::int64_t> shape = indices.shape;
  shape.push_back(width);
  op.outputs = {{"", std::move(shape), request_.precision}};
  op.weights = {weight(name + "/weight", rows * width)};
  op.serial_splits = serial_splits;
  op.split = split;
  return emit(name, std::move(op), {ids});
}

LayerBuilder::Vertex LayerBuilder::bias(const std::string& name, Vertex x, std::int64_t elements) {
  return elementwise(name, {x}, 1, elements);
}

LayerBuilder::Vertex LayerBuilder::dense(const std::string& name, Vertex x, std::int64_t columns, Split split) {
  DenseLayer layer;
  layer.columns = columns;
  layer.split = split;
  return dense(name, x, layer);
}

LayerBuilder::Vertex LayerBuilder::dense(const std::string& name, Vertex x, const DenseLayer& layer) {
  const Tensor& from = tensor(x);
  const std::int64_t rows = layer.flatten ? from.shape.front() : from.elements() / from.shape.back();
  const std::int64_t inner = from.elements() / rows;
  Operator op;
  op.kind = OperatorKind::MatMul;
  op.shape = MatMulShape{1, rows, inner, layer.columns, true};
  std::vector<std::int64_t> shape = layer.flatten ? std::vector<std::int64_t>{rows, inner} : from.shape;
  shape.back() = layer.columns;
  op.outputs = {{"", std::move(shape), request_.precision}};
  op.weights = {weight(name + "/weight", inner * layer.columns)};
  op.weights.front().tied_to = layer.tied_to;
  op.serial_splits = layer.serial_splits;
  op.split = layer.split;
  const Vertex product = emit(name, std::move(op), {x});
  return layer.bias ? bias(name + "/bias", product, layer.columns) : product;
}

LayerBuilder::Vertex LayerBuilder::batched_matmul(const std::string& name, Vertex left, Vertex right,
                                                  const MatMulShape& shape, std::vector<std::int64_t> output) {
  Operator op;
  op.kind = OperatorKind::MatMul;
  op.shape = shape;
  op.outputs = {{"", std::move(output), request_.precision}};
  return emit(name, std::move(op), {left, right});
}

LayerBuilder::Vertex LayerBuilder::convolution(const std::string& name, Vertex x, const ConvolutionLayer& layer) {
  const ImageShape from = image_shape(tensor(x));
  ConvolutionShape shape;
  shape.batch = from.batch;
  shape.in_height = from.height;
  shape.in_width = from.width;
  shape.in_channels = from.channels;
  shape.out_height = output_extent(from.height, layer.kernel_height, layer.stride, layer.padding_height);
  shape.out_width = output_extent(from.width, layer.kernel_width, layer.stride, layer.padding_width);
  require_output(full_name(name), shape.out_height, shape.out_width);
  shape.out_channels = layer.channels;
  shape.kernel_height = layer.kernel_height;
  shape.kernel_width = layer.kernel_width;
  shape.stride_height = shape.stride_width = layer.stride;
  shape.padding_height = layer.padding_height;
  shape.padding_width = layer.padding_width;
  shape.groups = layer.groups;
  Operator op;
  op.kind = OperatorKind::Convolution;
  op.outputs = {{"", {from.batch, shape.out_height, shape.out_width, layer.channels}, request_.precision}};
  op.weights = {weight(name + "/weight",
                       layer.kernel_height * layer.kernel_width * from.channels * layer.channels / layer.groups)};
  op.shape = shape;
  const Vertex product = emit(name, std::move(op), {x});
  return layer.bias ? bias(name + "/bias", product, layer.channels) : product;
}

LayerBuilder::Vertex LayerBuilder::norm(const std::string& name, Vertex x, OperatorKind kind, const NormShape& shape,
                                        std::int64_t channels) {
  Operator op;
  op.kind = kind;
  op.shape = shape;
  op.outputs = {tensor(x)};
  op.weights = {weight(name + "/scale", channels), weight(name + "/offset", channels)};
  if (kind == OperatorKind::BatchNorm) {
    for (const char* statistic : {"/moving_mean", "/moving_variance"}) {
      op.weights.push_back(weight(name + statistic, channels));
      op.weights.back().trainable = false;
    }
  }
  return emit(name, std::move(op), {x});
}

LayerBuilder::Vertex LayerBuilder::layer_norm(const std::string& name, Vertex x) {
  const Tensor& from = tensor(x);
  const std::int64_t width = from.shape.back();
  return norm(name, x, OperatorKind::LayerNorm, {from.elements() / width, width, 1}, width);
}

LayerBuilder::Vertex LayerBuilder::batch_norm(const std::string& name, Vertex x, std::int64_t replica_span) {
  const Tensor& from = tensor(x);
  const std::int64_t channels = from.shape.back();
  return norm(name, x, OperatorKind::BatchNorm, {channels, from.elements() / channels, replica_span}, channels);
}

LayerBuilder::Vertex LayerBuilder::group_norm(const std::string& name, Vertex x, std::int64_t groups) {
  const Tensor& from = tensor(x);
  const std::int64_t statistics = from.shape.front() * groups;
  return norm(name, x, OperatorKind::GroupNorm, {statistics, from.elements() / statistics, 1}, from.shape.back());
}

LayerBuilder::Vertex LayerBuilder::activation(const std::string& name, Vertex x, OperatorKind kind) {
  Operator op;
  op.kind = kind;
  op.outputs = {tensor(x)};
  return emit(name, std::move(op), {x});
}

LayerBuilder::Vertex LayerBuilder::softmax(const std::string& name, Vertex x) {
  const Tensor& from = tensor(x);
  Operator op;
  op.kind = OperatorKind::Softmax;
  op.shape = NormShape{from.elements() / from.shape.back(), from.shape.back(), 1};
  op.outputs = {from};
  return emit(name, std::move(op), {x});
}

LayerBuilder::Vertex LayerBuilder::dropout(const std::string& name, Vertex x, double probability) {
  if (!request_.training || probability <= 0) return x;
  return activation(name, x, OperatorKind::Dropout);
}

LayerBuilder::Vertex LayerBuilder::add(const std::string& name, Vertex left, Vertex right) {
  return elementwise(name, {left, right});
}

LayerBuilder::Vertex LayerBuilder::elementwise(const std::string& name, const std::vector<Vertex>& operands,
                                               double operations_per_element, std::int64_t weight_elements) {
  Operator op;
  op.kind = OperatorKind::Elementwise;
  op.outputs = {tensor(operands.front())};
  op.outputs.front().type =
      at(operands.front()).kind == OperatorKind::Input ? request_.precision : op.outputs.front().type;
  op.operations_per_element = operations_per_element;
  if (weight_elements > 0) op.weights = {weight(name, weight_elements)};
  return emit(name, std::move(op), operands);
}

LayerBuilder::Vertex LayerBuilder::functions(const std::string& name, const std::vector<Vertex>& operands,
                                             std::vector<ElementFunction> functions) {
  const Vertex vertex = elementwise(name, operands);
  at(vertex).functions = std::move(functions);
  return vertex;
}

LayerBuilder::Vertex LayerBuilder::functions(const std::string& name, const std::vector<Vertex>& operands,
                                             std::vector<ElementFunction> functions, std::vector<std::int64_t> shape) {
  const Vertex vertex = this->functions(name, operands, std::move(functions));
  at(vertex).outputs.front().shape = std::move(shape);
  return vertex;
}

LayerBuilder::Vertex LayerBuilder::pool(const std::string& name, Vertex x, const PoolLayer& layer) {
  const ImageShape from = image_shape(tensor(x));
  const std::int64_t height = output_extent(from.height, layer.kernel, layer.stride, layer.padding);
  const std::int64_t width = output_extent(from.width, layer.kernel, layer.stride, layer.padding);
  require_output(full_name(name), height, width);
  Operator op;
  op.kind = OperatorKind::Pooling;
  op.outputs = {{"", {from.batch, height, width, from.channels}, request_.precision}};
  op.shape =
      PoolShape{op.outputs.front().elements(), layer.kernel * layer.kernel, layer.stride * layer.stride, layer.maximum};
  return emit(name, std::move(op), {x});
}

LayerBuilder::Vertex LayerBuilder::global_pool(const std::string& name, Vertex x) {
  const ImageShape from = image_shape(tensor(x));
  const std::int64_t window = from.height * from.width;
  Operator op;
  op.kind = OperatorKind::Pooling;
  op.shape = PoolShape{from.batch * from.channels, window, window, false};
  op.outputs = {{"", {from.batch, from.channels}, request_.precision}};
  return emit(name, std::move(op), {x});
}

LayerBuilder::Vertex LayerBuilder::rearrange(const std::string& name, OperatorKind kind,
                                             const std::vector<Vertex>& operands, std::vector<std::int64_t> shape) {
  Operator op;
  op.kind = kind;
  op.outputs = {{"", std::move(shape), tensor(operands.front()).type}};
  return emit(name, std::move(op), operands);
}

LayerBuilder::Vertex LayerBuilder::loss(const std::string& name, const std::vector<Vertex>& operands) {
  Operator op;
  op.kind = OperatorKind::Loss;
  op.outputs = {{"", {1}, ElementType::Float32}};
  return emit(name, std::move(op), operands);
}

LayerBuilder::Vertex LayerBuilder::cross_entropy(const std::string& name, Vertex logits, Vertex labels) {
  return loss(name + "/loss", {softmax(name + "/softmax", logits), labels});
}

// An operator by its name, else the last operator of the block with that name.
void LayerBuilder::mark_checkpoint(const std::string& name) {
  std::vector<std::string> known;
  Operator* found = nullptr;
  for (const Vertex vertex : boost::make_iterator_range(boost::vertices(workload_->graph))) {
    Operator& op = at(vertex);
    const std::string& block = workload_->blocks[static_cast<std::size_t>(op.block)].name;
    if (op.kind == OperatorKind::Input) continue;
    if (op.name == name || block == name) found = &op;
    known.push_back(op.name);
  }
  if (found != nullptr) {
    found->checkpoint = true;
    return;
  }
  for (const Block& block : workload_->blocks) known.push_back(block.name);
  const std::string nearest = nearest_name(name, known);
  throw UserError(request_.options.where("checkpoints"), "no operator or block \"" + name + "\"",
                  nearest.empty() ? "a block is, for instance, \"" + workload_->blocks.back().name + "\""
                                  : "did you mean \"" + nearest + "\"?");
}

void LayerBuilder::mark_checkpoints() {
  const Value::Object& values = request_.options.values();
  const bool declared =
      std::any_of(values.begin(), values.end(), [](const auto& entry) { return entry.first == "checkpoints"; });
  if (!declared) return;
  for (const std::string& name : request_.options.texts("checkpoints")) mark_checkpoint(name);
}

std::unique_ptr<WorkloadGraph> LayerBuilder::finish() {
  mark_checkpoints();
  workload_->validate();
  return std::move(workload_);
}

}  // namespace podsim
