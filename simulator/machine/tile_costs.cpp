// Cycle formulas of vertices. Sources, all of Graphcore's public PopLibs: lib/poplin/PerformanceEstimation.hpp (AMP,
// vertical MAC), lib/poplin/ConvModel.cpp (rearrangement regression, SLIC peak), lib/popops/PerformanceEstimation.cpp
// (elementwise, multiSlice, multiUpdateAdd), lib/popnn/PerformanceEstimation.hpp (non-linearities),
// lib/poprand/poprandCycleEstimators.cpp (dropout).
#include "simulator/machine/tile_costs.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// 1x1 AMP vertex, cycles of the supervisor's nested loops (the outermost first) and of its workers.
constexpr double kAmpCall = 50;
constexpr double kAmpGroup = 12;
constexpr double kAmpInnerGroup = 15;
constexpr double kAmpColumnGroup = 19;
constexpr double kAmpPass = 7;
constexpr double kAmpRetainedState = 7;       // worker cycles saved by keeping state between passes
constexpr double kAmpRetainedInnerState = 3;  // …, loaded again for each inner group
constexpr double kAmpKernelWorker = 18;       // nx1 vertex (with a kernel): worker start,
constexpr double kAmpKernelLine = 28;         // each line of at least three positions: 3 + 34 - 9,
constexpr double kAmpKernelPass = 18;         // supervisor, each pass
constexpr double kAmpColumns = 16;            // output channels of a column group
constexpr double kAmpBytesPerConvUnit = 32;   // 16 halves or 8 floats of weights

// Vertical MAC vertex.
constexpr double kVectorMacCall = 101;              // supervisor and worker start
constexpr double kVectorMacCyclesPerEight = 3;      // a kernel position of eight fp16 channels
constexpr double kVectorMacCyclesPerPosition = 22;  // partition loop, store and reload of the accumulators

// SLIC vertex: inputs of min(4, channels) x window 4 x 2 MACs per cycle.
constexpr double kSlicMacsPerCycle = 32;
constexpr double kSlicCall = 100;

// multiSlice and multiUpdateAdd.
constexpr double kSliceCall = 30, kSliceHit = 19, kSliceMiss = 8, kSliceCyclesPerVector = 2;
constexpr double kUpdateCall = 33, kUpdateHit = 12, kUpdateMiss = 5, kUpdateCyclesPerAtom = 3;

// Elementwise functions (popopsCycleEstimators.hpp, unaryOpPerfInfo and binaryOpPerfInfo): load, store and branch of a
// loop that is not unrolled.
constexpr double kUnvectorizedLoop = 4;

// CompareAndSwapAtDistanceKeyVal (popopsCycleEstimators.cpp), float keys with values: supervisor, each worker with one
// entry of its worklist, each pair.
constexpr double kCompareSwapCall = 19, kCompareSwapWorker = 23 + 4 + 11, kCompareSwapPair = 11;

double ceil_divide(double value, double divisor) { return std::ceil(value / divisor); }

}  // namespace

TileCosts::TileCosts(const Chip& chip)
    : chip_(&chip),
      workers_(chip.workers_per_tile),
      sync_(chip.sync_cycles),
      step_(chip.parameters.get("superstep_control_cycles")),
      operator_(chip.parameters.get("operator_control_cycles")),
      exchange_fixed_(chip.exchange_fixed_cycles),
      exchange_rate_(chip.exchange_bytes_per_cycle * chip.parameters.get("exchange_efficiency")),
      replica_step_(chip.parameters.get("replica_statistics_step_seconds") * chip.clock_hz),
      vector_bytes_(chip.parameters.get("vector_bytes")),
      supervisor_(chip.parameters.get("vertex_supervisor_cycles")),
      worker_(chip.parameters.get("vertex_worker_cycles")),
      amp_weight_rate_(chip.parameters.get("amp_weight_load_bytes_per_cycle")),
      copy_fixed_(chip.parameters.get("copy_fixed_cycles")),
      copy_rate_(chip.memcpy_bytes_per_cycle),
      rearrange_fixed_(chip.parameters.get("rearrange_fixed_cycles")),
      rearrange_8_(chip.parameters.get("rearrange_cycles_per_byte_atom8")),
      rearrange_4_(chip.parameters.get("rearrange_cycles_per_byte_atom4")),
      rearrange_2_(chip.parameters.get("rearrange_cycles_per_byte_atom2")) {}

