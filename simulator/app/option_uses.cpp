// What the operators of the built model say about the options.
#include "simulator/app/option_uses.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

template <typename Predicate>
bool any_operator(const StagedModel& model, Predicate holds) {
  return std::any_of(model.stages.begin(), model.stages.end(), [&](const Stage& stage) {
    return std::any_of(stage.operators.begin(), stage.operators.end(), holds);
  });
}

bool reads_numbers(const StagedModel& model) {
  return std::any_of(model.stages.begin(), model.stages.end(), [](const Stage& stage) {
    return std::any_of(stage.host_inputs.begin(), stage.host_inputs.end(),
                       [](const HostTensor& input) { return input.numbers; });
  });
}

bool given(const Scenario& scenario, const char* section, const char* key) {
  const Value* values = scenario.source.find(section);
  return values != nullptr && values->is_object() && values->contains(key);
}

bool has_checkpoints(const StagedModel& model) {
  return any_operator(model, [](const Operator& op) { return op.checkpoint; });
}

void require_norm_replicas(const Scenario& scenario, const Operator& op) {
  const auto* norm = std::get_if<NormShape>(&op.shape);
  if (norm == nullptr || norm->replica_span <= 1 || scenario.execution.replicas % norm->replica_span == 0) return;
  throw UserError(scenario.workload_request.options.where(),
                  "the batch norm " + op.name + " shares its statistics between " + std::to_string(norm->replica_span) +
                      " replicas, and there are " + std::to_string(scenario.execution.replicas),
                  "the number of replicas must be a multiple of norm_span");
}

// Given times stand for everything that the chip model would make of these.
constexpr const char* kChipKeys[][2] = {{"workload", "precision"},
                                        {"execution", "checkpoint_type"},
                                        {"execution", "partials"},
                                        {"execution", "outlining"},
                                        {"host", "input_type"}};

}  // namespace

void check_option_uses(const Scenario& scenario, const StagedModel& model) {
  if (model.profiled) return;
  if (scenario.recomputation == Recomputation::Named && !has_checkpoints(model)) {
    throw UserError(scenario.source.at("execution").where() + "/recomputation",
                    "no output is named for recomputation to keep",
                    "name operators or blocks in workload.checkpoints, or choose stage or every_layer");
  }
  for (const Stage& stage : model.stages) {
    for (const Operator& op : stage.operators) require_norm_replicas(scenario, op);
  }
}

std::vector<std::string> unused_options(const Scenario& scenario, const StagedModel& model) {
  std::vector<std::string> warnings;
  const auto unused = [&](const std::string& option, const std::string& reason) {
    warnings.push_back(option + " has no effect: " + reason);
  };
  if (scenario.workload_request.projection_serialization > 1 &&
      !any_operator(model, [](const Operator& op) { return op.serial_splits > 1; })) {
    unused("embedding or projection serialisation", model.model + " has no embedding and no language-model head");
  }
  const bool keeps =
      scenario.recomputation == Recomputation::Named || scenario.recomputation == Recomputation::EveryLayer;
  if (given(scenario, "workload", "checkpoints") && has_checkpoints(model) && !keeps) {
    unused("workload.checkpoints", "only the recomputation named or every_layer keeps them");
  }
  if (model.profiled) {
    for (const auto& [section, key] : kChipKeys) {
      if (given(scenario, section, key)) unused(std::string(section) + "." + key, "stages have given times and bytes");
    }
    if (scenario.host.synthetic && given(scenario, "workload", "input_bytes")) {
      unused("workload.input_bytes", "the data is synthetic (host.data)");
    }
  } else if (scenario.partition.input_bytes_per_element > 0 && !scenario.host.synthetic && !reads_numbers(model)) {
    unused("host.input_type", model.model + " reads no floating-point samples");
  }
  return warnings;
}

}  // namespace podsim
