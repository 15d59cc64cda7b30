// Search of the splits of a contraction and the cost of one of them.
#include "simulator/machine/planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// The vertical MAC vertex works on eight channels at a time, SLIC on blocks of four (PopLibs ConvOptions, Slic).
constexpr std::int64_t kVectorMacChannels = 8;
constexpr std::int64_t kSlicChannels = 4;
constexpr std::array<std::int64_t, 14> kSerialSteps{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

// Numbers of parts that differ in the size of the largest part, up to `limit`.
std::vector<std::int64_t> useful_splits(std::int64_t grains, std::int64_t limit) {
  std::vector<std::int64_t> splits;
  std::int64_t split = 1;
  while (split <= std::min(grains, limit)) {
    const std::int64_t largest = ceil_divide(grains, split);
    splits.push_back(ceil_divide(grains, largest));
    if (largest == 1) break;
    split = ceil_divide(grains, largest - 1);
  }
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  while (!splits.empty() && splits.back() > limit) splits.pop_back();
  return splits;
}

}  // namespace

// Grains of each dimension in one serial step.
struct Planner::Grains {
  std::int64_t groups = 1, group_size = 1;  // conv groups that one vertex call takes together
  std::int64_t rows = 1;
  std::int64_t columns = 1, column_size = 1;  // elements: step_columns
  std::int64_t step_columns = 1;
  std::int64_t inner = 1, inner_size = 1;
  std::int64_t kernel_blocks = 1;  // blocks of kernel positions for each block of channels
  std::int64_t step_inner = 1;     // channels (without the kernel) in one step
  bool packed = false;             // kernel rows beside each other in one block (few channels)

  // Elements summed over in the first `blocks` blocks.
  [[nodiscard]] std::int64_t inner_elements(std::int64_t blocks, std::int64_t kernel) const {
    if (kernel == 1) return std::min(step_inner, blocks * inner_size);
    if (packed) return step_inner * kernel * blocks / inner;
    const std::int64_t channel_blocks = blocks / kernel_blocks;
    const std::int64_t before = std::min(step_inner, channel_blocks * inner_size);
    const std::int64_t width = std::min(inner_size, step_inner - before);
    return before * kernel + (blocks % kernel_blocks) * width;
  }
};

Planner::Planner(const Chip& chip, const TileCosts& costs, const LoweringOptions& options)
    : costs_(&costs),
      options_(options),
      tiles_(chip.tiles - options.io_tiles),
      memory_bound_(options.available_memory_proportion * static_cast<double>(chip.bytes_per_tile)) {}

ElementType Planner::partials_of(const Contraction& contraction) const {
  return bytes_of(contraction.operands) == 4 ? ElementType::Float32 : options_.partials;
}

Planner::Grains Planner::grains_of(const PlannedContraction& planned) const {
  const Contraction& contraction = planned.contraction;
  Grains grains;
  const bool amp = planned.method == ContractionMethod::Amp;
  grains.group_size = amp ? 1 : planned.method == ContractionMethod::VectorMac ? kVectorMacChannels : kSlicChannels;
  grains.groups = ceil_divide(contraction.groups, grains.group_size);
  grains.rows = ceil_divide(contraction.rows, planned.plan.serial_rows);
  grains.step_columns = ceil_divide(contraction.columns, planned.plan.serial_columns);
  grains.column_size = amp ? costs_->amp_column_block() : grains.step_columns;
  grains.columns = ceil_divide(grains.step_columns, grains.column_size);
  grains.step_inner = ceil_divide(contraction.inner, planned.plan.serial_inner);
  grains.inner_size = amp ? costs_->amp_inner_block(contraction.operands) : grains.step_inner;
  grains.inner = ceil_divide(grains.step_inner, grains.inner_size);
  if (contraction.kernel_place == KernelPlace::Inner) {
    const ImageField& field = contraction.field;
    const std::int64_t padded = ceil_divide(grains.step_inner, 4) * 4;
    const std::int64_t packed_rows = amp ? grains.inner_size / std::min(padded, grains.inner_size) : 1;
    grains.packed = packed_rows > 1;
    grains.kernel_blocks = field.kernel_width * ceil_divide(field.kernel_height, packed_rows);
    grains.inner *= grains.kernel_blocks;
  }
  return grains;
}

