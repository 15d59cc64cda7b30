// Tensor parallelism inside a stage: each of k IPUs computes one part of an operator.
#include <algorithm>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

namespace {

std::int64_t part(std::int64_t size, std::int64_t parts) {
  return std::max<std::int64_t>(1, (size + parts - 1) / parts);
}

void divide(MatMulShape& shape, std::int64_t parts) {
  if (shape.groups % parts == 0) {
    shape.groups /= parts;  // heads of an attention
  } else if (shape.columns >= shape.inner) {
    shape.columns = part(shape.columns, parts);
  } else {
    shape.inner = part(shape.inner, parts);
  }
}

void divide(ConvolutionShape& shape, std::int64_t parts) {
  if (shape.groups % parts == 0) {
    shape.groups /= parts;
    shape.in_channels /= parts;
  }
  shape.out_channels = part(shape.out_channels, parts);
}

}  // namespace

Operator share_of_ipu(const Operator& op) {
  Operator share = op;
  const std::int64_t parts = op.parallel_ipus;
  share.parallel_ipus = 1;
  if (auto* matmul = std::get_if<MatMulShape>(&share.shape)) divide(*matmul, parts);
  if (auto* convolution = std::get_if<ConvolutionShape>(&share.shape)) divide(*convolution, parts);
  if (auto* gather = std::get_if<GatherShape>(&share.shape)) gather->width = part(gather->width, parts);
  if (auto* norm = std::get_if<NormShape>(&share.shape)) norm->groups = part(norm->groups, parts);
  if (auto* pool = std::get_if<PoolShape>(&share.shape)) pool->out_elements = part(pool->out_elements, parts);
  for (std::vector<Tensor>* tensors : {&share.inputs, &share.outputs}) {
    for (Tensor& tensor : *tensors) {
      if (!tensor.shape.empty()) tensor.shape.front() = part(tensor.shape.front(), parts);
    }
  }
  for (Weight& weight : share.weights) weight.elements = part(weight.elements, parts);
  return share;
}

}  // namespace podsim
