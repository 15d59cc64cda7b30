// Bounds from stage times alone.
#include <algorithm>

#include "simulator/app/tune_search.hpp"

namespace podsim {

namespace {

double steps_seconds(const Program& program, const std::vector<Step>& steps) {
  double seconds = 0;
  for (const Step& step : steps) {
    if (const Run* run = std::get_if<Run>(&step)) {
      seconds += program.code(run->stage, run->pass).seconds;
    } else if (const Repeat* repeat = std::get_if<Repeat>(&step)) {
      seconds += static_cast<double>(repeat->count) * steps_seconds(program, repeat->body);
    }
  }
  return seconds;
}

}  // namespace

double least_run_seconds(const Program& program) {
  double longest = 0;
  for (const std::vector<Step>& steps : program.ipus) longest = std::max(longest, steps_seconds(program, steps));
  return longest / static_cast<double>(std::max<std::int64_t>(1, program.execution.runs));
}

double least_run_seconds(const Compilation& compilation, const Scenario& scenario) {
  const Program& program = compilation.program;
  const bool training = scenario.execution.mode == Mode::Training;
  std::vector<double> per_micro_batch(static_cast<std::size_t>(program.ipus_per_replica), 0);
  for (const Stage& stage : compilation.model.stages) {
    double& seconds = per_micro_batch[static_cast<std::size_t>(stage.ipu)];
    seconds += program.code(stage.index, Pass::Forward).seconds;
    if (!training) continue;
    seconds += program.code(stage.index, Pass::Backward).seconds;
    if (scenario.execution.recompute) seconds += program.code(stage.index, Pass::RecomputePartial).seconds;
  }
  const double slowest = *std::max_element(per_micro_batch.begin(), per_micro_batch.end());
  return slowest * static_cast<double>(scenario.execution.micro_batches * scenario.execution.device_iterations);
}

}  // namespace podsim
