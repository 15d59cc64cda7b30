// Supersteps with their sync and exchange times.
#include "simulator/machine/superstep_list.hpp"

#include <algorithm>
#include <cmath>

namespace podsim {

TileVector SuperstepList::on_all_tiles(const TileVector& vector) const {
  if (vector.empty()) return TileVector(tiles_);
  TileVector all = vector;
  all.append(tiles_ - compute_tiles_, 0);
  return all;
}

void SuperstepList::add(std::string name, const TileVector& compute_cycles, const TileVector& bytes_in,
                        const TileVector& bytes_out, double repeat) {
  Superstep step;
  step.name = std::move(name);
  step.compute_cycles = on_all_tiles(compute_cycles);
  if (step.compute_cycles.maximum() > 0) {
    TileVector control(compute_tiles_, costs_->step_cycles());
    step.compute_cycles += on_all_tiles(control);
  }
  step.bytes_in = on_all_tiles(bytes_in);
  step.bytes_out = on_all_tiles(bytes_out);
  step.exchange_cycles = costs_->exchange_cycles(step.bytes_in.maximum(), step.bytes_out.maximum());
  step.sync_cycles = step.exchange_cycles > 0 ? costs_->sync_cycles() : 0;
  step.repeat = repeat;
  append(std::move(step));
}

void SuperstepList::add_waiting(std::string name, double exchange_cycles) {
  Superstep step;
  step.name = std::move(name);
  for (TileVector* vector : {&step.compute_cycles, &step.bytes_in, &step.bytes_out}) *vector = TileVector(tiles_);
  step.exchange_cycles = exchange_cycles;
  step.sync_cycles = costs_->sync_cycles();
  append(std::move(step));
}

void SuperstepList::add_control(double cycles) {
  for (Superstep& step : result_.supersteps) {
    if (step.repeat != 1 || step.compute_cycles.maximum() <= 0) continue;
    result_.compute_cycles -= step.compute_cycles_maximum();
    step.compute_cycles += on_all_tiles(TileVector(compute_tiles_, cycles));
    result_.compute_cycles += step.compute_cycles_maximum();
    return;
  }
}

void SuperstepList::append(Superstep step) {
  if (step.cycles() <= 0) return;
  result_.compute_cycles += step.repeat * step.compute_cycles_maximum();
  result_.sync_cycles += step.repeat * step.sync_cycles;
  result_.exchange_cycles += step.repeat * step.exchange_cycles;
  result_.supersteps.push_back(std::move(step));
}

void SuperstepList::add_exchange(std::string name, const TileVector& compute_cycles, double bytes, double repeat) {
  const TileVector share = bytes > 0 ? spread(bytes / 4, ElementType::Float32).scaled(4) : TileVector();
  add(std::move(name), compute_cycles, share, share, repeat);
}

TileVector SuperstepList::spread(double elements, ElementType type) const {
  const std::int64_t grain = std::max<std::int64_t>(1, 8 / bytes_of(type));
  return TileVector::spread(static_cast<std::int64_t>(std::ceil(elements)), grain, compute_tiles_, compute_tiles_);
}

TileVector SuperstepList::vector_loop(double elements, ElementType type, double cycles_per_vector) const {
  return spread(elements, type).mapped([&](double share) {
    return costs_->vector_cycles(share, type, cycles_per_vector);
  });
}

void SuperstepList::temporary(double bytes_per_tile) {
  result_.temporary_bytes_per_tile = std::max(result_.temporary_bytes_per_tile, bytes_per_tile);
}

}  // namespace podsim
