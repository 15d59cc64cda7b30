// Zero bubble under lockstep slots: the backward pass is split into the gradients of inputs, which the stage before
// waits for, and those of weights, which nobody waits for and which fill the ramps (Qi et al., "Zero Bubble Pipeline
// Parallelism", 2023; the placement into slots is our own, an IPU pipeline being a sequence of global slots).
//
// F of stage s in slot s + m and I in slot 2(N-1) - s + m, as PopART does with F and B. W is left out where a slot
// is shorter without it, the first and the last N-1 slots after the fill, and made up for where stages idle:
//   slots 2N-2 … M-1         W on every stage, for micro-batches 0 … M-2N+1
//   slots M+s … M+N-2        W in place of the missing forward passes
//   slots M+2N-3-s … M+3N-4  W in place of the missing I, and N-1 slots of their own
// M + 3(N-1) slots. With f = i = w they take 3 M f + (N-1) f, against 3 (M + N - 1) f of the PopART order.
#include <algorithm>

#include "schedules/assemble.hpp"
#include "schedules/schedule.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

void add_training_passes(Scheme& scheme, int stages, std::int64_t micro_batches) {
  const std::int64_t last = stages - 1;
  for (int stage = 0; stage < stages; ++stage) {
    const std::int64_t dense = micro_batches - 2 * last;  // weight gradients in the full slots
    const std::int64_t ramp = dense + last - stage;       // … and in place of forward passes
    const int order = 2 * stages - 1 - stage;
    const int weights_order = order + 2 * stages;
    scheme.passes.push_back({stage, Pass::Forward, stage, stage});
    scheme.passes.push_back({stage, Pass::BackwardInput, 2 * last - stage, order});
    scheme.passes.push_back({stage, Pass::BackwardWeights, 2 * last, weights_order, 0, dense});
    scheme.passes.push_back({stage, Pass::BackwardWeights, 2 * last + stage, weights_order, dense, ramp});
    scheme.passes.push_back({stage, Pass::BackwardWeights, 3 * last, weights_order, ramp, micro_batches});
  }
}

class ZeroBubble final : public Schedule {
 public:
  [[nodiscard]] std::string name() const override { return "zero_bubble"; }
  [[nodiscard]] std::string description() const override {
    return "Pipeline whose weight gradients fill the ramps (beyond the IPU's own software): fewer bubbles, more live "
           "micro-batches.";
  }
  [[nodiscard]] std::vector<Option> options() const override { return {}; }

  [[nodiscard]] Program emit(const StagedModel& model, const Execution& execution,
                             const Options& options) const override {
    const auto stages = static_cast<int>(model.stages.size());
    const bool training = execution.mode == Mode::Training;
    const std::int64_t micro_batches = micro_batches_per_drain(execution);
    const std::int64_t needed = training ? std::max(stages, 2 * stages - 2) : stages;
    if (micro_batches < needed) {
      const std::string key = training ? "gradient_accumulation_steps" : "inference_device_iterations";
      throw UserError(options.where(),
                      key + " " + std::to_string(micro_batches) + " is less than the " + std::to_string(needed) +
                          " micro-batches that a zero_bubble pipeline of " + std::to_string(stages) +
                          " stages has in flight",
                      "set " + key + " to at least " + std::to_string(needed));
    }
    Scheme scheme = scheme_of(name(), options.where(), model);
    if (training) {
      add_training_passes(scheme, stages, micro_batches);
    } else {
      for (int stage = 0; stage < stages; ++stage) scheme.passes.push_back({stage, Pass::Forward, stage, stage});
    }
    return assemble(model, execution, scheme);
  }
};

}  // namespace

const Schedule& schedule_zero_bubble() {
  static const ZeroBubble schedule;
  return schedule;
}

}  // namespace podsim
