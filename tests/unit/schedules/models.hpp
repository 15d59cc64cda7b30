// Staged models built by hand, and programs emitted from them.
#pragma once

#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "simulator/program/analysis.hpp"

namespace podsim {

// Stages 0, 1, … on the given IPUs; every edge carries 1000 bytes forward and 2000 back, every stage has a weight of
// 100 fp16 elements, samples come in at the first stage, labels and results are at the last.
inline StagedModel staged_model(const std::vector<int>& ipu_of_stage) {
  StagedModel model;
  model.model = "by hand";
  for (std::size_t i = 0; i < ipu_of_stage.size(); ++i) {
    Stage stage;
    stage.index = static_cast<int>(i);
    stage.ipu = ipu_of_stage[i];
    stage.stash_bytes = 1000;
    stage.weights.push_back({"weight" + std::to_string(i), 100, ElementType::Float16, true, ""});
    model.ipus_per_replica = std::max(model.ipus_per_replica, stage.ipu + 1);
    model.stages.push_back(stage);
    if (i > 0) model.edges.push_back({static_cast<int>(i) - 1, static_cast<int>(i), 1000, 2000});
  }
  model.stages.front().host_inputs.push_back({"samples", 64, 128, false});
  model.stages.back().host_inputs.push_back({"labels", 8, 32, true});
  model.stages.back().host_results.push_back({"loss", 1, 4, false});
  model.optimizer = {"adam", 2, {ElementType::Float32, ElementType::Float32}, 10, 0, ElementType::Float16};
  return model;
}

// The same with `ipus` IPUs for each stage, which exchange sums with each pass.
inline StagedModel shared_by(int ipus, StagedModel model) {
  model.ipus_per_stage = ipus;
  model.ipus_per_replica *= ipus;
  for (Stage& stage : model.stages) {
    stage.ipu *= ipus;
    stage.forward_collectives = {{CollectiveKind::AllReduce, 400, 3}};
    stage.recompute_collectives = {{CollectiveKind::AllReduce, 400, 2}};
    stage.partial_recompute_collectives = {{CollectiveKind::AllReduce, 400, 1}};
    stage.backward_collectives = {{CollectiveKind::AllReduce, 400, 3}, {CollectiveKind::AllReduce, 16, 1}};
  }
  return model;
}

inline StagedModel chain(int stages) {
  std::vector<int> ipus;
  for (int i = 0; i < stages; ++i) ipus.push_back(i);
  return staged_model(ipus);
}

inline Execution training(std::int64_t micro_batches, std::int64_t device_iterations = 1) {
  Execution execution;
  execution.micro_batches = micro_batches;
  execution.device_iterations = device_iterations;
  return execution;
}

inline Execution inference(std::int64_t device_iterations) {
  Execution execution;
  execution.mode = Mode::Inference;
  execution.device_iterations = device_iterations;
  execution.output_mode = OutputMode::All;
  return execution;
}

// `options`: {{"order", "grouped"}, …}.
inline Program emit(const std::string& schedule, const StagedModel& model, const Execution& execution,
                    Value::Object options = {}) {
  const Schedule& plugin = find_schedule(schedule, "test");
  Value given(std::move(options));
  given.locate("test:/schedule");
  return plugin.emit(model, execution, read_options(given, plugin.options()));
}

}  // namespace podsim