std::int64_t TileCosts::amp_inner_block(ElementType operands) const { return bytes_of(operands) == 4 ? 8 : 16; }

double TileCosts::amp_worker_cycles(double rows, ElementType operands) const {
  if (bytes_of(operands) == 4) {
    if (rows <= 0) return 24;
    if (rows <= 2) return rows <= 1 ? 47 : 46;
    return 46 + 8 * (rows - 3);
  }
  if (rows <= 0) return 20 - kAmpRetainedState;
  if (rows <= 2) return (rows <= 1 ? 31 : 40) - kAmpRetainedState;
  return 37 - kAmpRetainedState + 4 * (rows - 3);
}

double TileCosts::amp_kernel_worker_cycles(double rows, double line, ElementType operands) const {
  const double lines = std::max(1.0, ceil_divide(rows, line));
  const double core = bytes_of(operands) == 4 ? 8 : 4;
  const double start = bytes_of(operands) == 4 ? kAmpKernelLine + 11 : kAmpKernelLine;
  return kAmpKernelWorker + lines * start + core * std::max(0.0, rows - 3 * lines);
}

double TileCosts::amp_cycles(const AmpWork& work, ElementType operands, ElementType partials) const {
  if (work.groups == 0 || work.rows == 0 || work.inner_blocks == 0 || work.column_blocks == 0) return 0;
  const bool single = bytes_of(operands) == 4;
  const double macs = single                    ? chip_->amp_macs_fp32
                      : bytes_of(partials) == 4 ? chip_->amp_macs_fp16_fp32
                                                : chip_->amp_macs_fp16_fp16;
  const double block_macs = static_cast<double>(amp_inner_block(operands)) * kAmpColumns;
  const double passes = block_macs / (macs * (single ? 8 : 4));
  const double weight_load = kAmpColumns / passes * kAmpBytesPerConvUnit / amp_weight_rate_;
  const double rows_of_worker = ceil_divide(static_cast<double>(work.rows), workers_);
  const bool kernel = work.line > 0;
  const double pass =
      weight_load + (kernel ? kAmpKernelPass + workers_ * amp_kernel_worker_cycles(
                                                              rows_of_worker, static_cast<double>(work.line), operands)
                            : kAmpPass + workers_ * amp_worker_cycles(rows_of_worker, operands));
  const double columns = static_cast<double>(work.column_blocks) * (kAmpColumnGroup + passes * pass);
  const double groups = static_cast<double>(work.groups);
  const double inner = static_cast<double>(work.inner_blocks);
  const double retained =
      single || kernel ? 0 : workers_ * (kAmpRetainedState + kAmpRetainedInnerState * (groups * inner - 1));
  return kAmpCall + retained + groups * (kAmpGroup + inner * (kAmpInnerGroup + columns));
}

double TileCosts::vector_mac_cycles(double macs, std::int64_t rows, ElementType operands) const {
  if (macs <= 0) return 0;
  const double width_ratio = static_cast<double>(bytes_of(operands)) / 2;
  return kVectorMacCall + macs / 8 * kVectorMacCyclesPerEight * width_ratio +
         static_cast<double>(rows) * kVectorMacCyclesPerPosition * width_ratio;
}

double TileCosts::slic_cycles(double padded_macs, std::int64_t rows) const {
  if (padded_macs <= 0) return 0;
  return kSlicCall + padded_macs / kSlicMacsPerCycle + static_cast<double>(rows);
}

double TileCosts::vector_cycles(double elements, ElementType type, double cycles_per_vector) const {
  if (elements <= 0) return 0;
  const double vectors = ceil_divide(elements * static_cast<double>(bytes_of(type)), vector_bytes_);
  return supervisor_ + workers_ * (worker_ + ceil_divide(vectors, workers_) * cycles_per_vector);
}

