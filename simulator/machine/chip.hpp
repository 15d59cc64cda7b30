// Chip: the figures of one IPU that lowering needs, read from a parameter file (topology/data/chips).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/core/element_type.hpp"
#include "simulator/core/parameter.hpp"

namespace podsim {

struct Chip {
  std::string name;
  double clock_hz = 0;
  int tiles = 0;
  int workers_per_tile = 0;
  std::int64_t bytes_per_tile = 0;
  double amp_macs_fp16_fp16 = 0;  // MACs per cycle and tile: fp16 operands, fp16 partials
  double amp_macs_fp16_fp32 = 0;  // fp16 operands, fp32 partials
  double amp_macs_fp32 = 0;
  double exchange_bytes_per_cycle = 0;  // per tile and direction
  double sync_cycles = 0;               // internal sync
  double exchange_fixed_cycles = 0;     // route and pipeline of an internal exchange
  double memcpy_bytes_per_cycle = 0;    // on-tile copy
  ParameterSet parameters;              // everything else (vertex rates, code sizes), by name

  // AMP peak of the whole chip, floating-point operations per second.
  [[nodiscard]] double peak_flops(ElementType operands, ElementType partials) const;

  friend bool operator==(const Chip&, const Chip&) = default;
};

// UserError where a parameter is missing or not usable.
[[nodiscard]] Chip chip_from(const ParameterSet& parameters);

}  // namespace podsim
