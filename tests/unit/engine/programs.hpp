// Pods and small programs for the engine's tests, built by hand so that nothing but the engine is under test.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/engine/run.hpp"
#include "simulator/program/program.hpp"
#include "simulator/trace/verify.hpp"
#include "tests/support/child_process.hpp"
#include "topology/topology.hpp"

namespace podsim::testing {

class PodData : public ParameterSource {
 public:
  [[nodiscard]] Value load(const std::string& name) const override {
    return read_json(std::string(PODSIM_SOURCE_DIR) + "/topology/data/" + name + ".json");
  }
};

inline Topology pod(const std::string& name, int hosts = 0, const std::string& overrides = "{}") {
  PodRequest request;
  request.pod = name;
  request.hosts = hosts;
  request.overrides = parse_json(overrides, "scenario.json");
  return build_topology(request, PodData());
}

struct PipelineShape {
  int stages = 4;
  int micro_batches = 16;
  int replicas = 1;
  int updates = 1;
  std::vector<double> forward{1e-3};  // by stage, the last one repeated
  std::vector<double> backward{2e-3};
  double bytes = 0;         // of activations and of gradients between stages
  double weight_bytes = 0;  // all-reduced per stage before the update
  double update_seconds = 0;
  double input_bytes = 0;   // per micro-batch, at the first stage
  double label_bytes = 0;   // at the last
  double output_bytes = 0;  // from the last
  int calls = 0;            // host calls; updates are per call
};

inline double of_stage(const std::vector<double>& seconds, int stage) {
  return seconds[std::min(static_cast<std::size_t>(stage), seconds.size() - 1)];
}

// A training pipeline in PopART's order: in slot t stage s runs forward of micro-batch t - s and backward of
// micro-batch t - (2N - 2 - s), then all exchange. Steady slots are a repeat.
class Pipeline {
 public:
  explicit Pipeline(PipelineShape shape) : shape_(std::move(shape)) {}

  Program build() {
    const int stages = shape_.stages;
    program_.schedule = "test pipeline";
    program_.stages = stages;
    program_.ipus_per_replica = stages;
    program_.replicas = shape_.replicas;
    program_.execution.micro_batches = shape_.micro_batches;
    program_.slots_per_update = shape_.micro_batches + 2 * stages - 2;
    add_tables();
    for (int stage = 0; stage < stages; ++stage) program_.ipus.push_back(tree(stage));
    return std::move(program_);
  }

 private:
  void add_tables() {
    for (int stage = 0; stage < shape_.stages; ++stage) {
      program_.ipu_of_stage.push_back(stage);
      add_code(stage, Pass::Forward, of_stage(shape_.forward, stage));
      add_code(stage, Pass::Backward, of_stage(shape_.backward, stage));
      add_code(stage, Pass::WeightUpdate, shape_.update_seconds);
      CollectiveOperation all_reduce;
      all_reduce.ipu = stage;
      all_reduce.bytes = shape_.weight_bytes;
      all_reduce.name = "gradients/" + std::to_string(stage);
      program_.collectives.push_back(all_reduce);
      if (stage + 1 == shape_.stages) continue;
      program_.transfers.push_back({stage, stage + 1, stage, stage + 1, false, shape_.bytes});
      program_.transfers.push_back({stage + 1, stage, stage + 1, stage, true, shape_.bytes});
    }
    const int last = shape_.stages - 1;
    program_.streams = {{0, 0, true, false, shape_.input_bytes, "input"},
                        {last, last, true, true, shape_.label_bytes, "label"},
                        {last, last, false, false, shape_.output_bytes, "output"}};
  }

  void add_code(int stage, Pass pass, double seconds) {
    StageCode code;
    code.stage = stage;
    code.pass = pass;
    code.seconds = seconds;
    code.amp_flops = seconds * 1e12;
    program_.codes.push_back(code);
  }

  [[nodiscard]] bool forward_in(int stage, std::int64_t slot) const {
    return slot >= stage && slot - stage < shape_.micro_batches;
  }
  [[nodiscard]] std::int64_t backward_delay(int stage) const { return 2 * (shape_.stages - 1) - stage; }
  [[nodiscard]] bool backward_in(int stage, std::int64_t slot) const {
    return slot >= backward_delay(stage) && slot - backward_delay(stage) < shape_.micro_batches;
  }

