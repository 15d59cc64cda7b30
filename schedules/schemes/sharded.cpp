// Sharded execution: the model is spread over the IPUs, one of which works at a time, on one micro-batch.
#include "schedules/assemble.hpp"
#include "schedules/schedule.hpp"

namespace podsim {

namespace {

class Sharded final : public Schedule {
 public:
  [[nodiscard]] std::string name() const override { return "sharded"; }
  [[nodiscard]] std::string description() const override {
    return "One IPU at a time, one micro-batch at a time: no bubbles to fill, no stashes, no parallelism.";
  }
  [[nodiscard]] std::vector<Option> options() const override { return {}; }

  // Consecutive stages on the same IPU share a slot; so do the last forward and the first backward pass.
  [[nodiscard]] Program emit(const StagedModel& model, const Execution& execution,
                             const Options& options) const override {
    const bool training = execution.mode == Mode::Training;
    Scheme scheme = scheme_of(name(), options.where(), model);
    std::vector<std::int64_t> positions{0};
    for (std::size_t stage = 1; stage < model.stages.size(); ++stage) {
      const bool moves = model.stages[stage].ipu != model.stages[stage - 1].ipu;
      positions.push_back(positions.back() + (moves ? 1 : 0));
    }
    const std::int64_t last = 2 * positions.back();
    scheme.period = training ? last + 1 : positions.back() + 1;
    const auto count = static_cast<int>(model.stages.size());
    for (int stage = 0; stage < count; ++stage) {
      const std::int64_t position = positions[static_cast<std::size_t>(stage)];
      scheme.passes.push_back({stage, Pass::Forward, position, stage});
      if (training) scheme.passes.push_back({stage, Pass::Backward, last - position, 2 * count - 1 - stage});
    }
    return assemble(model, execution, scheme);
  }
};

}  // namespace

const Schedule& schedule_sharded() {
  static const Sharded schedule;
  return schedule;
}

}  // namespace podsim
