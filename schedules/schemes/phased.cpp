// Phased execution: one phase (stage) at a time, its weights and activations in streaming memory until they are
// needed. Phases forward, then backward: 2K - 1 of them in training.
#include "schedules/assemble.hpp"
#include "schedules/schedule.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

class Phased final : public Schedule {
 public:
  [[nodiscard]] std::string name() const override { return "phased"; }
  [[nodiscard]] std::string description() const override {
    return "One phase at a time; variables located off chip are streamed in for their phase and out again, so that a "
           "model fits that fits in no other way.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    return {{.name = "mode",
             .type = OptionType::Choice,
             .default_value = "serial",
             .help = "serial: one IPU runs all phases; parallel: even phases on one IPU, odd ones on another, so that "
                     "one computes while the other moves data. The partition decides the phases, not their IPUs.",
             .choices = {"serial", "parallel"}},
            {.name = "preload",
             .type = OptionType::Boolean,
             .default_value = true,
             .help = "Load a phase's variables during the phase before it, and store them during the next one. Serial "
                     "phases need IO tiles for it (io_overlap), parallel ones a sync pattern other than full."},
            {.name = "io_order",
             .type = OptionType::Choice,
             .default_value = "interleaving",
             .help = "Streaming-memory traffic of the weight update: interleaving (phase after phase), batch (all "
                     "loads, all updates, all stores), clustered (next loads and last stores beside each update).",
             .choices = {"interleaving", "batch", "clustered"}}};
  }

  [[nodiscard]] Program emit(const StagedModel& model, const Execution& execution,
                             const Options& options) const override {
    const bool training = execution.mode == Mode::Training;
    const bool parallel = options.text("mode") == "parallel";
    const auto phases = static_cast<int>(model.stages.size());
    Scheme scheme = scheme_of(name(), options.where(), model);
    scheme.ipus_per_replica = parallel ? 2 : 1;
    scheme.host_overlap = !parallel;
    scheme.phased = true;
    scheme.overlapped_loads = options.boolean("preload") && (parallel ? execution.sync_pattern != SyncPattern::Full
                                                                      : execution.io_overlap != IoOverlap::None);
    scheme.update_traffic = update_traffic(options.text("io_order"));
    scheme.period = training ? 2 * phases - 1 : phases;
    for (int phase = 0; phase < phases; ++phase) {
      scheme.ipu_of_stage[static_cast<std::size_t>(phase)] = phase % scheme.ipus_per_replica;
      scheme.passes.push_back({phase, Pass::Forward, phase, phase});
      if (training) scheme.passes.push_back({phase, Pass::Backward, 2 * (phases - 1) - phase, 2 * phases - 1 - phase});
    }
    return assemble(model, execution, scheme);
  }

 private:
  static UpdateTraffic update_traffic(const std::string& order) {
    if (order == "interleaving") return UpdateTraffic::Interleaving;
    return order == "batch" ? UpdateTraffic::Batch : UpdateTraffic::Clustered;
  }
};

}  // namespace

const Schedule& schedule_phased() {
  static const Phased schedule;
  return schedule;
}

}  // namespace podsim
