// OnnxGraph: what the operators of an ONNX model are added to, one node after the other: known values, names, weights.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workloads/layers.hpp"
#include "workloads/onnx_file.hpp"

namespace podsim {

using OnnxShape = std::vector<std::int64_t>;

// What a name stands for: an activation (with a vertex), or something that is known before the run: a parameter, a
// constant, a shape that is computed with.
struct OnnxValue {
  OnnxShape shape;  // as in ONNX: images are NCHW, while their vertices hold NHWC
  bool floating = true;
  std::optional<WorkloadGraph::Vertex> vertex{};
  std::string parameter{};                              // the parameter that holds the data, as it is or rearranged
  std::optional<std::vector<std::int64_t>> integers{};  // known contents
  std::optional<double> number{};
  std::vector<double> numbers{};  // of a few, where known

  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
};

class OnnxGraph {
 public:
  using Vertex = WorkloadGraph::Vertex;

  // `sizes`: of the inputs' symbolic extents other than the batch. `where`: of the file's name, for messages.
  OnnxGraph(const OnnxModel& model, const WorkloadRequest& request, const std::map<std::string, std::int64_t>& sizes,
            std::string where);

  [[nodiscard]] LayerBuilder& builder() { return builder_; }
  [[nodiscard]] const WorkloadRequest& request() const { return request_; }
  [[nodiscard]] std::int64_t opset() const { return model_.opset; }

  // Begins node number `index`; a node that has weights may begin a block.
  void begin_node(const OnnxNode& node, std::size_t index);
  void begin_block(const std::string& name);
  // Says that the current node is a layer with weights: in a model without given blocks it begins the next one.
  void begin_layer();
  void use_given_blocks() { blocks_are_given_ = true; }

  // Input number i of the current node; null where it is left out.
  [[nodiscard]] const OnnxValue* input(std::size_t i);
  [[nodiscard]] const OnnxValue& required(std::size_t i);
  [[nodiscard]] bool is_activation(std::size_t i);  // only known when the model runs
  [[nodiscard]] std::size_t inputs() const { return node_->inputs.size(); }
  [[nodiscard]] const OnnxNode& node() const { return *node_; }
  // The known integers of an input, or of the attribute that older operator sets have in its place; empty: neither.
  [[nodiscard]] std::vector<std::int64_t> integers(std::size_t i, const std::string& attribute);
  // The vertex of an activation, or of a host input, which is added when it is first read.
  [[nodiscard]] Vertex activation(std::size_t i);

  // Fails for shapes that no tensor has.
  void define(OnnxValue value, std::size_t output = 0);
  // An operator named after the node (and `part` of it), whose result has the ONNX shape; the tensor may be laid out in
  // another way (NHWC).
  Vertex emit(Operator op, const std::vector<Vertex>& producers, const std::string& part = {});
  void define_activation(Vertex vertex, OnnxShape shape, std::size_t output = 0);

  // A tensor of the workload's precision or of integers.
  [[nodiscard]] Tensor tensor(OnnxShape shape, bool floating = true) const;
  // The layout of an activation of `shape`, where the value it is made from is an image: NHWC.
  [[nodiscard]] OnnxShape layout_like(const OnnxValue& value, const OnnxShape& shape) const;
  [[nodiscard]] Weight weight(const OnnxValue& value, bool trainable = true);

  // The result of output number i of the model, a value that a node has made.
  [[nodiscard]] const OnnxValue& result(const std::string& name);
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

 private:
  void add_inputs(const std::map<std::string, std::int64_t>& sizes);
  [[nodiscard]] OnnxShape shape_of(const OnnxInput& input, const std::map<std::string, std::int64_t>& sizes) const;
  void check_shape(const OnnxShape& shape, bool may_be_empty) const;
  [[nodiscard]] std::string unique(const std::string& name);

  const OnnxModel& model_;
  const WorkloadRequest& request_;
  std::string where_;
  LayerBuilder builder_;
  std::map<std::string, OnnxValue> values_;
  std::set<std::string> host_inputs_, names_, weights_;
  const OnnxNode* node_ = nullptr;
  std::string node_name_;
  bool blocks_are_given_ = false;
  bool block_has_layer_ = false;
  int blocks_ = 0;
};

// How a node becomes operators: reads the inputs of the graph's current node and defines its outputs.
using OnnxHandler = void (*)(OnnxGraph&);
using OnnxHandlers = std::map<std::string, OnnxHandler>;

[[nodiscard]] const OnnxHandlers& onnx_layers();       // matmul, convolution, embedding, norms, pooling
[[nodiscard]] const OnnxHandlers& onnx_elementwise();  // activations, arithmetic, reductions
[[nodiscard]] const OnnxHandlers& onnx_shapes();       // constants, shapes, views, parts and joins
[[nodiscard]] const OnnxHandlers& onnx_images();       // other sizes of images
[[nodiscard]] const OnnxHandlers& onnx_einsum();

// Shape of two values that are combined element by element, as numpy broadcasts. Empty: they do not go together.
[[nodiscard]] std::optional<OnnxShape> broadcast(const OnnxShape& left, const OnnxShape& right);
// An axis counted from the end where it is negative; fails where it is none.
[[nodiscard]] std::size_t onnx_axis(const OnnxGraph& graph, std::int64_t axis, std::size_t rank);

// Replaces x/sqrt(2) -> Erf -> +1 -> *x -> *0.5, as exporters write it, by one node "Gelu".
void fuse_gelu(OnnxModel& model);

}  // namespace podsim
