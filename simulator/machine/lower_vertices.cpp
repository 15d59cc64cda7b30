// Elementwise operators, non-linearities, dropout, pooling, reduction, rearrangement, concatenation and loss.
#include <algorithm>
#include <cmath>

#include "simulator/core/error.hpp"
#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

ElementType type_of(const Operator& op) {
  if (!op.outputs.empty()) return op.outputs.front().type;
  return op.inputs.empty() ? ElementType::Float16 : op.inputs.front().type;
}

double input_elements(const Operator& op) {
  return op.inputs.empty() ? 0 : static_cast<double>(op.inputs.front().elements());
}

double output_elements(const Operator& op) {
  return op.outputs.empty() ? input_elements(op) : static_cast<double>(op.outputs.front().elements());
}

namespace {

double bytes_in(double elements, ElementType type) { return elements * static_cast<double>(bytes_of(type)); }

// A second full-sized operand has another producer, hence another layout: it is brought to the first one's.
double foreign_operand_bytes(const Operator& op) {
  double bytes = 0;
  for (std::size_t i = 1; i < op.inputs.size(); ++i) bytes += static_cast<double>(op.inputs[i].bytes());
  return bytes;
}

// One vertex for each function, and each an operator of the framework's graph.
void lower_functions(const Operator& op, WorkKind work, SuperstepList& steps) {
  const ElementType type = type_of(op);
  std::vector<ElementFunction> functions;
  if (work == WorkKind::Forward) {
    functions = op.functions;
    const double gathered = foreign_operand_bytes(op);
    if (gathered > 0) steps.add_exchange("elementwise/operand", {}, gathered);
  } else if (work == WorkKind::BackwardInput) {
    for (auto function = op.functions.rbegin(); function != op.functions.rend(); ++function) {
      const std::vector<ElementFunction> gradient = gradient_functions(*function);
      functions.insert(functions.end(), gradient.begin(), gradient.end());
    }
  }
  for (const ElementFunction function : functions) {
    const TileVector cycles = steps.vector_loop(output_elements(op), type, steps.costs().loop_cycles(function, type));
    steps.add("elementwise/" + std::string(name_of(function)), cycles, {}, {});
  }
  if (functions.size() > 1) {
    steps.add_control(steps.costs().operator_cycles() * static_cast<double>(functions.size() - 1));
  }
}

void lower_elementwise(const Operator& op, WorkKind work, SuperstepList& steps) {
  if (!op.functions.empty()) return lower_functions(op, work, steps);
  const ElementType type = type_of(op);
  const double elements = output_elements(op);
  const double cycles = steps.costs().loop_cycles(VectorLoop::Binary, type) * op.operations_per_element;
  if (work == WorkKind::Forward) {
    double gathered = foreign_operand_bytes(op);
    for (const Weight& weight : op.weights) gathered += bytes_in(static_cast<double>(weight.elements), weight.type);
    if (gathered > 0) steps.add_exchange("elementwise/operand", {}, gathered);
    steps.add("elementwise/compute", steps.vector_loop(elements, type, cycles), {}, {});
  } else if (work == WorkKind::BackwardInput) {
    // The gradient of a sum is the gradient itself; one of a product costs a multiplication for each operand.
    steps.add("elementwise/gradient", steps.vector_loop(elements, type, cycles), {}, {});
  } else if (!op.weights.empty()) {
    // Bias and scale: gradients summed over all positions; partial sums of each tile, then across tiles.
    double weights = 0;
    for (const Weight& weight : op.weights) weights += static_cast<double>(weight.elements);
    const double partials = std::max(1.0, std::sqrt(static_cast<double>(steps.compute_tiles())));
    steps.add_exchange("bias/partials", steps.vector_loop(elements, type, 1), bytes_in(weights, type) * partials);
    steps.add("bias/reduce", steps.spread(weights, type).mapped([&](double w) {
      return steps.costs().reduce_cycles(w, partials, type);
    }),
              {}, {});
  }
}

void lower_nonlinearity(const Operator& op, WorkKind work, VectorLoop forward, VectorLoop gradient,
                        SuperstepList& steps) {
  if (work == WorkKind::BackwardWeights) return;
  const VectorLoop loop = work == WorkKind::Forward ? forward : gradient;
  const ElementType type = type_of(op);
  steps.add(std::string(name_of(op.kind)) + "/compute",
            steps.vector_loop(output_elements(op), type, steps.costs().loop_cycles(loop, type)), {}, {});
}

void lower_pooling(const Operator& op, WorkKind work, SuperstepList& steps) {
  if (work == WorkKind::BackwardWeights) return;
  const auto* pool = std::get_if<PoolShape>(&op.shape);
  const ElementType type = type_of(op);
  const double outputs = pool != nullptr ? static_cast<double>(pool->out_elements) : output_elements(op);
  const double window = pool != nullptr ? static_cast<double>(pool->window) : 1;
  const double stride = pool != nullptr ? static_cast<double>(pool->stride) : 1;
  // Overlapping windows read neighbours' data; non-overlapping ones do not.
  const double halo = std::min(input_elements(op), outputs * std::max(0.0, window - stride) / std::max(window, 1.0));
  // Maximum: the backward pass reads output and gradient as well.
  const double passes = work == WorkKind::Forward ? 1 : (pool != nullptr && pool->maximum ? 2 : 1);
  if (halo > 0) steps.add_exchange("pooling/halo", {}, bytes_in(halo * passes, type));
  // Fewer vectors of outputs than workers (global pooling): the windows are shared out, and partial results meet.
  const double vectors = outputs * static_cast<double>(bytes_of(type)) / 8;
  const double workers = static_cast<double>(steps.compute_tiles() * steps.costs().workers());
  const double partials = std::clamp(std::floor(workers / std::max(vectors, 1.0)), 1.0, window);
  steps.add_exchange("pooling/compute",
                     steps.vector_loop(outputs * partials, type, std::ceil(window / partials) * passes),
                     partials > 1 ? bytes_in(outputs * partials, type) : 0);
  if (partials > 1) {
    steps.add("pooling/combine", steps.spread(outputs, type).mapped([&](double o) {
      return steps.costs().reduce_cycles(o, partials, type);
    }),
              {}, {});
  }
}

void lower_reduction(const Operator& op, WorkKind work, SuperstepList& steps) {
  if (work == WorkKind::BackwardWeights) return;
  const ElementType type = type_of(op);
  const double inputs = input_elements(op);
  const double outputs = output_elements(op);
  if (work == WorkKind::BackwardInput) {  // broadcast
    steps.add_exchange("reduction/broadcast", {}, bytes_in(outputs, type));
    steps.add("reduction/fill", steps.vector_loop(inputs, type, 1), {}, {});
    return;
  }
  const double tiles = static_cast<double>(steps.compute_tiles());
  const double share = std::ceil(inputs / tiles);
  const double depth = std::max(1.0, inputs / std::max(outputs, 1.0));
  const double partials = std::clamp(depth / std::max(share, 1.0), 1.0, tiles);  // tiles that share one result
  steps.add_exchange("reduction/partials", steps.vector_loop(inputs, type, op.operations_per_element),
                     partials > 1 ? bytes_in(outputs * partials, ElementType::Float32) : 0);
  if (partials > 1) {
    steps.add("reduction/combine", steps.spread(outputs, ElementType::Float32).mapped([&](double o) {
      return steps.costs().reduce_cycles(o, std::ceil(partials), ElementType::Float32);
    }),
              {}, {});
  }
}

// popops::topK, a bitonic sort (lib/popops/BitonicTopK.cpp): sorted runs of k' elements (k rounded up to a power of
// two), then rounds that keep the larger half of two runs and sort it again. Each step compares pairs at one distance,
// for which keys and indices move to the tiles that compare them.
void lower_top_k(const Operator& op, WorkKind work, SuperstepList& steps) {
  const auto* shape = std::get_if<TopKShape>(&op.shape);
  if (shape == nullptr || work != WorkKind::Forward) return;
  constexpr double kPairBytes = 8;  // a key and its index
  const auto levels = static_cast<int>(std::ceil(std::log2(static_cast<double>(std::max<std::int64_t>(shape->k, 2)))));
  const double run = std::exp2(levels);
  double live = static_cast<double>(shape->rows) * static_cast<double>(shape->elements);
  const auto compare = [&](const char* name, int repeat) {
    const TileVector cycles = steps.spread(live / 2, ElementType::Float32).mapped([&](double pairs) {
      return steps.costs().compare_swap_cycles(pairs);
    });
    steps.add_exchange(name, cycles, live * kPairBytes, repeat);
  };
  compare("top_k/sort-runs", levels * (levels + 1) / 2);
  for (double runs = std::ceil(static_cast<double>(shape->elements) / run); runs > 1; runs = std::ceil(runs / 2)) {
    compare("top_k/merge", 1);
    live = static_cast<double>(shape->rows) * run * std::ceil(runs / 2);
    compare("top_k/sort-again", levels);
  }
}

// Bytes that stay next to each other: whole rows where the last dimension is only cut or joined, pairs of elements
// where it is transposed.
std::int64_t contiguous_bytes(const Operator& op, ElementType type) {
  const std::vector<std::int64_t> none;
  const std::vector<std::int64_t>& from = op.inputs.empty() ? none : op.inputs.front().shape;
  const std::vector<std::int64_t>& to = op.outputs.empty() ? none : op.outputs.front().shape;
  if (from.empty() || to.empty()) return 4;
  const std::int64_t shorter = std::min(from.back(), to.back());
  const bool cut = shorter > 0 && std::max(from.back(), to.back()) % shorter == 0;
  const std::int64_t from_rows = from.size() > 1 ? from[from.size() - 2] : 1;
  const std::int64_t to_rows = to.size() > 1 ? to[to.size() - 2] : 1;
  return cut && from_rows == to_rows ? shorter * bytes_of(type) : 4;
}

// All data moves between tiles, then into place on each of them.
void lower_rearrangement(const Operator& op, WorkKind work, bool exchange_only, SuperstepList& steps) {
  if (work == WorkKind::BackwardWeights) return;
  const ElementType type = type_of(op);
  const double elements = output_elements(op);
  const std::int64_t atom = contiguous_bytes(op, type);
  const std::string name(name_of(op.kind));
  steps.add_exchange(name + "/exchange", {}, bytes_in(elements, type));
  const TileVector bytes = steps.spread(elements, type).scaled(static_cast<double>(bytes_of(type)));
  steps.add(name + "/copy", bytes.mapped([&](double b) {
    return exchange_only ? steps.costs().copy_cycles(b) : steps.costs().rearrange_cycles(b, atom);
  }),
            {}, {});
  steps.temporary(2 * bytes.maximum());
}

// Log-softmax of the logits, negative log likelihood and a mean; backward: softmax minus the label.
void lower_loss(const Operator& op, WorkKind work, SuperstepList& steps) {
  if (work == WorkKind::BackwardWeights) return;
  const ElementType type = op.inputs.empty() ? ElementType::Float16 : op.inputs.front().type;
  const double elements = input_elements(op);
  const double results = std::max(1.0, output_elements(op));
  if (work == WorkKind::BackwardInput) {
    steps.add("loss/gradient", steps.vector_loop(elements, type, steps.costs().loop_cycles(VectorLoop::Binary, type)),
              {}, {});
    return;
  }
  const double loop =
      steps.costs().loop_cycles(VectorLoop::Exponent, type) + steps.costs().loop_cycles(VectorLoop::Binary, type);
  steps.add_exchange("loss/exponent", steps.vector_loop(elements, type, loop),
                     bytes_in(results * static_cast<double>(steps.compute_tiles()), ElementType::Float32) /
                         static_cast<double>(steps.compute_tiles()));
  steps.add("loss/reduce", steps.vector_loop(elements, type, 1), {}, {});
}

}  // namespace