namespace {

// `grains` shared out over `split` parts, the first ones larger by one; elements(first grain, last grain).
template <typename Elements>
std::vector<DimensionPart> parts_of(std::int64_t grains, std::int64_t split, Elements elements) {
  std::vector<DimensionPart> parts;
  const std::int64_t fewest = grains / split;
  const std::int64_t more = grains % split;
  std::int64_t first = 0;
  for (std::int64_t part = 0; part < split; ++part) {
    const std::int64_t size = fewest + (part < more ? 1 : 0);
    const std::int64_t count = elements(first, first + size);
    if (!parts.empty() && parts.back().grains == size && parts.back().elements == count) {
      ++parts.back().parts;
    } else {
      parts.push_back({1, size, count});
    }
    first += size;
  }
  return parts;
}

}  // namespace

Planner::Layout Planner::layout(const PlannedContraction& planned) const {
  const Grains grains = grains_of(planned);
  const Contraction& contraction = planned.contraction;
  const MatMulPlan& plan = planned.plan;
  const auto plain = [](std::int64_t size, std::int64_t limit) {
    return [size, limit](std::int64_t first, std::int64_t last) {
      return std::min(limit, last * size) - std::min(limit, first * size);
    };
  };
  const std::int64_t kernel = contraction.kernel_place == KernelPlace::Inner ? contraction.field.kernel() : 1;
  Layout layout;
  layout.groups = parts_of(grains.groups, plan.split_groups, plain(grains.group_size, contraction.groups));
  layout.rows = parts_of(grains.rows, plan.split_rows, plain(1, grains.rows));
  layout.columns = parts_of(grains.columns, plan.split_columns, plain(grains.column_size, grains.step_columns));
  layout.inner = parts_of(grains.inner, plan.split_inner, [&](std::int64_t first, std::int64_t last) {
    return grains.inner_elements(last, kernel) - grains.inner_elements(first, kernel);
  });
  return layout;
}

TileShare Planner::share(const PlannedContraction& planned, const DimensionPart& group, const DimensionPart& row,
                         const DimensionPart& column, const DimensionPart& inner) const {
  const Contraction& contraction = planned.contraction;
  TileShare share;
  share.groups = group.elements;
  share.rows = row.elements;
  share.columns = column.elements;
  share.inner_blocks = inner.grains;
  share.column_blocks = column.grains;
  const double groups = static_cast<double>(group.elements);
  const double rows = static_cast<double>(row.elements);
  const double columns = static_cast<double>(column.elements);
  const double summed = static_cast<double>(inner.elements);
  share.macs = groups * rows * columns * summed;
  share.right_elements = groups * summed * columns;
  share.partial_elements = groups * rows * columns * contraction.result_expansion;
  if (contraction.kernel_place == KernelPlace::Inner) {
    const Grains grains = grains_of(planned);
    const std::int64_t channels =
        std::min(grains.step_inner, ceil_divide(inner.grains, grains.kernel_blocks) * grains.inner_size);
    share.left_elements =
        groups * static_cast<double>(channels) * static_cast<double>(contraction.field.data_positions(row.elements));
  } else if (contraction.kernel_place == KernelPlace::Rows) {
    const std::int64_t channels = ceil_divide(row.elements, contraction.field.kernel());
    share.left_elements =
        groups * static_cast<double>(channels) * static_cast<double>(contraction.field.data_positions(inner.elements));
  } else {
    share.left_elements = groups * rows * summed;
  }
  return share;
}

double Planner::compute_cycles(const PlannedContraction& planned, const TileShare& share) const {
  const Contraction& contraction = planned.contraction;
  if (planned.method == ContractionMethod::Amp) {
    const bool kernel = contraction.kernel_place == KernelPlace::Inner;
    const std::int64_t line = kernel ? std::max<std::int64_t>(1, std::min(contraction.field.width, share.rows)) : 0;
    return costs_->amp_cycles({share.groups, share.rows, share.inner_blocks, share.column_blocks, line},
                              contraction.operands, partials_of(contraction));
  }
  const double groups = static_cast<double>(std::max<std::int64_t>(share.groups, 1));
  if (planned.method == ContractionMethod::VectorMac) {
    const std::int64_t blocks = ceil_divide(share.groups, kVectorMacChannels);
    const double padded = share.macs / groups * static_cast<double>(blocks * kVectorMacChannels);
    return costs_->vector_mac_cycles(padded, share.rows * blocks * std::max<std::int64_t>(share.columns, 1),
                                     contraction.operands);
  }
  const std::int64_t blocks = ceil_divide(share.groups, kSlicChannels);
  const double padded_width = static_cast<double>(ceil_divide(contraction.field.kernel_width, 4) * 4);
  const double padded = share.macs / groups * static_cast<double>(blocks * kSlicChannels) * padded_width /
                        static_cast<double>(contraction.field.kernel_width) * static_cast<double>(kSlicChannels) /
                        static_cast<double>(std::min(kSlicChannels, contraction.inner));
  return costs_->slic_cycles(padded, share.rows * blocks);
}