  // Micro-batches inside the steady repeat are those of its first iteration.
  void add_slot(std::vector<Step>& steps, int stage, std::int64_t slot) const {
    const int last = shape_.stages - 1;
    if (forward_in(stage, slot)) {
      const MicroBatch micro_batch{slot - stage};
      if (stage == 0 && shape_.input_bytes > 0) steps.push_back(StreamIn{0, micro_batch});
      if (stage == last && shape_.label_bytes > 0) steps.push_back(StreamIn{1, micro_batch});
      steps.push_back(Run{stage, Pass::Forward, micro_batch});
      if (stage == last && shape_.output_bytes > 0) steps.push_back(StreamOut{2, micro_batch});
    }
    if (backward_in(stage, slot)) steps.push_back(Run{stage, Pass::Backward, {slot - backward_delay(stage)}});
    Exchange exchange;
    if (stage < last && forward_in(stage, slot)) exchange.sends.push_back({2 * stage, {slot - stage}});
    if (stage > 0 && backward_in(stage, slot))
      exchange.sends.push_back({2 * stage - 1, {slot - backward_delay(stage)}});
    if (stage > 0 && forward_in(stage - 1, slot)) exchange.receives.push_back({2 * stage - 2, {slot - stage + 1}});
    if (stage < last && backward_in(stage + 1, slot)) {
      exchange.receives.push_back({2 * stage + 1, {slot - backward_delay(stage + 1)}});
    }
    steps.push_back(exchange);
  }

  [[nodiscard]] std::vector<Step> update_steps(int stage) const {
    std::vector<Step> steps;
    const std::int64_t slots = program_.slots_per_update;
    const std::int64_t steady = 2 * shape_.stages - 2;
    const std::int64_t repeats = shape_.micro_batches - steady;
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      if (slot == steady && repeats > 1) {
        Repeat repeat{repeats, 1, LoopKind::MicroBatches, {}};
        add_slot(repeat.body, stage, slot);
        steps.push_back(repeat);
        slot += repeats - 1;
      } else {
        add_slot(steps, stage, slot);
      }
    }
    steps.push_back(Collective{stage});
    if (shape_.update_seconds > 0) steps.push_back(Run{stage, Pass::WeightUpdate, {}});
    steps.push_back(EndOfUpdate{});
    return steps;
  }

  [[nodiscard]] std::vector<Step> tree(int stage) const {
    Repeat updates{shape_.updates, shape_.micro_batches, LoopKind::DeviceIterations, update_steps(stage)};
    if (shape_.calls == 0) return {Step(updates)};
    const std::int64_t stride = static_cast<std::int64_t>(shape_.updates) * shape_.micro_batches;
    return {Step(Repeat{shape_.calls, stride, LoopKind::Runs, {HostCall{}, updates}})};
  }

  PipelineShape shape_;
  Program program_;
};

inline Program pipeline(const PipelineShape& shape) { return Pipeline(shape).build(); }

// Latency and transfer of a flow that has its route to itself.
inline double route_seconds(const Topology& topology, const Route& route, double bytes) {
  double bytes_per_second = std::numeric_limits<double>::infinity();
  for (const int link : route.links) {
    bytes_per_second = std::min(bytes_per_second, topology.links()[static_cast<std::size_t>(link)].bytes_per_second);
  }
  return route.latency_seconds + bytes / bytes_per_second;
}

inline double seconds_in(const Trace& trace, int ipu, State state) {
  return trace.state_seconds[static_cast<std::size_t>(ipu)][index_of(state)];
}

// Runs and checks the accounting: sums to 1e-12, the last interval of each IPU to the makespan exactly.
inline Trace checked_run(const Topology& topology, const Program& program, const RunSettings& settings) {
  Trace trace = run(topology, program, settings);
  verify(trace);
  for (const PerState& states : trace.state_seconds) {
    const double sum = std::accumulate(states.begin(), states.end(), 0.0);
    if (std::abs(sum - trace.makespan_seconds) > 1e-12 * trace.makespan_seconds) throw InternalError("inexact sums");
  }
  const Intervals& intervals = trace.intervals;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const bool last = i + 1 == intervals.size() || intervals.ipu[i + 1] != intervals.ipu[i];
    if (last && intervals.end[i] != trace.makespan_seconds) throw InternalError("intervals end before the makespan");
  }
  return trace;
}

}  // namespace podsim::testing
