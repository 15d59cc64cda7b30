// Lifetimes of activations from the names of the tensors that operators read and write.
#include "simulator/machine/activation_lifetimes.hpp"

#include <algorithm>
#include <unordered_map>

namespace podsim {

namespace {

// Which tensors the gradient of an operator needs: operands of products, the point where a non-linearity was taken,
// the result of a softmax. Sums need nothing, dropout draws its mask again from the seed.
bool backward_reads_inputs(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::MatMul:
    case OperatorKind::Convolution:
    case OperatorKind::EmbeddingGather:
    case OperatorKind::LayerNorm:
    case OperatorKind::GroupNorm:
    case OperatorKind::BatchNorm:
    case OperatorKind::Gelu:
    case OperatorKind::Swish:
    case OperatorKind::Loss:
    case OperatorKind::Gather:
    case OperatorKind::Scatter:
    case OperatorKind::CtcLoss: return true;  // its gradient is as large as its input, and takes its place
    case OperatorKind::Elementwise:
      return std::any_of(op.functions.begin(), op.functions.end(), [](ElementFunction function) {
        return gradient_functions(function).size() > (function == ElementFunction::Negate ? 1 : 0);
      });
    case OperatorKind::Pooling: {
      const auto* pool = std::get_if<PoolShape>(&op.shape);
      return pool != nullptr && pool->maximum;
    }
    default: return false;
  }
}

bool backward_reads_outputs(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::Softmax:
    case OperatorKind::Relu:
    case OperatorKind::Tanh:
    case OperatorKind::Sigmoid: return true;
    default: return false;
  }
}

}  // namespace

bool works_in_place(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::Elementwise:
    case OperatorKind::Dropout:
    case OperatorKind::Relu:
    case OperatorKind::Gelu:
    case OperatorKind::Swish:
    case OperatorKind::Tanh:
    case OperatorKind::Sigmoid:
    case OperatorKind::Softmax: break;
    default: return false;
  }
  return !op.inputs.empty() && !op.outputs.empty() && op.inputs.front().bytes() == op.outputs.front().bytes();
}

std::vector<ActivationLifetime> activation_lifetimes(const std::vector<Operator>& operators) {
  std::vector<ActivationLifetime> tensors;
  std::unordered_map<std::string, std::size_t> known;
  const auto find = [&](const Tensor& tensor, int producer) -> ActivationLifetime& {
    const auto [place, added] = known.emplace(tensor.name, tensors.size());
    if (added) {
      tensors.emplace_back();
      tensors.back().name = tensor.name;
      tensors.back().bytes = static_cast<double>(tensor.bytes());
      tensors.back().type = tensor.type;
      tensors.back().producer = producer;
    }
    return tensors[place->second];
  };
  const auto needed_by = [](ActivationLifetime& tensor, int reader) {
    tensor.backward_reader = tensor.backward_reader < 0 ? reader : std::min(tensor.backward_reader, reader);
  };
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const Operator& op = operators[i];
    const int index = static_cast<int>(i);
    for (const Tensor& input : op.inputs) {
      ActivationLifetime& tensor = find(input, -1);
      tensor.last_reader = index;
      if (op.differentiable && backward_reads_inputs(op)) needed_by(tensor, index);
    }
    for (const Tensor& output : op.outputs) {
      ActivationLifetime& tensor = find(output, index);
      tensor.has_gradient = op.differentiable;
      if (op.differentiable && backward_reads_outputs(op)) needed_by(tensor, index);
    }
  }
  return tensors;
}

bool is_checkpoint(const std::vector<Operator>& operators, std::size_t i, Recomputation recomputation) {
  if (recomputation == Recomputation::Named) return operators[i].checkpoint;
  if (recomputation != Recomputation::EveryLayer) return false;
  if (operators[i].checkpoint || i + 1 == operators.size()) return operators[i].checkpoint;
  // Attention and feed-forward blocks of one layer are one segment.
  const Operator& next = operators[i + 1];
  return next.block != operators[i].block && (next.layer < 0 || next.layer != operators[i].layer);
}

std::vector<int> segment_starts(const std::vector<Operator>& operators, Recomputation recomputation) {
  std::vector<int> starts;
  int start = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    starts.push_back(start);
    if (is_checkpoint(operators, i, recomputation)) start = static_cast<int>(i) + 1;
  }
  return starts;
}

}  // namespace podsim
