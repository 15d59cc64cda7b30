// Contraction: a matmul or convolution, forward or backward, in the one form that the planner knows:
// groups x [rows, inner] x [inner, columns], the left operand being an image where there is a kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/machine/lower.hpp"
#include "workloads/operator.hpp"

namespace podsim {

[[nodiscard]] inline std::int64_t ceil_divide(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Where the kernel positions of a convolution are: summed over (forward, backward-input) or rows of the result
// (backward-weights).
enum class KernelPlace : std::uint8_t { None, Inner, Rows };

// The image behind the left operand of a convolution.
struct ImageField {
  std::int64_t images = 1;
  std::int64_t height = 1, width = 1;            // positions of the contraction's own dimension (rows, or inner)
  std::int64_t data_height = 1, data_width = 1;  // of the left operand
  std::int64_t kernel_height = 1, kernel_width = 1;
  std::int64_t stride_height = 1, stride_width = 1;

  [[nodiscard]] std::int64_t kernel() const { return kernel_height * kernel_width; }
  // Positions of the left operand that `count` consecutive positions read.
  [[nodiscard]] std::int64_t data_positions(std::int64_t count) const;
};

struct Contraction {
  std::int64_t groups = 1;
  std::int64_t rows = 0;
  std::int64_t inner = 0;  // without the kernel, per group
  std::int64_t columns = 0;
  KernelPlace kernel_place = KernelPlace::None;
  ImageField field;
  double result_expansion = 1;  // result elements for each row and column (strided backward-input)
  bool left_resident = false;   // a weight, kept where this plan wants it
  bool right_resident = false;
  bool rearrange_left = false;  // operands whose layout does not suit the plan
  bool rearrange_right = false;
  bool rearrange_result = false;
  std::int64_t atom_bytes = 8;  // contiguous bytes in the rearranged operands
  ElementType operands = ElementType::Float16;
  std::int64_t serial_columns = 1;  // asked for by the user (serialised projection)
  std::int64_t serial_inner = 1;

  [[nodiscard]] std::int64_t kernel() const { return kernel_place == KernelPlace::None ? 1 : field.kernel(); }
  [[nodiscard]] double macs() const;
  [[nodiscard]] double left_elements() const;
  [[nodiscard]] double right_elements() const;
  [[nodiscard]] double result_elements() const;
};

// The contractions of a MatMul or Convolution for one kind of work: one; two for the backward pass of a product of
// activations; none where there is no such work, and for other operators.
[[nodiscard]] std::vector<Contraction> contractions_of(const Operator& op, WorkKind work);

}  // namespace podsim
