// Cost of the engine: against bare SimGrid actors, fast-forward, large pipelines, collectives. Every run has a process
// of its own; its CPU time is the time reported, `MB` its largest memory.
#include "tests/benchmark/bare_actors.hpp"
#include "tests/benchmark/cost.hpp"
#include "tests/unit/engine/programs.hpp"

namespace podsim::benchmark {
namespace {

using testing::pipeline;
using testing::PipelineShape;
using testing::pod;

constexpr double kMebibyte = 1048576;

// Includes everything that a run needs: topology, program, platform.
Cost engine_cost(const std::string& name, const PipelineShape& shape, const RunSettings& settings) {
  return measure([&] { return static_cast<double>(run(pod(name), pipeline(shape), settings).activities); });
}

void report_activities(::benchmark::State& state, const Cost& cost) {
  if (!report(state, cost)) return;
  state.counters["activities"] = cost.result;
  state.counters["activities/s"] = cost.result / cost.seconds;
}

std::string pod_of(int ipus) { return "pod" + std::to_string(ipus); }

// Step by step with 32 MiB between stages, in relation to bare actors that do the same.
void against_bare_actors(::benchmark::State& state, bool closed_form) {
  const int ipus = static_cast<int>(state.range(0));
  const PipelineShape shape{.stages = 16, .micro_batches = 64, .replicas = ipus / 16, .bytes = 32 * kMebibyte};
  for (auto _ : state) {
    const Cost bare = measure(
        [&] { return run_bare_actors(shape.stages, shape.micro_batches, shape.replicas, shape.bytes).activities; });
    const Cost cost =
        engine_cost(pod_of(ipus), shape, {.fast_forward = false, .record_intervals = true, .closed_form = closed_form});
    report_activities(state, cost);
    state.counters["bare_s"] = bare.seconds;
    state.counters["ratio"] = cost.seconds / bare.seconds;
  }
}
BENCHMARK_CAPTURE(against_bare_actors, computed_exchanges, true)
    ->RangeMultiplier(4)
    ->Range(16, 1024)
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK_CAPTURE(against_bare_actors, exchanges_as_flows, false)
    ->RangeMultiplier(4)
    ->Range(16, 1024)
    ->UseManualTime()
    ->Iterations(3);

// One training step of 16 stages x 256 micro-batches x 64 replicas, with an all-reduce of 256 MiB per stage.
void training_step_of_1024_ipus(::benchmark::State& state, bool fast_forward) {
  PipelineShape shape{.stages = 16, .micro_batches = 256, .replicas = 64, .bytes = 32 * kMebibyte};
  shape.weight_bytes = 256 * kMebibyte;
  for (auto _ : state) report_activities(state, engine_cost("pod1024", shape, {.fast_forward = fast_forward}));
}
BENCHMARK_CAPTURE(training_step_of_1024_ipus, step_by_step, false)->UseManualTime()->Iterations(3);
BENCHMARK_CAPTURE(training_step_of_1024_ipus, fast_forward, true)->UseManualTime()->Iterations(3);

void growth_with_ipus(::benchmark::State& state) {
  const int ipus = static_cast<int>(state.range(0));
  const PipelineShape shape{.stages = 16, .micro_batches = 64, .replicas = ipus / 16, .bytes = 32 * kMebibyte};
  for (auto _ : state) report_activities(state, engine_cost(pod_of(ipus), shape, {.fast_forward = false}));
}
BENCHMARK(growth_with_ipus)->RangeMultiplier(4)->Range(64, 4096)->UseManualTime()->Iterations(1);

void micro_batches_with_fast_forward(::benchmark::State& state) {
  const auto micro_batches = static_cast<int>(state.range(0));
  const PipelineShape shape{.stages = 4, .micro_batches = micro_batches, .replicas = 4, .bytes = 32 * kMebibyte};
  for (auto _ : state) report_activities(state, engine_cost("pod16", shape, {}));
}
BENCHMARK(micro_batches_with_fast_forward)->Arg(20)->Arg(2048)->Arg(200000)->UseManualTime()->Iterations(3);

// 1 GiB over 1,024 ranks in a ring; alone on its links, and as flows.
void all_reduce_of_1024_ranks(::benchmark::State& state, bool closed_form) {
  PipelineShape shape{.stages = 1, .micro_batches = 1, .replicas = 1024};
  shape.weight_bytes = 1024 * kMebibyte;
  for (auto _ : state) report_activities(state, engine_cost("pod1024", shape, {.closed_form = closed_form}));
}
BENCHMARK_CAPTURE(all_reduce_of_1024_ranks, computed, true)->UseManualTime()->Iterations(3);

// Every replica reads its input through the host's one network card: many flows on one link.
void flows_on_one_link(::benchmark::State& state) {
  const auto replicas = static_cast<int>(state.range(0));
  PipelineShape shape{.stages = 1, .micro_batches = 64, .replicas = replicas, .input_bytes = kMebibyte};
  for (auto _ : state) {
    report_activities(state, measure([&] {
                        Program program = pipeline(shape);
                        program.host.synthetic = false;
                        program.host.prefetch_depth = 3;
                        return static_cast<double>(run(pod("pod64", 1), program, {.fast_forward = false}).activities);
                      }));
  }
}
BENCHMARK(flows_on_one_link)->RangeMultiplier(4)->Range(4, 64)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace podsim::benchmark
