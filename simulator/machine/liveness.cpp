// The steps of a stage: forward pass, then for each recomputation segment from the last: forward again, backward.
#include "simulator/machine/liveness.hpp"

#include <algorithm>

namespace podsim {

namespace {

double weight_bytes(const std::vector<Weight>& weights, bool trainable_only) {
  double bytes = 0;
  for (const Weight& weight : weights) {
    if (weight.trainable || !trainable_only) {
      bytes += static_cast<double>(weight.elements) * static_cast<double>(bytes_of(weight.type));
    }
  }
  return bytes;
}

class Walk {
 public:
  Walk(const StageMemory& stage, const MemoryRequest& request)
      : stage_(stage),
        request_(request),
        operators_(*stage.operators),
        starts_(segment_starts(operators_, request.recomputation)) {
    result_.tensors = activation_lifetimes(operators_);
    if (request.weights_off_chip && stage.weights != nullptr) remote_ += weight_bytes(*stage.weights, false);
    if (request.activations_off_chip) remote_ += stage.stage_input_bytes;
    backward_remote_ = remote_ + stage.beside_backward_bytes;
    if (request.accumulates_gradients && request.accumulators_off_chip) {
      backward_remote_ += trainable_elements() * accumulator_bytes();
    }
  }

  StageLiveness run() {
    const int count = static_cast<int>(operators_.size());
    for (int i = 0; i < count; ++i) forward_step("forward/", i, 0, false, remote_ + stage_.beside_forward_bytes);
    if (request_.training) backward(count);
    if (request_.training) update();
    return std::move(result_);
  }

 private:
  [[nodiscard]] double trainable_elements() const {
    double elements = 0;
    if (stage_.weights == nullptr) return elements;
    for (const Weight& weight : *stage_.weights)
      elements += weight.trainable ? static_cast<double>(weight.elements) : 0;
    return elements;
  }
  // Of one element, on one replica.
  [[nodiscard]] double accumulator_bytes() const {
    return static_cast<double>(bytes_of(request_.optimizer.accumulator_type)) /
           static_cast<double>(request_.accumulator_shards);
  }

  // A tensor of the forward pass is kept where the stash holds it (nothing is recomputed, or it is a checkpoint).
  [[nodiscard]] bool in_stash(const ActivationLifetime& tensor) const {
    if (!request_.training) return false;
    if (tensor.producer < 0) return true;
    if (request_.recomputation == Recomputation::None) return tensor.backward_reader >= 0;
    return is_checkpoint(operators_, static_cast<std::size_t>(tensor.producer), request_.recomputation);
  }

  // Read by a later operator of the forward pass, or sent to another stage.
  [[nodiscard]] bool live_forward(const ActivationLifetime& tensor, int i) const {
    if (tensor.producer > i) return false;
    return tensor.last_reader < 0 ? tensor.producer >= 0 : tensor.last_reader >= i;
  }

  // In the segment that begins at `start`, `keep`: what the backward pass needs stays.
  void forward_step(const std::string& pass, int i, int start, bool keep, double remote_bytes) {
    const Operator& op = operators_[static_cast<std::size_t>(i)];
    LiveStep step;
    step.name = pass + op.name;
    step.remote_bytes = remote_bytes;
    const auto& lowered = stage_.lowered->forward[static_cast<std::size_t>(i)];
    if (lowered) step.temporary_bytes_per_tile = lowered->temporary_bytes_per_tile;
    for (std::size_t t = 0; t < result_.tensors.size(); ++t) {
      const ActivationLifetime& tensor = result_.tensors[t];
      if (in_stash(tensor)) continue;
      const bool kept = keep && tensor.producer >= start && tensor.producer <= i && tensor.backward_reader >= 0;
      const bool read = live_forward(tensor, i) && (!keep || tensor.producer >= start);
      if (!kept && !read) continue;
      if (!kept && overwritten(tensor, op, i)) continue;
      step.activations.push_back(static_cast<int>(t));
    }
    result_.steps.push_back(std::move(step));
  }

  [[nodiscard]] static bool overwritten(const ActivationLifetime& tensor, const Operator& op, int i) {
    return tensor.last_reader == i && works_in_place(op) && tensor.name == op.inputs.front().name;
  }

  void backward(int count) {
    int end = count;
    while (end > 0) {
      const int start = starts_[static_cast<std::size_t>(end - 1)];
      if (request_.recomputation != Recomputation::None) {
        for (int i = start; i < end; ++i) forward_step("recompute/", i, start, true, backward_remote_);
      }
      for (int i = end - 1; i >= start; --i) backward_step(i, start);
      end = start;
    }
  }