double Planner::operand_bytes_in(const PlannedContraction& planned, const TileShare& share) const {
  const Contraction& contraction = planned.contraction;
  const MatMulPlan& plan = planned.plan;
  const double element = static_cast<double>(bytes_of(contraction.operands));
  // Operands that were laid out for this plan (weights, rearranged ones) are on one of the tiles that need them.
  const double left_there = contraction.left_resident || contraction.rearrange_left ? 1.0 / plan.split_columns : 0;
  const double right_there = contraction.right_resident || contraction.rearrange_right ? 1.0 / plan.split_rows : 0;
  // Neighbours that need the same left operand receive it over their shared bus.
  const double port = plan.split_columns % 2 == 0 ? 0.5 : 1;
  return element * (share.left_elements * (1 - left_there) * port + share.right_elements * (1 - right_there));
}

double Planner::temporary_bytes(const PlannedContraction& planned, const TileShare& share) const {
  const Contraction& contraction = planned.contraction;
  const double element = static_cast<double>(bytes_of(contraction.operands));
  const bool whole = planned.plan.serial_columns * planned.plan.serial_inner * planned.plan.serial_rows == 1;
  const bool left_kept = contraction.left_resident && planned.plan.split_columns == 1 && whole;
  const bool right_kept = contraction.right_resident && planned.plan.split_rows == 1 && whole;
  const double operands = element * ((left_kept ? 0 : share.left_elements) + (right_kept ? 0 : share.right_elements));
  const double partials = share.partial_elements * static_cast<double>(bytes_of(partials_of(contraction)));
  const double reduction = planned.plan.split_inner > 1 ? 2 * partials : partials;
  double transformed = 0;
  if (contraction.rearrange_left) transformed += contraction.left_elements();
  if (contraction.rearrange_right) transformed += contraction.right_elements();
  const double transform = 2 * element * transformed / tiles_;  // before and after
  return std::max({operands + partials, reduction, transform});
}

double Planner::estimate(const PlannedContraction& planned, const TileShare& largest) const {
  const MatMulPlan& plan = planned.plan;
  const ElementType partials = partials_of(planned.contraction);
  const double bytes_in = operand_bytes_in(planned, largest);
  double cycles = compute_cycles(planned, largest) + costs_->step_cycles();
  if (bytes_in > 0) cycles += costs_->exchange_cycles(bytes_in, 0) + costs_->sync_cycles();
  if (plan.split_inner > 1) {
    const double kept = std::ceil(largest.partial_elements / plan.split_inner);
    const double received = kept * (plan.split_inner - 1) * static_cast<double>(bytes_of(partials));
    cycles += costs_->exchange_cycles(received, received) + costs_->sync_cycles() + costs_->step_cycles() +
              costs_->reduce_cycles(kept, plan.split_inner, partials);
  }
  const double serial = static_cast<double>(plan.serial_columns * plan.serial_inner * plan.serial_rows);
  if (serial > 1) {
    cycles += costs_->copy_cycles(planned.contraction.right_elements() / serial / tiles_ *
                                  static_cast<double>(bytes_of(planned.contraction.operands)));
  }
  return serial * cycles;
}

