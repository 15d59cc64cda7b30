// CTC loss as popnn plans and runs it with `enableReducedClassesInLabel` (PopLibs lib/popnn/CTCLoss.cpp,
// CTCLossPlan.cpp and PerformanceEstimation.hpp): the log probabilities of the labels that occur are selected; one tile
// for each part of batch, time and labels steps through time, alpha from the front and beta from the back until they
// meet, then each through the other's half with the gradient; parts of the labels are added up as logarithms, and the
// gradients go back to their classes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

namespace {

constexpr double kLogAdd = 16;  // cycles of a worker: maximum, difference, exponent, addition, logarithm, addition
constexpr double kLogMultiply = 1;
constexpr double kPlannerStep = 190;  // what the planner takes for exchange and sync of each step

// A worker's cycles for one time step of `labels` symbols, each with the blank before it.
double recursion_cycles(double labels, bool last_blank) {
  return labels * (2 * (1 + 3) + 2 * (kLogAdd + kLogMultiply) + 2) + (last_blank ? kLogAdd + kLogMultiply : 0);
}

double gradient_cycles(double labels, bool last_blank) {
  const double own = labels * (2 * (2 + 1) + 2 * (kLogAdd + kLogMultiply));
  return recursion_cycles(labels, last_blank) + own + (last_blank ? kLogAdd + kLogMultiply : 0);
}

struct CtcPlan {
  std::int64_t tiles = 0;
  std::int64_t label_parts = 0;
  double labels = 0;  // of a tile
  double steps = 0;   // of each of the two recursions
  double recursion = 0, gradient = 0;
  [[nodiscard]] double cycles() const { return steps * (recursion + gradient + 2 * kPlannerStep); }
};

CtcPlan plan_of(const CtcShape& shape, std::int64_t batch_parts, std::int64_t label_parts, std::int64_t time_parts,
                int workers) {
  CtcPlan plan;
  plan.tiles = batch_parts * label_parts * time_parts;
  plan.label_parts = label_parts;
  const std::int64_t labels = ceil_divide(shape.labels, label_parts);
  const bool last_blank = labels * label_parts == shape.labels;
  plan.labels = static_cast<double>(labels);
  const std::int64_t parts = time_parts + time_parts % 2;  // alpha and beta do not meet on one tile
  plan.steps = static_cast<double>(ceil_divide(shape.time, time_parts) * parts) / 2;
  // One worker for each sequence of the batch; the others' turns pass unused.
  const double turns = static_cast<double>(ceil_divide(ceil_divide(shape.batch, batch_parts), workers) * workers);
  plan.recursion = turns * recursion_cycles(plan.labels, last_blank);
  plan.gradient = turns * gradient_cycles(plan.labels, last_blank);
  return plan;
}

CtcPlan fastest_plan(const CtcShape& shape, int tiles, int workers) {
  CtcPlan best;
  double cycles = std::numeric_limits<double>::infinity();
  for (std::int64_t batch = 1; batch <= std::min<std::int64_t>(shape.batch, tiles); ++batch) {
    for (std::int64_t labels = 1; labels <= std::min(shape.labels, tiles / batch); ++labels) {
      for (std::int64_t time = 1; time <= std::min(shape.time, tiles / (batch * labels)); ++time) {
        const CtcPlan plan = plan_of(shape, batch, labels, time, workers);
        if (plan.cycles() >= cycles) continue;
        best = plan;
        cycles = plan.cycles();
      }
    }
  }
  return best;
}

}  // namespace

void lower_ctc(const Operator& op, WorkKind work, SuperstepList& steps) {
  const auto* shape = std::get_if<CtcShape>(&op.shape);
  if (shape == nullptr || work == WorkKind::BackwardWeights) return;
  const ElementType type = op.inputs.empty() ? ElementType::Float16 : op.inputs.front().type;
  const TileCosts& costs = steps.costs();
  const double element_bytes = static_cast<double>(bytes_of(type));
  const double rows = static_cast<double>(shape->batch * shape->time);
  const double all = rows * static_cast<double>(shape->classes);
  if (work == WorkKind::BackwardInput) {  // the gradient is known; it is scaled by the loss's
    steps.add("ctc/scale-gradient", steps.vector_loop(all, type, costs.loop_cycles(VectorLoop::Binary, type)), {}, {});
    return;
  }
  const CtcPlan plan = fastest_plan(*shape, steps.compute_tiles(), costs.workers());
  const double selected = rows * static_cast<double>(std::min(shape->labels + 1, shape->classes));
  const auto moved = [&](const char* name, double elements, std::int64_t atom) {
    steps.add_exchange(std::string(name) + "/exchange", {}, elements * element_bytes);
    steps.add(std::string(name) + "/copy", steps.spread(elements, type).mapped([&](double e) {
      return costs.rearrange_cycles(e * element_bytes, atom);
    }),
              {}, {});
  };
  const auto loop = [&](const char* name, double cycles, double columns) {
    const TileVector used = TileVector::spread(plan.tiles, 1, static_cast<int>(plan.tiles), steps.compute_tiles());
    const double bytes = columns * 2 * plan.labels * 4;  // of symbols and blanks, fp32
    steps.add_exchange(name, used.scaled(cycles), bytes * static_cast<double>(plan.tiles), plan.steps);
  };
  moved("ctc/classes-first", all, bytes_of(type));
  moved("ctc/select", selected * static_cast<double>(plan.label_parts), 4);
  loop("ctc/alpha-beta", plan.recursion, 1);
  loop("ctc/gradient", plan.gradient, 2);
  if (plan.label_parts > 1) {
    steps.add_exchange("ctc/label-parts", {}, selected * static_cast<double>(plan.label_parts) * 4);
    steps.add("ctc/log-add", steps.spread(selected, ElementType::Float32).mapped([&](double e) {
      return e * static_cast<double>(plan.label_parts) * kLogAdd;
    }),
              {}, {});
  }
  steps.add("ctc/probabilities", steps.vector_loop(all, type, costs.loop_cycles(VectorLoop::Exponent, type)), {}, {});
  moved("ctc/update", selected, 4);
  moved("ctc/time-first", all, bytes_of(type));
  steps.temporary(2 * steps.spread(all, type).scaled(element_bytes).maximum());
}

}  // namespace podsim
