// Pipelined execution: every stage works on another micro-batch. The orders of PopTorch/PopART and of TensorFlow's
// pipelining (grouped, interleaved, sequential).
#include <algorithm>

#include "schedules/assemble.hpp"
#include "schedules/schedule.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// Pipeline positions: PopART runs consecutive stages on the same IPU together (PipelineInfo, numIndependentStages).
std::vector<std::int64_t> positions_of(const std::vector<int>& ipu_of_stage, bool merge) {
  std::vector<std::int64_t> positions(ipu_of_stage.size(), 0);
  for (std::size_t stage = 1; stage < ipu_of_stage.size(); ++stage) {
    const bool together = merge && ipu_of_stage[stage] == ipu_of_stage[stage - 1];
    positions[stage] = positions[stage - 1] + (together ? 0 : 1);
  }
  return positions;
}

void require_at_least(std::int64_t micro_batches, std::int64_t stages, bool training, const std::string& where) {
  if (micro_batches >= stages) return;
  const std::string name = training ? "gradient_accumulation_steps" : "inference_device_iterations";
  throw UserError(where,
                  name + " " + std::to_string(micro_batches) + " is less than the " + std::to_string(stages) +
                      " pipeline stages, so the pipeline would never be full",
                  "set " + name + " to at least " + std::to_string(stages) + ", or use fewer stages");
}

void require_multiple(std::int64_t micro_batches, std::int64_t factor, const std::string& order,
                      const std::string& where) {
  if (micro_batches % factor == 0) return;
  throw UserError(where,
                  "gradient_accumulation_steps " + std::to_string(micro_batches) + " is no multiple of " +
                      std::to_string(factor) + ", which the " + order + " order needs",
                  "use " + std::to_string((micro_batches / factor + 1) * factor));
}

class Pipelined final : public Schedule {
 public:
  [[nodiscard]] std::string name() const override { return "pipelined"; }
  [[nodiscard]] std::string description() const override {
    return "All stages work at the same time, each on another micro-batch; the pipeline drains at each weight update.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    return {{.name = "order",
             .type = OptionType::Choice,
             .default_value = "popart",
             .help = "popart: last forward merged with first backward; grouped (TensorFlow): a forward and a backward "
                     "pass in each slot; interleaved: one of them, less memory; sequential: one IPU at a time. "
                     "Inference has one order; only sequential differs.",
             .choices = {"popart", "grouped", "interleaved", "sequential"}}};
  }

  [[nodiscard]] Program emit(const StagedModel& model, const Execution& execution,
                             const Options& options) const override {
    const std::string& order = options.text("order");
    const bool training = execution.mode == Mode::Training;
    const bool sequential = order == "sequential";
    Scheme scheme = scheme_of(name(), options.where(), model);
    const std::vector<std::int64_t> positions = positions_of(scheme.ipu_of_stage, order == "popart");
    const std::int64_t stages = positions.back() + 1;
    const std::int64_t micro_batches = micro_batches_per_drain(execution);
    if (!sequential) require_at_least(micro_batches, stages, training, options.where());
    if (training && order == "grouped") require_multiple(micro_batches, 2 * stages, order, options.where());
    if (training && order == "interleaved") require_multiple(micro_batches, stages, order, options.where());
    scheme.period = sequential ? (training ? 2 : 1) * stages : training && order == "interleaved" ? 2 : 1;
    scheme.receive_buffers = training && (order == "grouped" || order == "interleaved") ? 1 : 0;
    scheme.host_overlap = scheme.host_overlap || order == "popart" || order == "grouped";
    const auto count = static_cast<int>(model.stages.size());
    const std::int64_t last = order == "popart" ? 2 * (stages - 1) : 2 * stages - 1;
    for (int stage = 0; stage < count; ++stage) {
      const std::int64_t position = positions[static_cast<std::size_t>(stage)];
      scheme.passes.push_back({stage, Pass::Forward, position, stage});
      if (training) scheme.passes.push_back({stage, Pass::Backward, last - position, 2 * count - 1 - stage});
    }
    return assemble(model, execution, scheme);
  }
};

}  // namespace

const Schedule& schedule_pipelined() {
  static const Pipelined schedule;
  return schedule;
}

}  // namespace podsim
