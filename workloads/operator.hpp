// Operators of a workload graph: what is computed, on which shapes, with which weights. All sizes are
// per micro-batch of one replica. Nothing here knows about tiles or time.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "simulator/core/collective_kind.hpp"
#include "simulator/core/element_type.hpp"

namespace podsim {

enum class OperatorKind : std::uint8_t {
  Input,            // host data: samples or labels
  MatMul,           // MatMulShape; right operand a weight or an activation (batched, attention)
  Convolution,      // ConvolutionShape
  EmbeddingGather,  // GatherShape; rows of a weight table
  LayerNorm,        // NormShape
  GroupNorm,
  BatchNorm,
  Softmax,
  Gelu,
  Relu,
  Swish,
  Tanh,
  Sigmoid,
  Dropout,
  Elementwise,  // add, multiply, mask, bias, …
  Pooling,      // PoolShape
  Reduction,
  Transpose,  // rearrangement of data between tiles
  Concat,
  Slice,
  Loss,
  Gather,    // GatherShape; rows of an activation (graph nets)
  Scatter,   // GatherShape; add rows into an activation
  TopK,      // TopKShape; the largest elements of each row and their indices, sorted
  CtcLoss,   // CtcShape; connectionist temporal classification of log probabilities, with its gradient
  Profiled,  // a whole stage with given times (workload stage_times)
};

[[nodiscard]] std::string_view name_of(OperatorKind kind);

// Arithmetic of elementwise operators that differs in cost.
enum class ElementFunction : std::uint8_t {
  Absolute,
  Add,
  Compare,
  Cosine,
  Divide,
  Exponent,
  LogicalOr,
  LogOnePlus,
  Logarithm,
  Maximum,
  Multiply,
  Negate,
  Select,
  Signum,
  Square,
  SquareRoot,
  Subtract,
};

[[nodiscard]] std::string_view name_of(ElementFunction function);
[[nodiscard]] const std::vector<ElementFunction>& element_functions();  // all of them
// What the chain rule multiplies a gradient with, in the order of computation; empty where it passes unchanged.
[[nodiscard]] std::vector<ElementFunction> gradient_functions(ElementFunction function);

struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape;
  ElementType type = ElementType::Float16;

  [[nodiscard]] std::int64_t elements() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  [[nodiscard]] std::int64_t bytes() const { return elements() * bytes_of(type); }
};

struct Weight {
  std::string name;
  std::int64_t elements = 0;
  ElementType type = ElementType::Float16;
  bool trainable = true;          // false: moving averages and the like; no gradient, no optimiser state
  std::string tied_to{};          // the weight whose storage this one shares (BERT's word embedding); counted once
  bool partial_gradient = false;  // each IPU of the stage has a part of its gradient's sum (domain sharding)
};

// groups x [rows, inner] x [inner, columns].
struct MatMulShape {
  std::int64_t groups = 1;
  std::int64_t rows = 0;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  bool right_is_weight = true;  // false: both operands are activations, each needs a gradient
};

// Direct convolution over NHWC data; `transposed` exchanges the roles of input and output.
struct ConvolutionShape {
  std::int64_t batch = 1;
  std::int64_t in_height = 1, in_width = 1, in_channels = 1;
  std::int64_t out_height = 1, out_width = 1, out_channels = 1;
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t padding_height = 0, padding_width = 0;
  std::int64_t groups = 1;
  bool transposed = false;
};

struct GatherShape {
  std::int64_t lookups = 0;  // rows fetched or added per micro-batch
  std::int64_t rows = 0;     // rows of the table
  std::int64_t width = 0;    // elements of a row
};

struct NormShape {
  std::int64_t groups = 0;        // independent statistics
  std::int64_t elements = 0;      // elements in each group
  std::int64_t replica_span = 1;  // batch norm statistics shared by this many replicas
};

struct TopKShape {
  std::int64_t rows = 0;      // sorted one by one
  std::int64_t elements = 0;  // candidates of a row
  std::int64_t k = 0;         // kept of them
};

