// Lifetimes of the activations of one stage: who makes a tensor, who reads it, which backward pass needs it again.
#pragma once

#include <string>
#include <vector>

#include "simulator/machine/lower.hpp"

namespace podsim {

struct ActivationLifetime {
  std::string name;
  double bytes = 0;
  ElementType type = ElementType::Float16;
  int producer = -1;         // index of the operator; -1: an input of the stage
  int last_reader = -1;      // in the forward pass; -1: leaves the stage
  int backward_reader = -1;  // the last backward pass (smallest index) that reads it; -1: none
  bool has_gradient = false;
};

// Tensors of `operators`, stage inputs first in order of their first reader, then by producer.
[[nodiscard]] std::vector<ActivationLifetime> activation_lifetimes(const std::vector<Operator>& operators);

// Whether the operator writes its result over its first input, when nobody reads that later.
[[nodiscard]] bool works_in_place(const Operator& op);

// First operator of the recomputation segment that operator i belongs to: segments end behind kept outputs.
[[nodiscard]] std::vector<int> segment_starts(const std::vector<Operator>& operators, Recomputation recomputation);

// Whether the output of operator i is kept for the backward pass as a checkpoint.
[[nodiscard]] bool is_checkpoint(const std::vector<Operator>& operators, std::size_t i, Recomputation recomputation);

}  // namespace podsim
