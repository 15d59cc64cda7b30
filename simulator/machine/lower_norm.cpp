// Normalisations and softmax: statistics of groups of elements that lie on several tiles.
#include <algorithm>
#include <cmath>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

namespace {

// Groups x elements in a two-dimensional mapping: tiles in rows of groups and columns of elements, as square as the
// output of a matmul is. `partials` tiles share the statistics of one group.
struct GroupedData {
  double groups = 1, elements = 1;
  double partials = 1;
  std::int64_t replica_span = 1;
  ElementType type = ElementType::Float16;

  [[nodiscard]] double total() const { return groups * elements; }
};

GroupedData grouped_data(const Operator& op, int tiles) {
  GroupedData data;
  data.type = type_of(op);
  const double total = std::max(1.0, output_elements(op));
  if (const auto* norm = std::get_if<NormShape>(&op.shape); norm != nullptr && norm->groups > 0) {
    data.groups = static_cast<double>(norm->groups);
    data.replica_span = norm->replica_span;
    data.elements = norm->elements > 0 ? static_cast<double>(norm->elements) : total / data.groups;
  } else {
    data.elements = !op.outputs.empty() && !op.outputs.front().shape.empty()
                        ? static_cast<double>(std::max<std::int64_t>(1, op.outputs.front().shape.back()))
                        : total;
    data.groups = total / data.elements;
  }
  // Never fewer partials than needed to use all tiles, nor pieces smaller than 16 elements.
  const double square = std::sqrt(static_cast<double>(tiles) * data.elements / data.groups);
  const double needed = std::min(static_cast<double>(tiles) / data.groups, static_cast<double>(tiles));
  data.partials = std::clamp(std::max(square, needed), 1.0, std::max(1.0, data.elements / 16));
  data.partials = std::min(std::round(data.partials), static_cast<double>(tiles));
  return data;
}

// `count` statistics for each group: local sums by one pass of `loop` cycles per vector, partial sums to one tile
// for each group, and the result back to the tiles that hold the group.
void statistics(const std::string& name, const GroupedData& data, double count, double loop, SuperstepList& steps) {
  const double bytes = data.groups * count * 4;
  const TileVector local = steps.vector_loop(data.total(), data.type, loop);
  steps.add_exchange(name + "/local", local, data.partials > 1 ? bytes * data.partials : 0);
  if (data.replica_span > 1) {  // ring all-reduce of few bytes: 2 (R - 1) steps
    steps.add_waiting(name + "/replicas",
                      2 * static_cast<double>(data.replica_span - 1) * steps.costs().replica_step_cycles());
  }
  if (data.partials <= 1) return;
  const TileVector combined = steps.spread(data.groups * count, ElementType::Float32).mapped([&](double outputs) {
    return steps.costs().reduce_cycles(outputs, data.partials, ElementType::Float32);
  });
  // Each tile receives the statistics of its groups, which one tile sends once to all of them.
  const int tiles = steps.compute_tiles();
  const double received = bytes * data.partials / tiles;
  steps.add(name + "/combine", combined, TileVector(tiles, std::ceil(received)),
            steps.spread(data.groups * count, ElementType::Float32).scaled(4));
}

// Gradients of scale and offset: sums over the groups for each of the weights.
void weight_gradients(const Operator& op, const GroupedData& data, SuperstepList& steps) {
  double weights = 0;
  for (const Weight& weight : op.weights) weights += weight.trainable ? static_cast<double>(weight.elements) : 0;
  if (weights <= 0) return;
  const double tiles = static_cast<double>(steps.compute_tiles());
  const double partials = std::clamp(tiles / data.partials, 1.0, tiles);
  steps.add_exchange("norm/weight-partials", steps.vector_loop(data.total(), data.type, 3), weights * partials * 4);
  steps.add("norm/weight-reduce", steps.spread(weights, ElementType::Float32).mapped([&](double w) {
    return steps.costs().reduce_cycles(w, std::ceil(partials), ElementType::Float32);
  }),
            {}, {});
}

}  // namespace

void lower_norm(const Operator& op, WorkKind work, SuperstepList& steps) {
  const GroupedData data = grouped_data(op, steps.compute_tiles());
  const double binary = steps.costs().loop_cycles(VectorLoop::Binary, data.type);
  if (work == WorkKind::BackwardWeights) return weight_gradients(op, data, steps);
  if (work == WorkKind::Forward) {
    // popnn GroupNorm / BatchNorm: mean and mean square, then (x - mean) x invstd, then x gamma + beta.
    statistics("norm/statistics", data, 2, 2, steps);
    steps.add("norm/whiten", steps.vector_loop(data.total(), data.type, 2 * binary), {}, {});
    steps.add("norm/scale", steps.vector_loop(data.total(), data.type, 2 * binary), {}, {});
    return;
  }
  // Gradient: whiten again, two sums (gradient, gradient x whitened), then their combination.
  steps.add("norm/whiten", steps.vector_loop(data.total(), data.type, 2 * binary), {}, {});
  statistics("norm/gradient-sums", data, 2, 3, steps);
  steps.add("norm/gradient", steps.vector_loop(data.total(), data.type, 4 * binary), {}, {});
}

// PopART BatchNormOpx: gamma invstd and beta - mean gamma invstd of each channel, then popnn::bn::batchNormalise with
// them, a product and a sum.
void lower_stored_norm(const Operator& op, SuperstepList& steps) {
  const GroupedData data = grouped_data(op, steps.compute_tiles());
  const double binary = steps.costs().loop_cycles(VectorLoop::Binary, data.type);
  steps.add_exchange("norm/factors", steps.vector_loop(data.groups, data.type, 4 * binary),
                     2 * data.groups * static_cast<double>(bytes_of(data.type)) * data.partials);
  steps.add("norm/scale", steps.vector_loop(data.total(), data.type, 2 * binary), {}, {});
}

void lower_softmax(const Operator& op, WorkKind work, SuperstepList& steps) {
  if (work == WorkKind::BackwardWeights) return;
  const GroupedData data = grouped_data(op, steps.compute_tiles());
  const double binary = steps.costs().loop_cycles(VectorLoop::Binary, data.type);
  if (work == WorkKind::Forward) {
    // popnn softmax, stable: maximum, subtract and exponent, sum, divide.
    statistics("softmax/maximum", data, 1, 1, steps);
    steps.add(
        "softmax/exponent",
        steps.vector_loop(data.total(), data.type, binary + steps.costs().loop_cycles(VectorLoop::Exponent, data.type)),
        {}, {});
    statistics("softmax/sum", data, 1, 1, steps);
    steps.add("softmax/divide", steps.vector_loop(data.total(), data.type, binary), {}, {});
    return;
  }
  // y x (g - sum(g x y))
  statistics("softmax/gradient-sum", data, 1, binary + 1, steps);
  steps.add("softmax/gradient", steps.vector_loop(data.total(), data.type, 2 * binary), {}, {});
}

}  // namespace podsim