// Labels out of the log probabilities of `classes` at each time step.
struct CtcShape {
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t labels = 0;   // of the longest sequence, blanks not counted
  std::int64_t classes = 0;  // the blank included
};

struct PoolShape {
  std::int64_t out_elements = 0;
  std::int64_t window = 1;  // elements read for each output
  std::int64_t stride = 1;  // product of the strides
  bool maximum = true;
};

// Measured times of a whole stage, seconds per micro-batch.
struct ProfiledTimes {
  double forward_seconds = 0;
  double backward_seconds = 0;
  double recompute_seconds = 0;
  double weight_update_seconds = 0;
};

using OperatorShape = std::variant<std::monostate, MatMulShape, ConvolutionShape, GatherShape, NormShape, PoolShape,
                                   TopKShape, CtcShape, ProfiledTimes>;

enum class InputRole : std::uint8_t { None, Sample, Label };

// How a matmul or an embedding is divided over the IPUs of its stage (tensor parallel: Shoeybi et al. 2019,
// "Megatron-LM", section 3). Columns: each IPU has a part of the outputs' features. Heads: the same, where the output
// has these features in front, as groups. Rows: each has a part of what is summed over (of an embedding: of the
// vocabulary), and an all-reduce adds the parts up.
enum class Split : std::uint8_t { None, Columns, Heads, Rows };

// Among the IPUs of a stage, once per micro-batch.
struct StageCollective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  double bytes = 0;        // of the full tensor on each IPU
  std::int64_t count = 1;  // so many of them
};

struct Operator {
  std::string name;  // unique in its graph: "encoder/3/attention/query"
  OperatorKind kind = OperatorKind::Elementwise;
  OperatorShape shape;
  std::vector<Tensor> inputs;   // activations read
  std::vector<Tensor> outputs;  // activations written
  std::vector<Weight> weights;
  int block = 0;                           // index into WorkloadGraph::blocks
  int layer = -1;                          // of the block; blocks of one layer have the same one; -1: none
  InputRole input_role = InputRole::None;  // for kind Input
  double operations_per_element = 1;       // Elementwise, Reduction: arithmetic operations for each element
  // Elementwise, instead of operations_per_element: operators of the framework's graph, one after the other, each a
  // vertex that reads and writes all elements.
  std::vector<ElementFunction> functions{};
  std::int64_t serial_splits = 1;  // run in this many serial steps (embedding or projection serialisation)
  bool result = false;             // its outputs go to the host, according to the output mode
  bool checkpoint = false;         // named recomputation checkpoint: output stashed
  bool differentiable = true;      // false: no backward pass reaches it
  bool recomputable = true;
  std::string outline_key;    // operators with equal non-empty keys share code when outlined
  Split split = Split::None;  // where several IPUs share the work of a stage (WorkloadGraph::ipus_per_stage)
  // Of the share of one IPU (tensor_parallel.hpp):
  bool divided = false;                               // its outputs are parts, on each IPU of the stage another one
  std::vector<StageCollective> forward_collectives;   // with its forward pass
  std::vector<StageCollective> backward_collectives;  // with its backward pass, of the gradients of its inputs

  // Multiply-accumulate floating-point operations of the forward pass (2 per MAC) done on the AMP units.
  [[nodiscard]] double forward_amp_flops() const;
  [[nodiscard]] std::int64_t output_elements() const;
  [[nodiscard]] std::int64_t output_bytes() const;
  [[nodiscard]] std::int64_t weight_elements() const;  // tied weights included
  // A text equal for operators that lower in the same way (kind, shapes, types, splits; not the name).
  [[nodiscard]] std::string signature() const;
};

// State tensors and arithmetic of an optimiser.
struct Optimizer {
  std::string name;                      // "sgd", "momentum", "adam", "adamw", "lamb", "lars"
  int states_per_weight = 0;             // state tensors with one element for each weight
  std::vector<ElementType> state_types;  // one for each of them
  double operations_per_weight = 1;      // elementwise operations of one update
  int norms_per_weight_tensor = 0;       // whole-tensor norms (LAMB, LARS: 2)
  ElementType accumulator_type = ElementType::Float16;
};

}  // namespace podsim
