// A workload given by its stages' measured times, for users who have profiled them, and for checks against closed
// formulas. One block with one Profiled operator for each stage; needs no chip.
#include <algorithm>
#include <cmath>
#include <memory>

#include "simulator/core/error.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

namespace {

// The options that hold one number for each stage, or one for all.
constexpr const char* kPerStage[] = {"forward_seconds", "backward_seconds", "recompute_seconds",
                                     "output_bytes",    "weight_bytes",     "weight_update_seconds"};

// From `stages`, the lists, or where neither tells, from the split that is asked for.
std::size_t stage_count(const WorkloadRequest& request) {
  const Options& options = request.options;
  std::size_t count = options.has("stages") ? static_cast<std::size_t>(options.integer("stages")) : 0;
  std::string from = "stages";
  const auto agree = [&](const std::string& name, std::size_t length, bool one_for_all) {
    if (length == 0) throw UserError(options.where(name), "the list is empty", "give one entry for each stage");
    if (one_for_all && length == 1) return;
    if (count != 0 && count != length) {
      throw UserError(options.where(name),
                      name + " has " + std::to_string(length) + " entries, but " + from + " says " +
                          std::to_string(count) + " stages",
                      "give one entry for each stage, or a single one for all");
    }
    count = length;
    from = name;
  };
  for (const char* name : kPerStage) agree(name, options.numbers(name).size(), true);
  if (options.has("ipu")) agree("ipu", options.integers("ipu").size(), false);
  if (count == 0) count = static_cast<std::size_t>(std::max(request.pipeline_ipus, 1));
  return count;
}

double entry(const Options& options, const char* name, std::size_t stage) {
  const std::vector<double> numbers = options.numbers(name);
  return numbers.size() == 1 ? numbers.front() : numbers[stage];
}

// Bytes as elements of one byte: sizes are given, not shapes.
std::int64_t whole_bytes(const Options& options, const char* name, std::size_t stage) {
  const double bytes = entry(options, name, stage);
  if (bytes != std::floor(bytes)) {
    throw UserError(options.where(name), "bytes must be whole numbers", "round them");
  }
  return static_cast<std::int64_t>(bytes);
}

Operator profiled_stage(const Options& options, std::size_t stage, bool training) {
  Operator op;
  op.name = "stage" + std::to_string(stage);
  op.kind = OperatorKind::Profiled;
  op.block = static_cast<int>(stage);
  op.shape =
      ProfiledTimes{entry(options, "forward_seconds", stage), training ? entry(options, "backward_seconds", stage) : 0,
                    training ? entry(options, "recompute_seconds", stage) : 0,
                    training ? entry(options, "weight_update_seconds", stage) : 0};
  op.outputs = {{op.name, {whole_bytes(options, "output_bytes", stage)}, ElementType::Int8}};
  const std::int64_t weight_bytes = whole_bytes(options, "weight_bytes", stage);
  if (weight_bytes % bytes_of(ElementType::Float16) != 0) {
    throw UserError(options.where("weight_bytes"), "weights are fp16, but the bytes are odd", "give even numbers");
  }
  if (weight_bytes > 0) {
    op.weights = {{op.name + "/weight", weight_bytes / bytes_of(ElementType::Float16), ElementType::Float16, true, ""}};
  }
  return op;
}

// Real data is prepared by the host even where it has no bytes.
Operator host_input(const Options& options) {
  Operator op;
  op.name = "input";
  op.kind = OperatorKind::Input;
  op.input_role = InputRole::Sample;
  op.differentiable = false;
  op.outputs = {{op.name, {options.integer("input_bytes")}, ElementType::Int8}};
  return op;
}

Option per_stage(const char* name, const char* help, double upper = 1e9) {
  Option option{name, OptionType::Numbers, Value(Value::Array{Value(0.0)}), help, 0};
  option.maximum = upper;
  return option;
}

class StageTimesWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "stage_times"; }
  [[nodiscard]] std::string description() const override {
    return "Pipeline stages with given times and bytes; lists have one entry for each stage, one number stands for "
           "all.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    Option forward = per_stage(kPerStage[0], "Forward pass of a micro-batch, seconds, for each stage.");
    forward.required = true;
    forward.default_value = {};
    Option count{"stages",
                 OptionType::Integer,
                 {},
                 "Number of stages; follows from the lists, or from the split asked for, where not given.",
                 1};
    count.maximum = 65536;
    return {forward,
            per_stage(kPerStage[1], "Backward pass of a micro-batch, seconds, without recomputation."),
            per_stage(kPerStage[2], "Recomputation before the backward pass, seconds."),
            per_stage(kPerStage[3], "Activations sent to the next stage for a micro-batch, bytes.", 1e15),
            per_stage(kPerStage[4], "fp16 weights of the stage, bytes; their gradients are all-reduced.", 1e15),
            {"input_bytes", OptionType::Integer, 0,
             "Data of a micro-batch from the host, bytes, read by the first stage (with real data).", 0, 1e15},
            per_stage(kPerStage[5], "Optimiser step of the stage, seconds, once per weight update."),
            {"ipu", OptionType::Integers, {}, "IPU of each stage; stage k is on IPU k where not given.", 0, 65535},
            count};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    auto workload = std::make_unique<WorkloadGraph>();
    workload->model = name();
    workload->samples_per_micro_batch = request.micro_batch_size;
    const std::size_t stages = stage_count(request);
    const std::vector<std::int64_t> ipus =
        request.options.has("ipu") ? request.options.integers("ipu") : std::vector<std::int64_t>{};
    std::vector<WorkloadGraph::Vertex> previous;
    if (!request.synthetic_data) previous = {workload->add(host_input(request.options))};
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const int ipu = ipus.empty() ? -1 : static_cast<int>(ipus[stage]);
      workload->blocks.push_back({"stage" + std::to_string(stage), BlockRole::Layer, -1, ipu});
      previous = {workload->add(profiled_stage(request.options, stage, request.training), previous)};
    }
    workload->validate();
    return workload;
  }
};

}  // namespace

const Workload& workload_stage_times() {
  static const StageTimesWorkload workload;
  return workload;
}

}  // namespace podsim
