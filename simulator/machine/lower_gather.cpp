// Rows fetched from tables (multiSlice) and added into them (multiUpdateAdd).
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

namespace {

// Table of rows x width over the tiles: `row_split` x `width_split` pieces. Every tile looks at all lookups and
// serves those that hit its rows.
struct TablePlan {
  std::int64_t row_split = 1, width_split = 1;
  double cycles = std::numeric_limits<double>::infinity();
};

template <typename Cycles>
TablePlan plan_table(const GatherShape& shape, ElementType type, int tiles, Cycles cycles) {
  TablePlan best;
  const std::int64_t grain = std::max<std::int64_t>(1, 4 / bytes_of(type));  // no sub-word writes
  for (std::int64_t width = grain; width <= std::max(grain, shape.width + grain - 1); width *= 2) {
    TablePlan plan;
    plan.width_split = std::max<std::int64_t>(1, (shape.width + width - 1) / width);
    if (plan.width_split > tiles) continue;
    plan.row_split = std::clamp<std::int64_t>(tiles / plan.width_split, 1, std::max<std::int64_t>(1, shape.rows));
    plan.cycles = cycles(plan);
    if (plan.cycles < best.cycles) best = plan;
  }
  if (!std::isfinite(best.cycles)) {  // rows wider than the tiles have words
    best.width_split = tiles;
    best.cycles = cycles(best);
  }
  return best;
}

double width_of_tile(const GatherShape& shape, const TablePlan& plan) {
  return std::ceil(static_cast<double>(shape.width) / static_cast<double>(plan.width_split));
}

// Lookups that one tile serves in one of the serial steps.
double hits_of_tile(const GatherShape& shape, const TablePlan& plan, double serial) {
  return std::ceil(static_cast<double>(shape.lookups) / static_cast<double>(plan.row_split) / serial);
}

TileVector on_used_tiles(const TablePlan& plan, int tiles, double value) {
  const int used = static_cast<int>(plan.row_split * plan.width_split);
  TileVector vector;
  vector.append(used, value);
  vector.append(tiles - used, 0);
  return vector;
}

// Each serial step serves the lookups of one part of the table's rows, and looks at all of them.
void fetch(const GatherShape& shape, ElementType type, double serial, SuperstepList& steps) {
  const int tiles = steps.compute_tiles();
  const double lookups = static_cast<double>(shape.lookups);
  const double element = static_cast<double>(bytes_of(type));
  const auto cycles = [&](const TablePlan& plan) {
    return steps.costs().slice_cycles(lookups, hits_of_tile(shape, plan, serial), width_of_tile(shape, plan), type);
  };
  const TablePlan plan = plan_table(shape, type, tiles, cycles);
  const TileVector indices = on_used_tiles(plan, tiles, lookups * 4);
  steps.add("gather/indices", {}, indices, steps.spread(lookups, ElementType::Int32).scaled(4));
  const double rows_bytes = lookups * static_cast<double>(shape.width) * element / serial;
  const double sent = std::ceil(hits_of_tile(shape, plan, serial) * width_of_tile(shape, plan) * element);
  steps.add("gather/slice", on_used_tiles(plan, tiles, cycles(plan)),
            steps.spread(rows_bytes / 4, ElementType::Float32).scaled(4), on_used_tiles(plan, tiles, sent), serial);
  steps.temporary(lookups * 4 + sent);
}

void add_rows(const GatherShape& shape, ElementType type, double serial, SuperstepList& steps) {
  const int tiles = steps.compute_tiles();
  const double lookups = static_cast<double>(shape.lookups);
  const double element = static_cast<double>(bytes_of(type));
  // Which rows hit is known at run time only, so every tile of a column receives all of them, in parts.
  const auto received = [&](const TablePlan& plan) {
    return std::ceil(lookups * (4 + width_of_tile(shape, plan) * element) / serial);
  };
  const auto cycles = [&](const TablePlan& plan) {
    return steps.costs().update_add_cycles(lookups / serial, hits_of_tile(shape, plan, serial),
                                           width_of_tile(shape, plan), type);
  };
  const TablePlan plan = plan_table(shape, type, tiles, [&](const TablePlan& candidate) {
    return cycles(candidate) + steps.costs().exchange_cycles(received(candidate), 0);
  });
  const double rows_bytes = lookups * static_cast<double>(shape.width) * element / serial;
  steps.add("scatter/rows", {}, on_used_tiles(plan, tiles, received(plan)),
            steps.spread(rows_bytes / 4, ElementType::Float32).scaled(4), serial);
  steps.add("scatter/update-add", on_used_tiles(plan, tiles, cycles(plan)), {}, {}, serial);
  steps.temporary(received(plan));
}

}  // namespace

void lower_gather(const Operator& op, WorkKind work, SuperstepList& steps) {
  const auto* shape = std::get_if<GatherShape>(&op.shape);
  if (shape == nullptr) return;
  const ElementType type = type_of(op);
  const double serial = static_cast<double>(std::max<std::int64_t>(1, op.serial_splits));
  const bool table_is_weight = op.kind == OperatorKind::EmbeddingGather;
  const bool forward_fetches = op.kind != OperatorKind::Scatter;
  // A table of weights has its gradient in the weights; indices have none.
  if (table_is_weight && work == WorkKind::BackwardInput) return;
  if (!table_is_weight && work == WorkKind::BackwardWeights) return;
  const bool fetches = (work == WorkKind::Forward) == forward_fetches;
  if (fetches) {
    fetch(*shape, type, serial, steps);
  } else {
    add_rows(*shape, type, serial, steps);
  }
}

}  // namespace podsim
