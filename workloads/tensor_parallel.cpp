// What operators make of parts of features and heads.
#include "workloads/tensor_parallel.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "simulator/core/error.hpp"
#include "workloads/share.hpp"

namespace podsim {

namespace {

constexpr double kStatisticBytes = 4;  // maxima and sums of a softmax are fp32

constexpr const char* kBetweenThem =
    "put a matmul with \"split\": \"rows\" between them, or divide no matmul before it";

class TensorWalk final : public ShareWalk {
 public:
  using ShareWalk::ShareWalk;

 private:
  Axis divide_operator() override {
    any_ = any_ || op().split != Split::None;
    if (op().split != Split::None) return split();
    if (!reads_part()) return Axis::Whole;
    switch (op().kind) {
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
      default: needs_whole_inputs(kBetweenThem);
    }
  }

  [[nodiscard]] std::int64_t part(std::int64_t size, const std::string& what) const override {
    if (size % ipus() == 0) return size / ipus();
    throw UserError(
        where(),
        "its " + what + ", " + std::to_string(size) + ", cannot be divided over " + std::to_string(ipus()) + " IPUs",
        "choose a tensor_parallel that divides it");
  }

  void check() override {
    if (!any_) {
      throw UserError("workload " + graph().model,
                      "no operator is divided, so " + std::to_string(ipus()) + " IPUs cannot share a stage",
                      "mark matmuls with \"split\": \"columns\" and \"rows\", or set tensor_parallel to 1");
    }
    check_tied_weights();
  }

  Axis split() {
    auto* gather = std::get_if<GatherShape>(&op().shape);
    if (gather != nullptr && op().kind == OperatorKind::EmbeddingGather && op().split == Split::Rows) {
      divide(gather->rows, "rows");
      divide_weights();
      op().forward_collectives.push_back(all_reduce(static_cast<double>(op().output_bytes())));
      return Axis::Whole;
    }
    auto* matmul = std::get_if<MatMulShape>(&op().shape);
    if (matmul == nullptr || !matmul->right_is_weight) {
      throw UserError(where(), "only a matmul with a weight, and an embedding by its rows, can be divided",
                      "remove \"split\"");
    }
    return op().split == Split::Rows ? rows(*matmul) : columns(*matmul);
  }

  Axis columns(MatMulShape& matmul) {
    if (reads_part()) needs_whole_inputs(kBetweenThem);
    divide(matmul.columns, "columns");
    divide_weights();
    reduce_input_gradients();
    return op().split == Split::Heads ? Axis::First : Axis::Last;
  }

  Axis rows(MatMulShape& matmul) {
    if (reads().empty() || reads().front().axis != Axis::Last) {
      throw UserError(where(),
                      "a matmul divided by rows reads \"" + input_name(0) + "\", whose features are not divided",
                      "divide the matmul before it by columns");
    }
    divide(matmul.inner, "rows of its weight");
    divide_weights();
    op().forward_collectives.push_back(all_reduce(static_cast<double>(op().output_bytes())));
    return Axis::Whole;
  }

  // Heads of an attention. What is whole is read in part.
  Axis batched_matmul() {
    auto& matmul = std::get<MatMulShape>(op().shape);
    if (matmul.right_is_weight || common_axis() != Axis::First) needs_whole_inputs(kBetweenThem);
    divide(matmul.groups, "groups");
    reduce_input_gradients();
    return Axis::First;
  }

  // Over the features (vocabulary-parallel cross entropy, Megatron-LM): the largest score and the sum of all exponents
  // go round; with a loss right behind it, the gradient is made of local parts.
  Axis softmax() {
    auto& norm = std::get<NormShape>(op().shape);
    if (reads().front().axis == Axis::First) {
      divide(norm.groups, "groups");
      return Axis::First;
    }
    divide(norm.elements, "elements");
    const double bytes = static_cast<double>(norm.groups) * kStatisticBytes;
    op().forward_collectives.push_back({CollectiveKind::AllReduce, bytes, 2});
    bool into_loss = true;
    for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex(), graph().graph))) {
      into_loss = into_loss && graph().graph[boost::target(edge, graph().graph)].kind == OperatorKind::Loss;
    }
    if (!into_loss && op().differentiable) op().backward_collectives.push_back(all_reduce(bytes));
    return Axis::Last;
  }

  // The probabilities of the labels, each of which one IPU has.
  Axis loss() {
    if (common_axis() != Axis::Last) needs_whole_inputs(kBetweenThem);
    const Tensor& scores = op().inputs.front();
    op().forward_collectives.push_back(
        all_reduce(static_cast<double>(scores.elements() / scores.shape.back()) * kStatisticBytes));
    return Axis::Whole;
  }

  // Features that become groups (the heads of an attention), groups that become features again, or neither.
  Axis rearranged() {
    const std::vector<std::int64_t>& from = op().inputs.front().shape;
    const std::vector<std::int64_t>& to = op().outputs.front().shape;
    const Axis axis = reads().front().axis;
    const std::int64_t groups = axis == Axis::First ? from.front() * ipus() : from.front();
    if (axis == Axis::Last && to.front() > groups) return Axis::First;
    if (axis == Axis::First && to.front() < groups) return Axis::Last;
    return axis;
  }

  Axis elementwise() {
    divide_weights();
    reduce_input_gradients();
    return common_axis();
  }

  void divide_weights() {
    for (Weight& weight : op().weights) divide(weight.elements, "elements of weight \"" + weight.name + "\"");
  }

  // A tied weight has one storage, so both uses need the same part of it.
  void check_tied_weights() {
    const auto& all = graph().graph;
    std::map<std::string, std::int64_t> elements;
    for (const auto vertex : boost::make_iterator_range(boost::vertices(all))) {
      for (const Weight& weight : all[vertex].weights) elements[weight.name] = weight.elements;
    }
    for (const auto vertex : boost::make_iterator_range(boost::vertices(all))) {
      for (const Weight& weight : all[vertex].weights) {
        if (weight.tied_to.empty() || elements.at(weight.tied_to) == weight.elements) continue;
        throw UserError("workload operator " + all[vertex].name,
                        "weight \"" + weight.name + "\" is divided in another way than \"" + weight.tied_to +
                            "\", to which it is tied",
                        "divide both operators (an embedding by rows, its projection by columns), or neither");
      }
    }
  }

  bool any_ = false;
};

}  // namespace

Option tensor_parallel_option() {
  return sharing_option("tensor_parallel",
                        "IPUs that share each stage: attention heads, feed-forward layers and vocabulary are divided, "
                        "with all-reduces between them. A replica has that many IPUs for each one of ipu_config.");
}

std::int64_t tensor_parallel(const WorkloadRequest& request) { return sharing_ipus(request, "tensor_parallel"); }

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

WorkloadGraph tensor_share(const WorkloadGraph& whole) { return TensorWalk(whole).run(); }

}  // namespace podsim