void Planner::consider(const Grains& grains, PlannedContraction& candidate, PlannedContraction& best,
                       PlannedContraction& smallest) const {
  MatMulPlan& plan = candidate.plan;
  const auto largest = [](std::int64_t count, std::int64_t split, std::int64_t size, std::int64_t limit) {
    const std::int64_t grains_there = ceil_divide(count, split);
    return DimensionPart{1, grains_there, std::min(limit, grains_there * size)};
  };
  const std::int64_t kernel =
      candidate.contraction.kernel_place == KernelPlace::Inner ? candidate.contraction.field.kernel() : 1;
  const std::int64_t blocks = ceil_divide(grains.inner, plan.split_inner);
  const TileShare fullest =
      share(candidate, largest(grains.groups, plan.split_groups, grains.group_size, candidate.contraction.groups),
            largest(grains.rows, plan.split_rows, 1, grains.rows),
            largest(grains.columns, plan.split_columns, grains.column_size, grains.step_columns),
            {1, blocks, grains.inner_elements(blocks, kernel)});
  plan.tiles_used = plan.split_groups * plan.split_rows * plan.split_columns * plan.split_inner;
  plan.macs_per_tile_maximum = fullest.macs;
  plan.temporary_bytes_per_tile = temporary_bytes(candidate, fullest);
  plan.bounded = plan.temporary_bytes_per_tile <= memory_bound_;
  candidate.estimated_cycles = estimate(candidate, fullest);
  if (plan.bounded && candidate.estimated_cycles < best.estimated_cycles) best = candidate;
  if (plan.temporary_bytes_per_tile < smallest.plan.temporary_bytes_per_tile) smallest = candidate;
}

void Planner::search(PlannedContraction candidate, PlannedContraction& best, PlannedContraction& smallest) const {
  const Grains grains = grains_of(candidate);
  MatMulPlan& plan = candidate.plan;
  for (const std::int64_t groups : useful_splits(grains.groups, tiles_)) {
    for (const std::int64_t columns : useful_splits(grains.columns, tiles_ / groups)) {
      for (const std::int64_t inner : useful_splits(grains.inner, tiles_ / (groups * columns))) {
        const std::int64_t most = std::min(grains.rows, tiles_ / (groups * columns * inner));
        plan.split_groups = static_cast<int>(groups);
        plan.split_columns = static_cast<int>(columns);
        plan.split_inner = static_cast<int>(inner);
        plan.split_rows = static_cast<int>(ceil_divide(grains.rows, ceil_divide(grains.rows, most)));
        consider(grains, candidate, best, smallest);
        if (plan.split_rows == 1) continue;
        plan.split_rows = 1;  // the weights stay where they are
        consider(grains, candidate, best, smallest);
      }
    }
  }
}

PlannedContraction Planner::plan(const Contraction& contraction) const {
  PlannedContraction best;
  best.estimated_cycles = std::numeric_limits<double>::infinity();
  PlannedContraction smallest;
  smallest.plan.temporary_bytes_per_tile = std::numeric_limits<double>::infinity();
  std::vector<PlannedContraction> forms(1);
  forms[0].contraction = contraction;
  if (contraction.kernel_place == KernelPlace::None && contraction.serial_columns * contraction.serial_inner == 1 &&
      contraction.result_expansion == 1) {
    PlannedContraction exchanged = forms[0];
    std::swap(exchanged.contraction.rows, exchanged.contraction.columns);
    std::swap(exchanged.contraction.left_resident, exchanged.contraction.right_resident);
    std::swap(exchanged.contraction.rearrange_left, exchanged.contraction.rearrange_right);
    exchanged.exchanged = true;
    forms.push_back(exchanged);
  }
  const bool grouped = contraction.groups > 1 && contraction.kernel_place == KernelPlace::Inner;
  if (grouped && contraction.inner * contraction.columns < 16) {
    forms.push_back(forms[0]);
    forms.back().method = ContractionMethod::VectorMac;
  }
  if (grouped && contraction.inner <= 4 && contraction.columns <= 4 && bytes_of(contraction.operands) == 2) {
    forms.push_back(forms[0]);
    forms.back().method = ContractionMethod::Slic;
  }
  for (const std::int64_t steps : kSerialSteps) {
    for (PlannedContraction form : forms) {
      for (const std::int64_t columns : kSerialSteps) {
        if (steps % columns != 0) continue;
        form.plan.serial_columns = contraction.serial_columns * columns;
        form.plan.serial_inner = contraction.serial_inner * (steps / columns);
        if (form.plan.serial_columns > form.contraction.columns || form.plan.serial_inner > form.contraction.inner) {
          continue;
        }
        search(form, best, smallest);
      }
    }
    if (std::isfinite(best.estimated_cycles)) return best;
  }
  if (!std::isfinite(smallest.plan.temporary_bytes_per_tile)) throw InternalError("planner: no plan at all");
  return smallest;
}

}  // namespace podsim
