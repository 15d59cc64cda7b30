// Code sizes by superstep, from the chip's parameters.
#include "simulator/machine/code_size.hpp"

#include <cmath>

namespace podsim {

void add_code_sizes(const Chip& chip, LoweredOperator& lowered) {
  const double vertex = chip.parameters.get("vertex_code_bytes");
  const double message = chip.parameters.get("exchange_code_bytes_per_message");
  const double message_bytes = chip.parameters.get("exchange_message_bytes");
  const double fixed = chip.parameters.get("exchange_code_bytes_per_exchange");
  for (const Superstep& step : lowered.supersteps) {
    if (step.compute_cycles_maximum() > 0) lowered.code_bytes_per_tile += vertex;
    if (step.exchange_cycles <= 0) continue;
    const double sent = std::ceil(step.bytes_out.maximum() / message_bytes);
    const double received = std::ceil(step.bytes_in.maximum() / message_bytes);
    lowered.exchange_code_bytes_per_tile += fixed + message * (sent + received);
  }
}

}  // namespace podsim
