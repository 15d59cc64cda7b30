// Names, blocks, host inputs and weights of an ONNX model while its nodes become operators.
#include "workloads/onnx_graph.hpp"

#include <algorithm>
#include <numeric>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr double kMostElements = 1e15;

OnnxShape image_layout(const OnnxShape& shape) { return {shape[0], shape[2], shape[3], shape[1]}; }

std::string without_leading_slash(const std::string& name) {
  const std::size_t start = name.find_first_not_of('/');
  return start == std::string::npos ? std::string{} : name.substr(start);
}

}  // namespace

std::int64_t OnnxValue::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

OnnxGraph::OnnxGraph(const OnnxModel& model, const WorkloadRequest& request,
                     const std::map<std::string, std::int64_t>& sizes, std::string where)
    : model_(model), request_(request), where_(std::move(where)), builder_("onnx", request) {
  if (!model.name.empty()) builder_.graph().model = "onnx " + model.name;
  for (const auto& [name, parameter] : model.parameters) {
    values_[name] = {parameter.shape,  parameter.floating, {}, name, parameter.integers,
                     parameter.number, parameter.numbers};
  }
  add_inputs(sizes);
}

void OnnxGraph::add_inputs(const std::map<std::string, std::int64_t>& sizes) {
  std::set<std::string> symbols;
  for (const OnnxInput& input : model_.inputs) {
    values_[input.name] = {shape_of(input, sizes), input.floating, {}, {}, {}, {}};
    host_inputs_.insert(input.name);
    for (const OnnxExtent& extent : input.shape) symbols.insert(extent.symbol);
  }
  for (const auto& entry : sizes) {
    if (symbols.contains(entry.first)) continue;
    const std::string nearest = nearest_name(entry.first, {symbols.begin(), symbols.end()});
    throw UserError(where_, "no input has a size called \"" + entry.first + "\"",
                    nearest.empty() ? "remove it from dimensions" : "did you mean \"" + nearest + "\"?");
  }
}

OnnxShape OnnxGraph::shape_of(const OnnxInput& input, const std::map<std::string, std::int64_t>& sizes) const {
  OnnxShape shape;
  for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
    const OnnxExtent& extent = input.shape[axis];
    const auto given = sizes.find(extent.symbol);
    if (given != sizes.end() && !extent.symbol.empty()) {
      shape.push_back(given->second);
    } else if (extent.number > 1 && input.shape.size() == 1 && !input.floating) {
      shape.push_back(extent.number);  // a list of sizes or positions, not of samples
    } else if (axis == 0 && (extent.number <= 1 || extent.number == request_.micro_batch_size)) {
      shape.push_back(request_.micro_batch_size);  // free, or exported with a batch of one
    } else if (axis == 0) {
      throw UserError(where_,
                      "input \"" + input.name + "\" has a fixed batch of " + std::to_string(extent.number) +
                          ", but micro_batch_size is " + std::to_string(request_.micro_batch_size),
                      "use that micro_batch_size, or export with a batch of 1 or a dynamic axis");
    } else if (extent.number > 0) {
      shape.push_back(extent.number);
    } else {
      throw UserError(where_,
                      "size " + std::to_string(axis) + " of input \"" + input.name + "\" is " +
                          (extent.symbol.empty() ? "not in the file" : "free (\"" + extent.symbol + "\")"),
                      extent.symbol.empty() ? "export the model with it"
                                            : "give it: \"dimensions\": {\"" + extent.symbol + "\": 128}");
    }
  }
  return shape;
}

void OnnxGraph::begin_block(const std::string& name) {
  builder_.begin_block(without_leading_slash(name));
  block_has_layer_ = false;
  ++blocks_;
}

void OnnxGraph::begin_node(const OnnxNode& node, std::size_t index) {
  node_ = &node;
  node_name_ = without_leading_slash(node.name);
  if (node_name_.empty()) node_name_ = node.operation + "_" + std::to_string(index);
}

void OnnxGraph::begin_layer() {
  if (block_has_layer_ && !blocks_are_given_) begin_block("layer" + std::to_string(blocks_));
  block_has_layer_ = true;
}

const OnnxValue* OnnxGraph::input(std::size_t i) {
  if (i >= node_->inputs.size() || node_->inputs[i].empty()) return nullptr;
  const auto found = values_.find(node_->inputs[i]);
  if (found == values_.end()) {
    fail("reads \"" + node_->inputs[i] + "\", which no earlier node makes", "export the model again");
  }
  return &found->second;
}

const OnnxValue& OnnxGraph::required(std::size_t i) {
  const OnnxValue* value = input(i);
  if (value == nullptr) fail("lacks input " + std::to_string(i), "export the model again");
  return *value;
}

bool OnnxGraph::is_activation(std::size_t i) {
  return required(i).vertex.has_value() || host_inputs_.contains(node_->inputs[i]);
}

std::vector<std::int64_t> OnnxGraph::integers(std::size_t i, const std::string& attribute) {
  if (const OnnxValue* value = input(i)) {
    if (!value->integers) {
      fail("needs input \"" + node_->inputs[i] + "\", which is only known when the model runs",
           "export with fixed shapes and constant folding");
    }
    return *value->integers;
  }
  return attribute.empty() ? std::vector<std::int64_t>{} : node_->integers(attribute);
}

