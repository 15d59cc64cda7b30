// Sizes of what Poplar compiles for an operator: vertex code, exchange code, control code.
#pragma once

#include "simulator/machine/lower.hpp"

namespace podsim {

// Fills in code_bytes_per_tile and exchange_code_bytes_per_tile.
void add_code_sizes(const Chip& chip, LoweredOperator& lowered);

}  // namespace podsim
