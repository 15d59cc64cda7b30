// Rows fetched from tables (multiSlice) and added into them (multiUpdateAdd).
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

namespace {

// Table of rows x width over the tiles: `row_split` x `width_split` pieces, each on `lookup_split` tiles that share the
// lookups (popops multiSlice plans these three splits). A tile looks at all lookups of its part and serves those that
// hit its rows.
struct TablePlan {
  std::int64_t row_split = 1, width_split = 1, lookup_split = 1;
  double cycles = std::numeric_limits<double>::infinity();
};

// Only a table of activations is copied for a split of the lookups; one of weights stays where it is stored.
template <typename Cycles>
TablePlan plan_table(const GatherShape& shape, ElementType type, int tiles, bool copies, Cycles cycles) {
  TablePlan best;
  const std::int64_t grain = std::max<std::int64_t>(1, 4 / bytes_of(type));  // no sub-word writes
  for (std::int64_t width = grain; width <= std::max(grain, shape.width + grain - 1); width *= 2) {
    TablePlan plan;
    plan.width_split = std::max<std::int64_t>(1, (shape.width + width - 1) / width);
    if (plan.width_split > tiles) continue;
    const std::int64_t most = copies ? std::min<std::int64_t>(tiles / plan.width_split, shape.lookups) : 1;
    for (plan.lookup_split = 1; plan.lookup_split <= std::max<std::int64_t>(1, most); plan.lookup_split *= 2) {
      plan.row_split = std::clamp<std::int64_t>(tiles / plan.width_split / plan.lookup_split, 1,
                                                std::max<std::int64_t>(1, shape.rows));
      plan.cycles = cycles(plan);
      if (plan.cycles < best.cycles) best = plan;
    }
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

// Lookups that one tile looks at, and those that it serves, in one of the serial steps.
double lookups_of_tile(const GatherShape& shape, const TablePlan& plan) {
  return std::ceil(static_cast<double>(shape.lookups) / static_cast<double>(plan.lookup_split));
}

double hits_of_tile(const GatherShape& shape, const TablePlan& plan, double serial) {
  return std::ceil(lookups_of_tile(shape, plan) / static_cast<double>(plan.row_split) / serial);
}

// Bytes of the piece of the table on one tile.
double piece_bytes(const GatherShape& shape, const TablePlan& plan, ElementType type) {
  return std::ceil(static_cast<double>(shape.rows) / static_cast<double>(plan.row_split)) * width_of_tile(shape, plan) *
         static_cast<double>(bytes_of(type));
}

TileVector on_used_tiles(const TablePlan& plan, int tiles, double value) {
  const int used = static_cast<int>(plan.row_split * plan.width_split * plan.lookup_split);
  TileVector vector;
  vector.append(used, value);
  vector.append(tiles - used, 0);
  return vector;
}

// Each serial step serves the lookups of one part of the table's rows, and looks at all of them.
void fetch(const GatherShape& shape, ElementType type, bool copies, double serial, SuperstepList& steps) {
  const int tiles = steps.compute_tiles();
  const double element = static_cast<double>(bytes_of(type));
  const auto received = [&](const TablePlan& plan) {
    return lookups_of_tile(shape, plan) * 4 + (plan.lookup_split > 1 ? piece_bytes(shape, plan, type) : 0);
  };
  const auto cycles = [&](const TablePlan& plan) {
    return steps.costs().slice_cycles(lookups_of_tile(shape, plan), hits_of_tile(shape, plan, serial),
                                      width_of_tile(shape, plan), type);
  };
  const TablePlan plan = plan_table(shape, type, tiles, copies, [&](const TablePlan& candidate) {
    return cycles(candidate) + (copies ? steps.costs().exchange_cycles(received(candidate), 0) : 0);
  });
  const double sent_table = plan.lookup_split > 1 ? static_cast<double>(shape.rows * shape.width) * element / 4 : 0;
  steps.add("gather/indices", {}, on_used_tiles(plan, tiles, received(plan)),
            steps.spread(static_cast<double>(shape.lookups) + sent_table, ElementType::Int32).scaled(4));
  const double rows_bytes = static_cast<double>(shape.lookups) * static_cast<double>(shape.width) * element / serial;
  const double sent = std::ceil(hits_of_tile(shape, plan, serial) * width_of_tile(shape, plan) * element);
  steps.add("gather/slice", on_used_tiles(plan, tiles, cycles(plan)),
            steps.spread(rows_bytes / 4, ElementType::Float32).scaled(4), on_used_tiles(plan, tiles, sent), serial);
  steps.temporary(received(plan) + sent);
}

void add_rows(const GatherShape& shape, ElementType type, bool copies, double serial, SuperstepList& steps) {
  const int tiles = steps.compute_tiles();
  const double element = static_cast<double>(bytes_of(type));
  // Which rows hit is known at run time only, so every tile of a column receives all of its part, in serial steps.
  const auto received = [&](const TablePlan& plan) {
    return std::ceil(lookups_of_tile(shape, plan) * (4 + width_of_tile(shape, plan) * element) / serial);
  };
  const auto cycles = [&](const TablePlan& plan) {
    return steps.costs().update_add_cycles(lookups_of_tile(shape, plan) / serial, hits_of_tile(shape, plan, serial),
                                           width_of_tile(shape, plan), type);
  };
  // Tiles that share the lookups each have a partial table; the partial tables are added up.
  const double table = static_cast<double>(shape.rows) * static_cast<double>(shape.width);
  const auto exchanged_partials = [&](const TablePlan& plan) {
    return plan.lookup_split > 1 ? table * static_cast<double>(plan.lookup_split) * element : 0;
  };
  const auto reduction = [&](const TablePlan& plan) {
    return plan.lookup_split > 1 ? steps.spread(table, type).mapped([&](double outputs) {
      return steps.costs().reduce_cycles(outputs, static_cast<double>(plan.lookup_split), type);
    })
                                 : TileVector();
  };
  const TablePlan plan = plan_table(shape, type, tiles, copies, [&](const TablePlan& candidate) {
    return cycles(candidate) + steps.costs().exchange_cycles(received(candidate), 0) +
           steps.costs().exchange_cycles(exchanged_partials(candidate) / tiles, 0) +
           (candidate.lookup_split > 1 ? reduction(candidate).maximum() : 0);
  });
  const double rows_bytes = static_cast<double>(shape.lookups) * static_cast<double>(shape.width) * element / serial;
  steps.add("scatter/rows", {}, on_used_tiles(plan, tiles, received(plan)),
            steps.spread(rows_bytes / 4, ElementType::Float32).scaled(4), serial);
  steps.add("scatter/update-add", on_used_tiles(plan, tiles, cycles(plan)), {}, {}, serial);
  if (plan.lookup_split > 1) {
    steps.add_exchange("scatter/partials", {}, exchanged_partials(plan));
    steps.add("scatter/reduce", reduction(plan), {}, {});
  }
  steps.temporary(received(plan) + (plan.lookup_split > 1 ? piece_bytes(shape, plan, type) : 0));
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
    fetch(*shape, type, !table_is_weight, serial, steps);
  } else {
    add_rows(*shape, type, !table_is_weight, serial, steps);
  }
}

}  // namespace podsim