void lower_vertices(const Operator& op, WorkKind work, SuperstepList& steps) {
  switch (op.kind) {
    case OperatorKind::Gelu: return lower_nonlinearity(op, work, VectorLoop::Gelu, VectorLoop::GeluGradient, steps);
    case OperatorKind::Relu: return lower_nonlinearity(op, work, VectorLoop::Relu, VectorLoop::ReluGradient, steps);
    case OperatorKind::Swish: return lower_nonlinearity(op, work, VectorLoop::Swish, VectorLoop::SwishGradient, steps);
    case OperatorKind::Tanh: return lower_nonlinearity(op, work, VectorLoop::Tanh, VectorLoop::TanhGradient, steps);
    case OperatorKind::Sigmoid:
      return lower_nonlinearity(op, work, VectorLoop::Sigmoid, VectorLoop::SigmoidGradient, steps);
    case OperatorKind::Dropout:  // the mask is drawn again from the same seed in the backward pass
      return lower_nonlinearity(op, work, VectorLoop::Dropout, VectorLoop::Dropout, steps);
    case OperatorKind::Elementwise: return lower_elementwise(op, work, steps);
    case OperatorKind::Pooling: return lower_pooling(op, work, steps);
    case OperatorKind::Reduction: return lower_reduction(op, work, steps);
    case OperatorKind::TopK: return lower_top_k(op, work, steps);
    case OperatorKind::Transpose: return lower_rearrangement(op, work, false, steps);
    case OperatorKind::Concat:
    case OperatorKind::Slice: return lower_rearrangement(op, work, true, steps);
    case OperatorKind::Loss: return lower_loss(op, work, steps);
    default: throw InternalError("lower_vertices: operator kind " + std::string(name_of(op.kind)));
  }
}

