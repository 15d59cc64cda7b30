// Chip: reads the figures of one IPU from its parameter file.
#include "simulator/machine/chip.hpp"

#include <cmath>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

double positive(const ParameterSet& parameters, std::string_view name) {
  const Parameter* parameter = parameters.find(name);
  if (parameter == nullptr) {
    throw UserError("chip " + parameters.name(), "parameter \"" + std::string(name) + "\" is missing",
                    "add it to the chip's parameter file");
  }
  if (!std::isfinite(parameter->value) || parameter->value <= 0) {
    throw UserError("chip " + parameters.name(), "parameter \"" + std::string(name) + "\" must be positive");
  }
  return parameter->value;
}

double whole(const ParameterSet& parameters, std::string_view name) {
  const double value = positive(parameters, name);
  if (value != std::floor(value)) {
    throw UserError("chip " + parameters.name(), "parameter \"" + std::string(name) + "\" must be a whole number");
  }
  return value;
}

}  // namespace

double Chip::peak_flops(ElementType operands, ElementType partials) const {
  const double macs = bytes_of(operands) == 4   ? amp_macs_fp32
                      : bytes_of(partials) == 4 ? amp_macs_fp16_fp32
                                                : amp_macs_fp16_fp16;
  return 2 * macs * tiles * clock_hz;
}

Chip chip_from(const ParameterSet& parameters) {
  Chip chip;
  chip.name = parameters.name();
  chip.clock_hz = positive(parameters, "clock_hz");
  chip.tiles = static_cast<int>(whole(parameters, "tiles"));
  chip.workers_per_tile = static_cast<int>(whole(parameters, "workers_per_tile"));
  chip.bytes_per_tile = static_cast<std::int64_t>(whole(parameters, "bytes_per_tile"));
  chip.amp_macs_fp16_fp16 = positive(parameters, "amp_macs_fp16_fp16");
  chip.amp_macs_fp16_fp32 = positive(parameters, "amp_macs_fp16_fp32");
  chip.amp_macs_fp32 = positive(parameters, "amp_macs_fp32");
  chip.exchange_bytes_per_cycle = positive(parameters, "exchange_bytes_per_cycle");
  chip.sync_cycles = positive(parameters, "sync_cycles");
  chip.exchange_fixed_cycles = positive(parameters, "exchange_fixed_cycles");
  chip.memcpy_bytes_per_cycle = positive(parameters, "memcpy_bytes_per_cycle");
  chip.parameters = parameters;
  return chip;
}

}  // namespace podsim