  void backward_step(int i, int start) {
    const std::size_t index = static_cast<std::size_t>(i);
    const auto& input = stage_.lowered->backward_input[index];
    const auto& weights = stage_.lowered->backward_weights[index];
    if (!input && !weights) return;
    LiveStep step;
    step.name = "backward/" + operators_[index].name;
    step.remote_bytes = backward_remote_;
    for (const auto* lowered : {&input, &weights}) {
      if (*lowered) {
        step.temporary_bytes_per_tile = std::max(step.temporary_bytes_per_tile, (*lowered)->temporary_bytes_per_tile);
      }
    }
    if (weights) step.temporary_bytes = weight_bytes(operators_[index].weights, true);
    const bool recomputed = request_.recomputation != Recomputation::None;
    for (std::size_t t = 0; t < result_.tensors.size(); ++t) {
      const ActivationLifetime& tensor = result_.tensors[t];
      if (recomputed && !in_stash(tensor) && tensor.producer >= start && tensor.backward_reader >= 0 &&
          tensor.backward_reader <= i) {
        step.activations.push_back(static_cast<int>(t));
      }
      // From the last reader's backward pass (or the arrival from the next stage) to the producer's; the gradient
      // of a stage input stays until it is sent.
      const int born = tensor.last_reader < 0 ? static_cast<int>(operators_.size()) : tensor.last_reader;
      const bool gradient = tensor.producer < 0 ? receives_gradient(tensor) : tensor.has_gradient;
      if (gradient && i <= born && i >= tensor.producer) step.gradients.push_back(static_cast<int>(t));
    }
    result_.steps.push_back(std::move(step));
  }

  [[nodiscard]] bool receives_gradient(const ActivationLifetime& tensor) const {
    return tensor.last_reader >= 0 && stage_.lowered->backward_input[static_cast<std::size_t>(tensor.last_reader)] &&
           operators_[static_cast<std::size_t>(tensor.last_reader)].kind != OperatorKind::EmbeddingGather;
  }

  void update() {
    double state = 0;
    double at_once = 0;  // elements
    for (const ElementType type : request_.optimizer.state_types) state += static_cast<double>(bytes_of(type));
    if (stage_.weights != nullptr) {
      for (const Weight& weight : *stage_.weights) {
        if (weight.trainable) at_once = std::max(at_once, static_cast<double>(weight.elements));
      }
    }
    LiveStep step;
    step.name = "update";
    for (const auto& lowered : stage_.lowered->weight_update) {
      if (lowered) {
        step.temporary_bytes_per_tile = std::max(step.temporary_bytes_per_tile, lowered->temporary_bytes_per_tile);
      }
    }
    if (!request_.updates_one_tensor_at_a_time) at_once = trainable_elements();
    step.remote_bytes = stage_.beside_update_bytes;
    if (request_.optimizer_state_off_chip) {
      step.remote_bytes += at_once * state / static_cast<double>(request_.optimizer_shards);
    }
    if (request_.accumulates_gradients && request_.accumulators_off_chip) {
      step.remote_bytes += at_once * accumulator_bytes();
    }
    if (request_.weights_off_chip && trainable_elements() > 0) {
      step.remote_bytes += at_once / trainable_elements() * weight_bytes(*stage_.weights, true);
    }
    result_.steps.push_back(std::move(step));
  }

  const StageMemory& stage_;
  const MemoryRequest& request_;
  const std::vector<Operator>& operators_;
  std::vector<int> starts_;
  double remote_ = 0;           // what the stage's passes read from streaming memory
  double backward_remote_ = 0;  // and its backward pass beside that
  StageLiveness result_;
};

}  // namespace

double stash_bytes(const StageMemory& stage, const MemoryRequest& request) {
  if (!request.training) return 0;
  const std::vector<Operator>& operators = *stage.operators;
  // Checkpoints in fewer bytes: floating-point ones only, token ids stay.
  const auto share = [&request](ElementType type) {
    const bool floating = type == ElementType::Float16 || type == ElementType::Float32;
    if (request.stash_bytes_per_element == 0 || !floating) return 1.0;
    return std::min(1.0, static_cast<double>(request.stash_bytes_per_element) / static_cast<double>(bytes_of(type)));
  };
  double bytes = 0;
  const ActivationLifetime* largest_input = nullptr;
  const std::vector<ActivationLifetime> tensors = activation_lifetimes(operators);
  for (const ActivationLifetime& tensor : tensors) {
    if (tensor.producer < 0) {
      if (largest_input == nullptr || tensor.bytes > largest_input->bytes) largest_input = &tensor;
      continue;
    }
    const bool kept = request.recomputation == Recomputation::None
                          ? tensor.backward_reader >= 0
                          : is_checkpoint(operators, static_cast<std::size_t>(tensor.producer), request.recomputation);
    if (kept) bytes += tensor.bytes * share(tensor.type);
  }
  return bytes + stage.stage_input_bytes * (largest_input == nullptr ? 1.0 : share(largest_input->type));
}

StageLiveness liveness_of(const StageMemory& stage, const MemoryRequest& request) { return Walk(stage, request).run(); }

}  // namespace podsim