double TileCosts::loop_cycles(VectorLoop loop, ElementType type) const {
  const bool single = bytes_of(type) == 4;
  switch (loop) {
    case VectorLoop::Binary: return 2;  // two loads, one of them beside the store
    case VectorLoop::Relu: return 1;
    case VectorLoop::Gelu: return single ? 10 : 5;
    case VectorLoop::Tanh: return single ? 10 : 2;
    case VectorLoop::Sigmoid: return single ? 10 : 4;
    case VectorLoop::Swish: return single ? 11 : 5;
    case VectorLoop::Exponent: return single ? 10 : 4;  // as sigmoid: two transcendental issues for each vector
    case VectorLoop::Dropout: return 2;
    case VectorLoop::ReluGradient:
    case VectorLoop::TanhGradient:
    case VectorLoop::SigmoidGradient: return 3;
    case VectorLoop::GeluGradient: return single ? 10 : 5;
    case VectorLoop::SwishGradient: return single ? 15 : 9;
  }
  throw InternalError("loop_cycles: unknown loop");
}

double TileCosts::loop_cycles(ElementFunction function, ElementType type) const {
  using enum ElementFunction;
  const bool single = bytes_of(type) == 4;
  const double elements = single ? 2 : 4;  // of a vector
  switch (function) {
    case Add:
    case Subtract:
    case Multiply: return loop_cycles(VectorLoop::Binary, type);
    case Absolute: return elements * (1 + kUnvectorizedLoop);
    case Compare: return single ? 7 : 9;
    case Cosine: return elements * (single ? 2300 + kUnvectorizedLoop : 25);
    case Divide: return single ? 10 : 21;
    case Exponent: return single ? 6 : 4;
    case LogicalOr: return 5 * elements / 4;
    case LogOnePlus: return 18 + kUnvectorizedLoop;
    case Logarithm: return single ? 12 : 4;
    case Maximum: return single ? 3 : 4;
    case Negate:
    case Square: return 2;
    case Select: return elements * (5 + kUnvectorizedLoop);
    case Signum: return 5 + kUnvectorizedLoop;
    case SquareRoot: return single ? 10 : 23;
  }
  throw InternalError("loop_cycles: unknown function");
}

double TileCosts::compare_swap_cycles(double pairs) const {
  if (pairs <= 0) return 0;
  const double worker = kCompareSwapWorker + ceil_divide(pairs, workers_) * kCompareSwapPair;
  return kCompareSwapCall + workers_ * worker;
}

double TileCosts::reduce_cycles(double outputs, double partials, ElementType type) const {
  if (outputs <= 0 || partials <= 0) return 0;
  const double vectors = ceil_divide(outputs * static_cast<double>(bytes_of(type)), vector_bytes_) * partials;
  return supervisor_ + workers_ * (worker_ + ceil_divide(vectors, workers_));
}

double TileCosts::copy_cycles(double bytes) const { return bytes <= 0 ? 0 : copy_fixed_ + bytes / copy_rate_; }

double TileCosts::rearrange_cycles(double bytes, std::int64_t atom_bytes) const {
  if (bytes <= 0) return 0;
  const double rate = atom_bytes % 8 == 0 ? rearrange_8_ : atom_bytes % 4 == 0 ? rearrange_4_ : rearrange_2_;
  return rearrange_fixed_ + rate * bytes;
}

double TileCosts::slice_cycles(double lookups, double hits, double width, ElementType type) const {
  if (lookups <= 0 || width <= 0) return 0;
  const double row = ceil_divide(width, bytes_of(type) == 1 ? 4 : 2) * kSliceCyclesPerVector;
  const double worker_hits = ceil_divide(hits, workers_);
  const double worker_misses = ceil_divide(std::max(lookups - hits, 0.0), workers_);
  return workers_ * (kSliceCall + worker_hits * (kSliceHit + row) + worker_misses * kSliceMiss);
}

double TileCosts::update_add_cycles(double lookups, double hits, double width, ElementType type) const {
  if (lookups <= 0 || width <= 0) return 0;
  const double atoms = ceil_divide(width * static_cast<double>(bytes_of(type)), 4);
  const double worker_hits = ceil_divide(hits, workers_);
  const double worker_misses = ceil_divide(std::max(lookups - hits, 0.0), workers_);
  return workers_ *
         (kUpdateCall + worker_hits * (kUpdateHit + (atoms - 1) * kUpdateCyclesPerAtom) + worker_misses * kUpdateMiss);
}

double TileCosts::exchange_cycles(double bytes_in, double bytes_out) const {
  const double bytes = std::max(bytes_in, bytes_out);
  return bytes <= 0 ? 0 : exchange_fixed_ + bytes / exchange_rate_;
}

}  // namespace podsim