void lower_accumulation(double elements, ElementType type, SuperstepList& steps) {
  steps.add("accumulate/add", steps.vector_loop(elements, type, steps.costs().loop_cycles(VectorLoop::Binary, type)),
            {}, {});
}

void lower_gradient_statistics(double elements, ElementType type, SuperstepList& steps) {
  // Histogram of two bins: a comparison and an addition for each vector, then counts of all tiles on one.
  const double counts = 2 * static_cast<double>(steps.compute_tiles());
  steps.add_exchange("loss-scaling/histogram",
                     steps.vector_loop(elements, type, 2 * steps.costs().loop_cycles(VectorLoop::Binary, type)),
                     bytes_in(counts, ElementType::Float32));
  steps.add("loss-scaling/sum", TileVector::spread(1, 1, 1, steps.compute_tiles()).mapped([&](double there) {
    return there > 0 ? steps.costs().reduce_cycles(2, static_cast<double>(steps.compute_tiles()), ElementType::Float32)
                     : 0;
  }),
            {}, {});
}

void lower_outlined_call(double bytes, SuperstepList& steps) {
  const TileVector share = steps.spread(bytes / 4, ElementType::Float32).scaled(4);
  steps.add("outline/copy", share.mapped([&](double b) { return steps.costs().copy_cycles(b); }), {}, {});
}

}  // namespace podsim
