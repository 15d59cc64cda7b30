// Template of a schedule plugin: all forward passes of an update, then all backward passes (GPipe). Copy it, change
// the offsets, build it as in schedules/README.md, and run `podsim --plugin fill_drain.so schedule SCENARIO`.
#include "schedules/assemble.hpp"
#include "schedules/schedule.hpp"
#include "simulator/core/error.hpp"

namespace {

class FillDrain final : public podsim::Schedule {
 public:
  [[nodiscard]] std::string name() const override { return "fill_drain"; }
  [[nodiscard]] std::string description() const override {
    return "All forward passes of an update, then all backward passes.";
  }
  // Whatever is declared here is checked, filled with defaults and shown by `podsim describe schedule fill_drain`.
  [[nodiscard]] std::vector<podsim::Option> options() const override {
    return {{.name = "pause_slots",
             .type = podsim::OptionType::Integer,
             .default_value = 0,
             .help = "Empty slots between the last forward and the first backward pass.",
             .minimum = 0,
             .maximum = 1000}};
  }

  // Micro-batch m runs a pass in slot m + its offset; stage s of N runs forward in slot m + s.
  [[nodiscard]] podsim::Program emit(const podsim::StagedModel& model, const podsim::Execution& execution,
                                     const podsim::Options& options) const override {
    podsim::Scheme scheme = podsim::scheme_of(name(), options.where(), model);
    const auto stages = static_cast<int>(model.stages.size());
    const std::int64_t forward_slots = podsim::micro_batches_per_drain(execution) + stages - 1;
    const std::int64_t turn = forward_slots + options.integer("pause_slots");
    for (int stage = 0; stage < stages; ++stage) {
      scheme.passes.push_back({stage, podsim::Pass::Forward, stage, stage});
      if (execution.mode != podsim::Mode::Training) continue;
      scheme.passes.push_back({stage, podsim::Pass::Backward, turn + stages - 1 - stage, 2 * stages - 1 - stage});
    }
    return podsim::assemble(model, execution, scheme);
  }
};

}  // namespace

extern "C" const podsim::Schedule* podsim_schedule() {
  static const FillDrain schedule;
  return &schedule;
}
