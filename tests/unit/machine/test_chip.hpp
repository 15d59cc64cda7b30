// Chips and small operators for the tests of this folder.
#pragma once

#include <string>

#include "simulator/machine/chip.hpp"
#include "simulator/machine/lower.hpp"

namespace podsim {

// A chip from the shipped parameter files.
[[nodiscard]] Chip shipped_chip(const std::string& name);

[[nodiscard]] LoweringOptions half_partials(double available_memory_proportion = 0.6);

[[nodiscard]] Operator matmul(std::int64_t groups, std::int64_t rows, std::int64_t inner, std::int64_t columns,
                              bool right_is_weight = true, ElementType type = ElementType::Float16);
[[nodiscard]] Operator convolution(const ConvolutionShape& shape, ElementType type = ElementType::Float16);
[[nodiscard]] Operator elementwise(OperatorKind kind, std::int64_t rows, std::int64_t columns,
                                   ElementType type = ElementType::Float16);

}  // namespace podsim