OnnxGraph::Vertex OnnxGraph::activation(std::size_t i) {
  const OnnxValue& value = required(i);
  if (value.vertex) return *value.vertex;
  const std::string& name = node_->inputs[i];
  if (!host_inputs_.contains(name)) {
    fail("reads \"" + name + "\" as an activation, but it is a constant", "export with constant folding");
  }
  const OnnxShape shape = value.rank() == 4 && value.floating ? image_layout(value.shape) : value.shape;
  const Vertex vertex = builder_.input(unique(without_leading_slash(name)), shape, tensor({}, value.floating).type);
  values_[name].vertex = vertex;
  return vertex;
}

// A damaged attribute shows in the sizes that follow from it.
void OnnxGraph::check_shape(const OnnxShape& shape, bool may_be_empty) const {
  double elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < (may_be_empty ? 0 : 1)) {
      fail("makes a tensor with a dimension of " + std::to_string(extent),
           "check the sizes, or export the model again");
    }
    elements *= static_cast<double>(extent);
  }
  if (elements > kMostElements) fail("makes a tensor of more than 10^15 elements", "check the sizes of the inputs");
}

void OnnxGraph::define(OnnxValue value, std::size_t output) {
  check_shape(value.shape, !value.vertex.has_value());
  if (output < node_->outputs.size()) values_[node_->outputs[output]] = std::move(value);
}

OnnxGraph::Vertex OnnxGraph::emit(Operator op, const std::vector<Vertex>& producers, const std::string& part) {
  for (const Tensor& output : op.outputs) check_shape(output.shape, false);
  for (const Weight& weight : op.weights) check_shape({weight.elements}, false);
  return builder_.emit(unique(node_name_ + part), std::move(op), producers);
}

void OnnxGraph::define_activation(Vertex vertex, OnnxShape shape, std::size_t output) {
  const bool floating = builder_.tensor(vertex).type != ElementType::Int32;
  define({std::move(shape), floating, vertex, {}, {}, {}}, output);
}

Tensor OnnxGraph::tensor(OnnxShape shape, bool floating) const {
  return {"", std::move(shape), floating ? request_.precision : ElementType::Int32};
}

OnnxShape OnnxGraph::layout_like(const OnnxValue& value, const OnnxShape& shape) const {
  if (!value.vertex) return shape;
  const OnnxShape& layout = builder_.tensor(*value.vertex).shape;
  if (shape == value.shape) return layout;
  const bool image = value.rank() == 4 && shape.size() == 4 && layout == image_layout(value.shape);
  return image ? image_layout(shape) : shape;
}

// A parameter is stored once and whole, whatever part or repetition of it is read: further readers are tied to the
// first.
Weight OnnxGraph::weight(const OnnxValue& value, bool trainable) {
  const std::string fallback = builder_.full_name(node_name_ + "/constant");
  const std::string name = value.parameter.empty() ? fallback : value.parameter;
  const auto whole = model_.parameters.find(value.parameter);
  const std::int64_t elements = whole == model_.parameters.end() ? value.elements() : whole->second.elements();
  Weight weight{name, elements, request_.precision, trainable && !value.parameter.empty(), ""};
  for (int copy = 2; !weights_.insert(weight.name).second; ++copy) {
    weight.name = name + "@" + std::to_string(copy);
    if (!value.parameter.empty()) weight.tied_to = name;
  }
  return weight;
}

const OnnxValue& OnnxGraph::result(const std::string& name) {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    throw UserError(where_, "no node makes the output \"" + name + "\"", "export the model again");
  }
  return found->second;
}

std::string OnnxGraph::unique(const std::string& name) {
  std::string chosen = name;
  for (int copy = 2; !names_.insert(builder_.full_name(chosen)).second; ++copy) {
    chosen = name + "_" + std::to_string(copy);
  }
  return chosen;
}

void OnnxGraph::fail(const std::string& problem, const std::string& remedy) const {
  throw UserError(where_, "node \"" + node_name_ + "\" (" + node_->operation + ") " + problem, remedy);
}

std::optional<OnnxShape> broadcast(const OnnxShape& left, const OnnxShape& right) {
  OnnxShape result = left.size() >= right.size() ? left : right;
  const OnnxShape& shorter = left.size() >= right.size() ? right : left;
  for (std::size_t i = 1; i <= shorter.size(); ++i) {
    std::int64_t& extent = result[result.size() - i];
    const std::int64_t other = shorter[shorter.size() - i];
    if (extent != other && extent != 1 && other != 1) return std::nullopt;
    extent = extent == 1 ? other : extent;
  }
  return result;
}

std::size_t onnx_axis(const OnnxGraph& graph, std::int64_t axis, std::size_t rank) {
  const auto extents = static_cast<std::int64_t>(rank);
  const std::int64_t counted = axis < 0 ? axis + extents : axis;
  if (counted < 0 || counted >= extents) {
    graph.fail("has axis " + std::to_string(axis) + " on a tensor of " + std::to_string(rank) + " dimensions",
               "export the model again");
  }
  return static_cast<std::size_t>(counted);
}

}  // namespace podsim
