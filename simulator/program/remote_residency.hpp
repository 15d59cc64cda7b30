// What lies on an IPU in each pass because it comes from or goes to streaming memory: read off the program, for the
// account of memory.
#pragma once

#include <vector>

#include "simulator/program/program.hpp"

namespace podsim {

// Bytes of other stages' buffers on the IPU while a stage runs: loaded ahead, kept from an earlier phase, or on their
// way out. The most over all runs of the pass; what the stage itself works on is not in them.
struct BuffersBeside {
  double forward_bytes = 0;
  double backward_bytes = 0;  // recomputation included
  double update_bytes = 0;
};
// Per stage. A buffer is on the IPU from its load to the last run of its stage, or the end of its store, before the
// next load; a forward pass makes activations that are stored later.
[[nodiscard]] std::vector<BuffersBeside> buffers_beside(const Program& program);

}  // namespace podsim
