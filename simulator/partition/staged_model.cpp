// Sums over the weights of a stage.
#include "simulator/partition/staged_model.hpp"

#include <algorithm>

namespace podsim {

std::int64_t StagedModel::weight_elements(int stage) const {
  std::int64_t sum = 0;
  for (const Weight& weight : stages.at(static_cast<std::size_t>(stage)).weights) {
    if (weight.trainable) sum += weight.elements;
  }
  return sum;
}

double StagedModel::weight_bytes(int stage) const {
  double sum = 0;
  for (const Weight& weight : stages.at(static_cast<std::size_t>(stage)).weights) {
    sum += static_cast<double>(weight.elements) * static_cast<double>(bytes_of(weight.type));
  }
  return sum;
}

double StagedModel::gradient_bytes(int stage) const {
  double sum = 0;
  for (const Weight& weight : stages.at(static_cast<std::size_t>(stage)).weights) sum += gradient_bytes(weight);
  return sum;
}

double StagedModel::partial_gradient_bytes(int stage) const {
  double sum = 0;
  for (const Weight& weight : stages.at(static_cast<std::size_t>(stage)).weights) {
    if (weight.partial_gradient) sum += gradient_bytes(weight);
  }
  return sum;
}

double StagedModel::gradient_bytes(const Weight& weight) const {
  if (!weight.trainable) return 0;
  // Accumulators are never narrower than the weights.
  const std::int64_t width =
      profiled ? bytes_of(weight.type) : std::max(bytes_of(weight.type), bytes_of(optimizer.accumulator_type));
  return static_cast<double>(weight.elements) * static_cast<double>(width);
}

double StagedModel::optimizer_state_bytes(int stage) const {
  double per_weight = 0;
  for (const ElementType type : optimizer.state_types) per_weight += static_cast<double>(bytes_of(type));
  return static_cast<double>(weight_elements(stage)) * per_weight;
}

}  // namespace podsim
