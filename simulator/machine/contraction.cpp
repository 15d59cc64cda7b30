// Forward, backward-input and backward-weights of matmuls and convolutions as contractions.
#include "simulator/machine/contraction.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

ElementType operand_type(const Operator& op) {
  const ElementType type = op.inputs.empty() ? ElementType::Float16 : op.inputs.front().type;
  return bytes_of(type) == 4 ? ElementType::Float32 : ElementType::Float16;
}

std::vector<Contraction> of_matmul(const Operator& op, const MatMulShape& shape, WorkKind work) {
  Contraction forward;
  forward.groups = shape.groups;
  forward.rows = shape.rows;
  forward.inner = shape.inner;
  forward.columns = shape.columns;
  forward.operands = operand_type(op);
  forward.right_resident = shape.right_is_weight;
  forward.serial_columns = op.serial_splits;

  Contraction left_gradient = forward;  // [rows, columns] x [columns, inner]
  std::swap(left_gradient.inner, left_gradient.columns);
  left_gradient.right_resident = false;
  left_gradient.rearrange_right = true;  // the right operand transposed
  left_gradient.serial_columns = 1;
  left_gradient.serial_inner = op.serial_splits;

  Contraction right_gradient = forward;  // [inner, rows] x [rows, columns]
  std::swap(right_gradient.rows, right_gradient.inner);
  right_gradient.right_resident = false;
  right_gradient.rearrange_right = false;
  right_gradient.rearrange_left = true;                     // the left operand transposed
  right_gradient.rearrange_result = shape.right_is_weight;  // into the layout of the weights

  if (work == WorkKind::Forward) return {forward};
  if (work == WorkKind::BackwardWeights) {
    return shape.right_is_weight ? std::vector<Contraction>{right_gradient} : std::vector<Contraction>{};
  }
  if (shape.right_is_weight) return {left_gradient};
  return {left_gradient, right_gradient};
}

// A transposed convolution is the backward-input pass of a convolution from its output to its input.
ConvolutionShape untransposed(ConvolutionShape shape) {
  if (!shape.transposed) return shape;
  std::swap(shape.in_height, shape.out_height);
  std::swap(shape.in_width, shape.out_width);
  std::swap(shape.in_channels, shape.out_channels);
  shape.transposed = false;
  return shape;
}

Contraction of_convolution(const Operator& op, const ConvolutionShape& given, WorkKind work) {
  WorkKind role = work;
  if (given.transposed && work != WorkKind::BackwardWeights) {
    role = work == WorkKind::Forward ? WorkKind::BackwardInput : WorkKind::Forward;
  }
  const ConvolutionShape shape = untransposed(given);
  const std::int64_t in_channels = shape.in_channels / shape.groups;
  const std::int64_t out_channels = shape.out_channels / shape.groups;
  const std::int64_t positions = shape.batch * shape.out_height * shape.out_width;
  const bool pointwise = shape.kernel_height * shape.kernel_width == 1;

  Contraction contraction;
  contraction.groups = shape.groups;
  contraction.operands = operand_type(op);
  contraction.right_resident = work == WorkKind::Forward;
  contraction.field = {shape.batch,         shape.out_height,   shape.out_width,     shape.in_height,   shape.in_width,
                       shape.kernel_height, shape.kernel_width, shape.stride_height, shape.stride_width};
  contraction.rows = positions;
  contraction.inner = in_channels;
  contraction.columns = out_channels;
  contraction.kernel_place = pointwise ? KernelPlace::None : KernelPlace::Inner;
  contraction.serial_columns = op.serial_splits;
  if (role == WorkKind::BackwardInput) {
    // Each output gradient is multiplied with every kernel position: as many rows as the forward pass, results
    // on the positions of the input.
    contraction.inner = out_channels;
    contraction.columns = in_channels;
    contraction.rearrange_right = work != WorkKind::Forward;  // kernel turned round, channels exchanged
    contraction.field.stride_height = contraction.field.stride_width = 1;
    contraction.field.data_height = shape.out_height;
    contraction.field.data_width = shape.out_width;
    contraction.result_expansion =
        static_cast<double>(shape.in_height * shape.in_width) / static_cast<double>(shape.out_height * shape.out_width);
  } else if (role == WorkKind::BackwardWeights) {
    contraction.rows = in_channels * shape.kernel_height * shape.kernel_width;
    contraction.inner = positions;
    contraction.columns = out_channels;
    contraction.kernel_place = pointwise ? KernelPlace::None : KernelPlace::Rows;
    contraction.right_resident = false;
    contraction.rearrange_left = contraction.rearrange_right = contraction.rearrange_result = true;
  }
  // Channels of one or more groups lie next to each other, in blocks of up to 16, padded to 4.
  const std::int64_t channels = std::min(in_channels, out_channels) * shape.groups;
  contraction.atom_bytes = std::clamp<std::int64_t>(channels, 4, 16) / 4 * 4 * bytes_of(contraction.operands);
  return contraction;
}

}  // namespace

std::int64_t ImageField::data_positions(std::int64_t count) const {
  if (count <= 0) return 0;
  const std::int64_t image = height * width;
  std::int64_t data = 0;
  if (count >= image) {
    data = ceil_divide(count, image) * data_height * data_width;
  } else if (count >= width) {
    const std::int64_t lines = ceil_divide(count, width);
    data = std::min(data_height, (lines - 1) * stride_height + kernel_height) * data_width;
  } else {
    data = std::min(data_width, (count - 1) * stride_width + kernel_width) * std::min(kernel_height, data_height);
  }
  return std::min({data, count * kernel(), images * data_height * data_width});
}

double Contraction::macs() const {
  const double inner_positions = kernel_place == KernelPlace::Inner ? static_cast<double>(field.kernel()) : 1.0;
  return static_cast<double>(groups) * static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(inner) * inner_positions;
}

double Contraction::left_elements() const {
  const double g = static_cast<double>(groups);
  if (kernel_place == KernelPlace::Inner) {
    return g * static_cast<double>(inner) * static_cast<double>(field.data_positions(rows));
  }
  if (kernel_place == KernelPlace::Rows) {
    return g * static_cast<double>(rows) / static_cast<double>(field.kernel()) *
           static_cast<double>(field.data_positions(inner));
  }
  return g * static_cast<double>(rows) * static_cast<double>(inner);
}

double Contraction::right_elements() const {
  const double inner_positions = kernel_place == KernelPlace::Inner ? static_cast<double>(field.kernel()) : 1.0;
  return static_cast<double>(groups) * static_cast<double>(inner) * inner_positions * static_cast<double>(columns);
}

double Contraction::result_elements() const {
  return static_cast<double>(groups) * static_cast<double>(rows) * static_cast<double>(columns) * result_expansion;
}

std::vector<Contraction> contractions_of(const Operator& op, WorkKind work) {
  if (const auto* matmul = std::get_if<MatMulShape>(&op.shape); matmul != nullptr && op.kind == OperatorKind::MatMul) {
    return of_matmul(op, *matmul, work);
  }
  if (const auto* convolution = std::get_if<ConvolutionShape>(&op.shape);
      convolution != nullptr && op.kind == OperatorKind::Convolution) {
    return {of_convolution(op, *convolution, work)};
  }
  return {};
}

}  // namespace podsim
