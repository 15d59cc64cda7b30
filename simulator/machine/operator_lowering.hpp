// Lowering of each family of operators; each function appends the supersteps of one kind of work to a list.
#pragma once

#include "simulator/machine/planner.hpp"
#include "simulator/machine/superstep_list.hpp"

namespace podsim {

// Matmul and convolution: one planned contraction.
void lower_contraction(const Planner& planner, const PlannedContraction& planned, const std::string& name,
                       SuperstepList& steps);

// Elementwise operators, non-linearities, dropout, pooling, reduction, rearrangement, concatenation and loss.
void lower_vertices(const Operator& op, WorkKind work, SuperstepList& steps);

// Connectionist temporal classification: loss and gradient by popnn's alpha and beta recursions.
void lower_ctc(const Operator& op, WorkKind work, SuperstepList& steps);

// Layer, batch and group norm; softmax.
void lower_norm(const Operator& op, WorkKind work, SuperstepList& steps);
void lower_stored_norm(const Operator& op, SuperstepList& steps);  // batch norm in inference, forward
void lower_softmax(const Operator& op, WorkKind work, SuperstepList& steps);

// Embedding and graph gather, scatter and their gradients.
void lower_gather(const Operator& op, WorkKind work, SuperstepList& steps);

// The optimiser's update of one weight tensor, of which this replica updates one of `shards` parts.
void lower_update(const Weight& weight, const Optimizer& optimizer, std::int64_t shards, SuperstepList& steps);

// Adds a gradient of `elements` to its accumulator.
void lower_accumulation(double elements, ElementType type, SuperstepList& steps);

// Statistics of a gradient for automatic loss scaling: a histogram of its magnitudes.
void lower_gradient_statistics(double elements, ElementType type, SuperstepList& steps);

// Copy of operands into and out of outlined code.
void lower_outlined_call(double bytes, SuperstepList& steps);

[[nodiscard]] ElementType type_of(const Operator& op);
[[nodiscard]] double input_elements(const Operator& op);  // of its first input
[[nodiscard]] double output_elements(const Operator& op);

}  // namespace podsim
