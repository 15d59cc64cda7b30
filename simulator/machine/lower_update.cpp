// The optimiser's update of one weight tensor.
#include <algorithm>
#include <cmath>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

void lower_update(const Weight& weight, const Optimizer& optimizer, std::int64_t shards, SuperstepList& steps) {
  const double elements =
      std::ceil(static_cast<double>(weight.elements) / static_cast<double>(std::max<std::int64_t>(1, shards)));
  ElementType type = optimizer.accumulator_type;  // the widest operand sets the vector width
  for (const ElementType state : optimizer.state_types) {
    if (bytes_of(state) > bytes_of(type)) type = state;
  }
  const double binary = steps.costs().loop_cycles(VectorLoop::Binary, type);
  steps.add("update/elementwise", steps.vector_loop(elements, type, binary * optimizer.operations_per_weight), {}, {});
  // One operator of the graph for each state, and one for the weights.
  steps.add_control(steps.costs().operator_cycles() * static_cast<double>(1 + optimizer.state_types.size()));
  if (optimizer.norms_per_weight_tensor == 0) return;
  // Norms of the whole tensor: squares summed on each tile, over the tiles, and the result back to all of them.
  const double norms = optimizer.norms_per_weight_tensor;
  const int tiles = steps.compute_tiles();
  const TileVector one = TileVector::spread(1, 1, 1, tiles);
  const double bytes = norms * 4;
  steps.add("update/norm-local", steps.vector_loop(elements, type, norms), one.scaled(bytes * tiles),
            TileVector(tiles, bytes));
  steps.add("update/norm-sum", one.mapped([&](double there) {
    return there > 0 ? steps.costs().reduce_cycles(norms, tiles, ElementType::Float32) : 0;
  }),
            TileVector(tiles, bytes), one.scaled(bytes));
  steps.add("update/scale", steps.vector_loop(elements, type, binary), {}, {});
}

}  // namespace podsim
