// Follows the parts of divided tensors through the graph.
#include "workloads/tensor_parallel.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

constexpr double kStatisticBytes = 4;  // maxima and sums of a softmax are fp32

// The axis of a tensor of which each IPU has a part. First: groups, such as the heads of an attention; last: features.
enum class Axis : std::uint8_t { Whole, First, Last };

class Divider {
 public:
  explicit Divider(const WorkloadGraph& whole)
      : share_(whole), ipus_(whole.ipus_per_stage), axes_(boost::num_vertices(whole.graph)) {}

  WorkloadGraph run() {
    for (const Vertex vertex : share_.topological_order()) visit(vertex);
    if (!any_) {
      throw UserError("workload " + share_.model,
                      "no operator is divided, so " + std::to_string(ipus_) + " IPUs cannot share a stage",
                      "mark matmuls with \"split\": \"columns\" and \"rows\", or set tensor_parallel to 1");
    }
    check_tied_weights();
    return std::move(share_);
  }

 private:
  struct Read {
    Axis axis = Axis::Whole;
    bool gradient = false;  // a gradient of it is computed
  };

  void visit(Vertex vertex) {
    op_ = &share_.graph[vertex];
    reads_.clear();
    std::size_t input = 0;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(vertex, share_.graph))) {
      const Vertex producer = boost::source(edge, share_.graph);
      reads_.push_back({axes_[producer], share_.graph[producer].differentiable});
      op_->inputs[input++] = share_.graph[producer].outputs[static_cast<std::size_t>(share_.graph[edge].output)];
    }
    vertex_ = vertex;
    const Axis axis = output_axis();
    axes_[vertex] = axis;
    op_->divided = axis != Axis::Whole;
    if (op_->divided) {
      for (Tensor& tensor : op_->outputs) divide_tensor(tensor, axis);
    }
    any_ = any_ || op_->split != Split::None;
    for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, share_.graph))) {
      share_.graph[edge].bytes = op_->outputs[static_cast<std::size_t>(share_.graph[edge].output)].bytes();
    }
  }

  // Divides the operator's work and weights; how its outputs are divided.
  Axis output_axis() {
    if (op_->split != Split::None) return split();
    const bool part =
        std::any_of(reads_.begin(), reads_.end(), [](const Read& read) { return read.axis != Axis::Whole; });
    if (!part) return Axis::Whole;
    switch (op_->kind) {
      case OperatorKind::MatMul: return batched_matmul();
      case OperatorKind::Softmax: return softmax();
      case OperatorKind::Loss: return loss();
      case OperatorKind::Transpose:
      case OperatorKind::Slice: return rearranged();
      case OperatorKind::Gelu:
      case OperatorKind::Relu:
      case OperatorKind::Swish:
      case OperatorKind::Tanh:
      case OperatorKind::Sigmoid:
      case OperatorKind::Dropout:
      case OperatorKind::Elementwise: return elementwise();
      default: return needs_whole_inputs();
    }
  }

  Axis split() {
    auto* gather = std::get_if<GatherShape>(&op_->shape);
    if (gather != nullptr && op_->kind == OperatorKind::EmbeddingGather && op_->split == Split::Rows) {
      divide(gather->rows, "rows");
      divide_weights();
      op_->forward_collectives.push_back(all_reduce(static_cast<double>(op_->output_bytes())));
      return Axis::Whole;
    }
    auto* matmul = std::get_if<MatMulShape>(&op_->shape);
    if (matmul == nullptr || !matmul->right_is_weight) {
      throw UserError(where(), "only a matmul with a weight, and an embedding by its rows, can be divided",
                      "remove \"split\"");
    }
    return op_->split == Split::Rows ? rows(*matmul) : columns(*matmul);
  }

  Axis columns(MatMulShape& matmul) {
    for (const Read& read : reads_) {
      if (read.axis != Axis::Whole) return needs_whole_inputs();
    }
    divide(matmul.columns, "columns");
    divide_weights();
    reduce_input_gradients();
    return op_->split == Split::Heads ? Axis::First : Axis::Last;
  }

  Axis rows(MatMulShape& matmul) {
    if (reads_.empty() || reads_.front().axis != Axis::Last) {
      throw UserError(where(),
                      "a matmul divided by rows reads \"" + input_name(0) + "\", whose features are not divided",
                      "divide the matmul before it by columns");
    }
    divide(matmul.inner, "rows of its weight");
    divide_weights();
    op_->forward_collectives.push_back(all_reduce(static_cast<double>(op_->output_bytes())));
    return Axis::Whole;
  }

  // Heads of an attention. What is whole is read in part.
  Axis batched_matmul() {
    auto& matmul = std::get<MatMulShape>(op_->shape);
    const bool groups =
        std::all_of(reads_.begin(), reads_.end(), [](const Read& read) { return read.axis != Axis::Last; });
    if (matmul.right_is_weight || !groups) return needs_whole_inputs();
    divide(matmul.groups, "groups");
    reduce_input_gradients();
    return Axis::First;
  }

  // Over the features (vocabulary-parallel cross entropy, Megatron-LM): the largest score and the sum of all exponents
  // go round; with a loss right behind it, the gradient is made of local parts.
  Axis softmax() {
    auto& norm = std::get<NormShape>(op_->shape);
    if (reads_.front().axis == Axis::First) {
      divide(norm.groups, "groups");
      return Axis::First;
    }
    divide(norm.elements, "elements");
    const double bytes = static_cast<double>(norm.groups) * kStatisticBytes;
    op_->forward_collectives.push_back({CollectiveKind::AllReduce, bytes, 2});
    bool into_loss = true;
    for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex_, share_.graph))) {
      into_loss = into_loss && share_.graph[boost::target(edge, share_.graph)].kind == OperatorKind::Loss;
    }
    if (!into_loss && op_->differentiable) op_->backward_collectives.push_back(all_reduce(bytes));
    return Axis::Last;
  }

  // The probabilities of the labels, each of which one IPU has.
  Axis loss() {
    if (reads_.front().axis != Axis::Last) return needs_whole_inputs();
    const Tensor& scores = op_->inputs.front();
    op_->forward_collectives.push_back(
        all_reduce(static_cast<double>(scores.elements() / scores.shape.back()) * kStatisticBytes));
    return Axis::Whole;
  }

  // Features that become groups (the heads of an attention), groups that become features again, or neither.
  Axis rearranged() {
    const std::vector<std::int64_t>& from = op_->inputs.front().shape;
    const std::vector<std::int64_t>& to = op_->outputs.front().shape;
    const Axis axis = reads_.front().axis;
    const std::int64_t groups = axis == Axis::First ? from.front() * ipus_ : from.front();
    if (axis == Axis::Last && to.front() > groups) return Axis::First;
    if (axis == Axis::First && to.front() < groups) return Axis::Last;
    return axis;
  }

  Axis elementwise() {
    Axis axis = Axis::Whole;
    for (const Read& read : reads_) {
      if (read.axis == Axis::Whole) continue;
      if (axis != Axis::Whole && axis != read.axis) return needs_whole_inputs();
      axis = read.axis;
    }
    divide_weights();
    reduce_input_gradients();
    return axis;
  }

  Axis needs_whole_inputs() const {
    std::size_t part = 0;
    while (part + 1 < reads_.size() && reads_[part].axis == Axis::Whole) ++part;
    throw UserError(where(),
                    "it needs the whole of \"" + input_name(part) + "\", of which each of " + std::to_string(ipus_) +
                        " IPUs has a part",
                    "put a matmul with \"split\": \"rows\" between them, or divide no matmul before it");
  }

  // Each IPU has the gradient through its part of the work; a whole input needs their sum.
  void reduce_input_gradients() {
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      if (reads_[i].axis != Axis::Whole || !reads_[i].gradient) continue;
      op_->backward_collectives.push_back(all_reduce(static_cast<double>(op_->inputs[i].bytes())));
    }
  }

  [[nodiscard]] static StageCollective all_reduce(double bytes) { return {CollectiveKind::AllReduce, bytes, 1}; }

  void divide_weights() {
    for (Weight& weight : op_->weights) divide(weight.elements, "elements of weight \"" + weight.name + "\"");
  }

  void divide_tensor(Tensor& tensor, Axis axis) {
    divide(axis == Axis::First ? tensor.shape.front() : tensor.shape.back(),
           "extent of output \"" + tensor.name + "\"");
  }

  void divide(std::int64_t& size, const std::string& what) const {
    if (size % ipus_ != 0) {
      throw UserError(
          where(),
          "its " + what + ", " + std::to_string(size) + ", cannot be divided over " + std::to_string(ipus_) + " IPUs",
          "choose a tensor_parallel that divides it");
    }
    size /= ipus_;
  }

  // A tied weight has one storage, so both uses need the same part of it.
  void check_tied_weights() {
    for (const Vertex vertex : boost::make_iterator_range(boost::vertices(share_.graph))) {
      op_ = &share_.graph[vertex];
      for (const Weight& weight : op_->weights) {
        if (weight.tied_to.empty()) continue;
        if (elements_of(weight.tied_to) == weight.elements) continue;
        throw UserError(where(),
                        "weight \"" + weight.name + "\" is divided in another way than \"" + weight.tied_to +
                            "\", to which it is tied",
                        "divide both operators (an embedding by rows, its projection by columns), or neither");
      }
    }
  }

  [[nodiscard]] std::int64_t elements_of(const std::string& name) const {
    for (const Vertex vertex : boost::make_iterator_range(boost::vertices(share_.graph))) {
      for (const Weight& weight : share_.graph[vertex].weights) {
        if (weight.name == name) return weight.elements;
      }
    }
    return 0;
  }

  [[nodiscard]] std::string where() const { return "workload operator " + op_->name; }
  [[nodiscard]] std::string input_name(std::size_t input) const {
    return input < op_->inputs.size() ? op_->inputs[input].name : "nothing";
  }

  WorkloadGraph share_;
  std::int64_t ipus_;
  std::vector<Axis> axes_;  // of the outputs of each operator
  Operator* op_ = nullptr;
  Vertex vertex_ = 0;
  std::vector<Read> reads_;
  bool any_ = false;
};

}  // namespace

