// Sizes of what Poplar compiles for a program: vertex code, exchange code, control code.
#pragma once

#include "simulator/machine/lower.hpp"
#include "simulator/machine/memory.hpp"

namespace podsim {

// Fills in code_bytes_per_tile and exchange_code_bytes_per_tile of one operator by itself.
void add_code_sizes(const Chip& chip, LoweredOperator& lowered);

// Bytes on each tile.
struct CodeSizes {
  double vertex = 0;
  double control = 0;
  double internal_exchange = 0;
  double host_exchange = 0;
  double global_exchange = 0;
  double stack_and_vertex_state = 0;
};

// Of the program of one IPU. With outlining, equal operators share control and exchange code.
[[nodiscard]] CodeSizes code_sizes(const Lowering& lowering, const MemoryRequest& request);

}  // namespace podsim
