// LayerBuilder: the layers that model families are made of (dense, convolution, norms, activations, …) as operators,
// with names, shapes, weights and outline keys filled in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

struct DenseLayer {
  std::int64_t columns = 0;
  bool bias = true;
  std::string tied_to;  // weight whose transpose is used; "": an own weight
  std::int64_t serial_splits = 1;
  bool flatten = false;  // all extents but the first are one row; otherwise the last extent is
  Split split = Split::None;
};

struct ConvolutionLayer {
  std::int64_t channels = 0;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride = 1;
  std::int64_t padding_height = 0, padding_width = 0;
  std::int64_t groups = 1;
  bool bias = false;
};

[[nodiscard]] ConvolutionLayer square_convolution(std::int64_t channels, std::int64_t kernel, std::int64_t stride = 1,
                                                  std::int64_t groups = 1);  // padding (kernel - 1) / 2, no bias

struct PoolLayer {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
  bool maximum = true;
};

// Option "checkpoints", which LayerBuilder::finish() applies where a workload declares it.
[[nodiscard]] Option checkpoints_option();

// Adds layers to a graph, block after block. Layers return the vertex of their last operator, whose first output is
// the layer's. Operators that no trainable weight feeds are marked as not differentiable.
class LayerBuilder {
 public:
  using Vertex = WorkloadGraph::Vertex;

  LayerBuilder(std::string model, const WorkloadRequest& request);

  // Operators added from now on belong to the new block and are called "<name>/…". Blocks with the same non-empty
  // `outline` are alike: their operators get the keys "<outline>/…".
  void begin_block(const std::string& name, BlockRole role = BlockRole::Layer, int layer = -1,
                   const std::string& outline = {});

  Vertex input(const std::string& name, std::vector<std::int64_t> shape, ElementType type,
               InputRole role = InputRole::Sample);
  Vertex embedding(const std::string& name, Vertex ids, std::int64_t rows, std::int64_t width,
                   std::int64_t serial_splits = 1, Split split = Split::None);
  Vertex dense(const std::string& name, Vertex x, const DenseLayer& layer);
  Vertex dense(const std::string& name, Vertex x, std::int64_t columns, Split split = Split::None);
  // [groups, rows, inner] x [groups, inner, columns] of two activations.
  Vertex batched_matmul(const std::string& name, Vertex left, Vertex right, const MatMulShape& shape,
                        std::vector<std::int64_t> output);
  Vertex convolution(const std::string& name, Vertex x, const ConvolutionLayer& layer);
  Vertex layer_norm(const std::string& name, Vertex x);
  Vertex batch_norm(const std::string& name, Vertex x, std::int64_t replica_span = 1);
  Vertex group_norm(const std::string& name, Vertex x, std::int64_t groups);
  Vertex activation(const std::string& name, Vertex x, OperatorKind kind);
  Vertex softmax(const std::string& name, Vertex x);
  Vertex dropout(const std::string& name, Vertex x, double probability);  // x itself in inference or with 0
  Vertex add(const std::string& name, Vertex left, Vertex right);
  // One output of the first operand's shape.
  Vertex elementwise(const std::string& name, const std::vector<Vertex>& operands, double operations_per_element = 1,
                     std::int64_t weight_elements = 0);
  // The same as operators of the framework's graph, one after the other.
  Vertex functions(const std::string& name, const std::vector<Vertex>& operands,
                   std::vector<ElementFunction> functions);
  // The same where the first operand is broadcast to a shape.
  Vertex functions(const std::string& name, const std::vector<Vertex>& operands, std::vector<ElementFunction> functions,
                   std::vector<std::int64_t> shape);
  Vertex pool(const std::string& name, Vertex x, const PoolLayer& layer);
  Vertex global_pool(const std::string& name, Vertex x);  // mean over height and width
  // Data of x in another layout or a part of it: Transpose, Slice, Concat, Gather, …
  Vertex rearrange(const std::string& name, OperatorKind kind, const std::vector<Vertex>& operands,
                   std::vector<std::int64_t> shape);
  // Mean cross entropy of logits: softmax and loss, fp32.
  Vertex cross_entropy(const std::string& name, Vertex logits, Vertex labels);
  Vertex loss(const std::string& name, const std::vector<Vertex>& operands);
  Vertex emit(const std::string& name, Operator op, const std::vector<Vertex>& producers);

  void mark_result(Vertex vertex);  // goes to the host
  [[nodiscard]] const Tensor& tensor(Vertex vertex) const;
  [[nodiscard]] Operator& at(Vertex vertex) { return workload_->graph[vertex]; }
  [[nodiscard]] const WorkloadRequest& request() const { return request_; }
  [[nodiscard]] WorkloadGraph& graph() { return *workload_; }
  [[nodiscard]] std::string full_name(const std::string& name) const { return prefix_ + "/" + name; }

  // Marks the checkpoints of the option "checkpoints", checks the graph and hands it over.
  [[nodiscard]] std::unique_ptr<WorkloadGraph> finish();

 private:
  void mark_checkpoints();
  void mark_checkpoint(const std::string& name);
  [[nodiscard]] Weight weight(const std::string& name, std::int64_t elements) const;
  Vertex norm(const std::string& name, Vertex x, OperatorKind kind, const NormShape& shape, std::int64_t channels);
  Vertex bias(const std::string& name, Vertex x, std::int64_t elements);

  const WorkloadRequest& request_;
  std::unique_ptr<WorkloadGraph> workload_;
  std::string prefix_;
  std::string outline_;
};

}  // namespace podsim
