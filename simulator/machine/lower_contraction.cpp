// A planned contraction as supersteps, with the exact share of every tile.
#include <algorithm>
#include <cmath>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

namespace {

// Tile by tile figures of one serial step. Tiles with equal shares stand next to each other: the numbering of tiles
// within an operator is free, since exchange costs the same between any two of them.
struct TileShares {
  TileVector compute, operands_in, partials_in, partials_out, reduce, macs;
  double temporary_bytes = 0;
};

void append_share(const Planner& planner, const TileCosts& costs, const PlannedContraction& planned, int tiles,
                  const TileShare& share, TileShares& all) {
  const MatMulPlan& plan = planned.plan;
  const ElementType partials = planner.partials_of(planned.contraction);
  const double element = static_cast<double>(bytes_of(partials));
  all.compute.append(tiles, planner.compute_cycles(planned, share));
  all.operands_in.append(tiles, planner.operand_bytes_in(planned, share));
  all.macs.append(tiles, share.macs);
  all.temporary_bytes = std::max(all.temporary_bytes, planner.temporary_bytes(planned, share));
  const double kept = std::ceil(share.partial_elements / plan.split_inner);
  if (plan.split_inner > 1) {
    all.partials_in.append(tiles, kept * (plan.split_inner - 1) * element);
    all.partials_out.append(tiles, (share.partial_elements - kept) * element);
    all.reduce.append(tiles, costs.reduce_cycles(kept, plan.split_inner, partials));
  } else {
    all.partials_in.append(tiles, 0);
    all.partials_out.append(tiles, 0);
    // fp32 partials become fp16 results
    const bool cast = bytes_of(partials) != bytes_of(planned.contraction.operands);
    all.reduce.append(tiles, cast ? costs.vector_cycles(share.partial_elements, partials, 1) : 0);
  }
}

TileShares shares_of(const Planner& planner, const TileCosts& costs, const PlannedContraction& planned) {
  const Planner::Layout layout = planner.layout(planned);
  TileShares all;
  std::int64_t used = 0;
  for (const DimensionPart& group : layout.groups) {
    for (const DimensionPart& row : layout.rows) {
      for (const DimensionPart& column : layout.columns) {
        for (const DimensionPart& inner : layout.inner) {
          const std::int64_t tiles = group.parts * row.parts * column.parts * inner.parts;
          append_share(planner, costs, planned, static_cast<int>(tiles),
                       planner.share(planned, group, row, column, inner), all);
          used += tiles;
        }
      }
    }
  }
  const int idle = planner.tiles() - static_cast<int>(used);
  for (TileVector* vector :
       {&all.compute, &all.operands_in, &all.partials_in, &all.partials_out, &all.reduce, &all.macs}) {
    vector->append(idle, 0);
  }
  return all;
}

// Brings an operand or the result into another layout: pieces between tiles, then atoms within each tile.
void rearrange(const std::string& name, double elements, const Contraction& contraction, SuperstepList& steps) {
  const double bytes = elements * static_cast<double>(bytes_of(contraction.operands));
  steps.add_exchange(name + "/rearrange-exchange", {}, bytes);
  const TileVector share =
      steps.spread(elements, contraction.operands).scaled(static_cast<double>(bytes_of(contraction.operands)));
  steps.add(name + "/rearrange",
            share.mapped([&](double b) { return steps.costs().rearrange_cycles(b, contraction.atom_bytes); }), {}, {});
}

// An operand in its natural order comes out of another operator's layout: pieces are put in place on each tile before
// they are exchanged (PopLibs convolutions and matmuls pre-arrange their operands).
void arrange(const std::string& name, double elements, const Contraction& contraction, SuperstepList& steps) {
  constexpr std::int64_t kWholeVectors = 8;
  const double element = static_cast<double>(bytes_of(contraction.operands));
  steps.add(name + "/pre-arrange", steps.spread(elements, contraction.operands).mapped([&](double share) {
    return steps.costs().rearrange_cycles(share * element, kWholeVectors);
  }),
            {}, {});
}

}  // namespace

void lower_contraction(const Planner& planner, const PlannedContraction& planned, const std::string& name,
                       SuperstepList& steps) {
  const Contraction& contraction = planned.contraction;
  const MatMulPlan& plan = planned.plan;
  const double element = static_cast<double>(bytes_of(contraction.operands));
  if (contraction.rearrange_left) rearrange(name + "/left", contraction.left_elements(), contraction, steps);
  if (contraction.rearrange_right) rearrange(name + "/right", contraction.right_elements(), contraction, steps);
  if (!contraction.rearrange_left && !contraction.left_resident) {
    arrange(name + "/left", contraction.left_elements(), contraction, steps);
  }
  if (!contraction.rearrange_right && !contraction.right_resident) {
    arrange(name + "/right", contraction.right_elements(), contraction, steps);
  }

  const TileShares shares = shares_of(planner, steps.costs(), planned);
  const double serial = static_cast<double>(plan.serial_columns * plan.serial_inner * plan.serial_rows);
  if (serial > 1) {  // slice of the weights for this step, update of the result
    const double sliced = (contraction.right_elements() + contraction.result_elements()) * element / serial;
    const TileVector share = steps.spread(sliced / 4, ElementType::Float32).scaled(4);
    steps.add(name + "/slice", share.mapped([&](double b) { return steps.costs().copy_cycles(b); }), {}, {}, serial);
  }
  // Each operand leaves its tile once: any number of tiles may listen.
  const double left_sent = contraction.left_elements() / static_cast<double>(plan.serial_inner);
  const double right_sent = contraction.right_elements() / serial;
  const bool anything = shares.operands_in.maximum() > 0;
  const TileVector sent = steps.spread((left_sent + right_sent) * element / 4, ElementType::Float32).scaled(4);
  steps.add(name + "/operands", {}, anything ? shares.operands_in : TileVector(), anything ? sent : TileVector(),
            serial);
  steps.add(name + "/compute", shares.compute, shares.partials_in, shares.partials_out, serial);
  steps.add(name + (plan.split_inner > 1 ? "/reduce" : "/cast"), shares.reduce, {}, {}, serial);
  if (contraction.rearrange_result) rearrange(name + "/result", contraction.result_elements(), contraction, steps);

  LoweredOperator& result = steps.result();
  result.plans.push_back(plan);
  result.amp_flops += 2 * contraction.macs();
  const double all_macs = shares.macs.sum();
  // The last of several serial steps may be shorter: the vector holds its true share.
  steps.add_macs(shares.macs.scaled(all_macs > 0 ? contraction.macs() / all_macs : 0));
  steps.temporary(std::max(shares.temporary_bytes, plan.temporary_bytes_per_tile));
}

}  // namespace podsim
