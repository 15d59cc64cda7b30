// Tensor parallelism: the IPUs of a stage share its work. A family says which matmuls and embeddings are divided
// (Operator::split); which tensors are parts then, and where the IPUs exchange sums, follows from the graph.
#pragma once

#include <cstdint>

#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

// Option "tensor_parallel", and its value; 1 where a workload does not declare it.
[[nodiscard]] Option tensor_parallel_option();
[[nodiscard]] std::int64_t tensor_parallel(const WorkloadRequest& request);

// UserError unless the IPUs of a stage divide `size` (heads, widths, …), which `name` names.
void check_divides(const WorkloadRequest& request, std::int64_t size, const std::string& name,
                   const std::string& where);

// A vocabulary is padded to a multiple of the IPUs that share it.
[[nodiscard]] std::int64_t padded_vocabulary(const WorkloadRequest& request, std::int64_t rows);

// What one IPU of each stage computes, stores and exchanges with the others. Between two divided matmuls (columns, then
// rows) every operator works on a part of its tensors; norms, residuals and all other operators on whole ones, on each
// IPU. The all-reduces of Megatron-LM: of the outputs of a matmul divided by rows in the forward pass, of the gradients
// of the whole inputs of divided operators in the backward pass. UserError where nothing is divided, an extent does not
// divide, or an operator that needs a whole tensor would read a part.
[[nodiscard]] WorkloadGraph tensor_share(const WorkloadGraph& whole);

}  // namespace podsim