Option tensor_parallel_option() {
  return {.name = "tensor_parallel",
          .type = OptionType::Integer,
          .default_value = 1,
          .help =
              "IPUs that share each stage: attention heads, feed-forward layers and vocabulary are divided, with "
              "all-reduces between them. A replica has that many IPUs for each one of ipu_config.",
          .minimum = 1,
          .maximum = 1024};
}

std::int64_t tensor_parallel(const WorkloadRequest& request) {
  const Value::Object& values = request.options.values();
  const bool declared =
      std::any_of(values.begin(), values.end(), [](const auto& entry) { return entry.first == "tensor_parallel"; });
  return declared ? request.options.integer("tensor_parallel") : 1;
}

void check_divides(const WorkloadRequest& request, std::int64_t size, const std::string& name,
                   const std::string& where) {
  const std::int64_t ipus = tensor_parallel(request);
  if (size % ipus == 0) return;
  throw UserError(where,
                  name + " " + std::to_string(size) + " cannot be divided over the " + std::to_string(ipus) +
                      " IPUs of a stage (tensor_parallel)",
                  "choose a tensor_parallel that divides it");
}

std::int64_t padded_vocabulary(const WorkloadRequest& request, std::int64_t rows) {
  const std::int64_t ipus = tensor_parallel(request);
  return (rows + ipus - 1) / ipus * ipus;
}

WorkloadGraph share_of_ipu(const WorkloadGraph& whole) { return Divider(whole).run(); }

}  // namespace podsim
