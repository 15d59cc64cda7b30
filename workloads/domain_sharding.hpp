// Domain sharding: the IPUs of a stage share the images of a convolutional network by rows. Weights are on each of
// them.
#pragma once

#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

// Option "domain_sharding".
[[nodiscard]] Option domain_sharding_option();

// Sets how many IPUs share each stage of `graph`, and how, as the options "tensor_parallel" and "domain_sharding" say
// where the workload declares them. UserError where both divide.
void set_sharing(const WorkloadRequest& request, WorkloadGraph& graph);

// What one IPU of each stage computes, stores and exchanges with the others: the largest part, where rows do not
// divide. Before a convolution or pooling whose kernel reaches over its stride, neighbours exchange the rows at their
// common border (a halo), and in the backward pass the gradients of these; batch and group norms add up their
// statistics; pooling over the whole field, or a dense layer behind it, ends the division. The gradients of weights
// that work on a part are parts themselves (Weight::partial_gradient). UserError where there are more IPUs than rows, a
// kernel reaches beyond a neighbour, nothing is divided, or an operator that needs whole images would read a part.
[[nodiscard]] WorkloadGraph domain_share(const WorkloadGraph& whole, bool training);

}  // namespace podsim
