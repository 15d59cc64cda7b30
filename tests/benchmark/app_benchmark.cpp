// Cost of what users do: compile a scenario, run it, write its trace, sweep and tune. In processes of their own, as
// everything that simulates.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "simulator/app/simulate.hpp"
#include "simulator/app/trace_tables.hpp"
#include "simulator/output/trace_file.hpp"
#include "tests/benchmark/cost.hpp"

namespace podsim::benchmark {
namespace {

namespace fs = std::filesystem;

const std::string kScenarios = PODSIM_SOURCE_DIR "/scenarios/";

Scenario scenario_of(const std::string& name, const std::vector<Override>& overrides = {}) {
  return load_scenario(kScenarios + name, overrides);
}

// All stages lowered, memory accounted; `again`: with the lowered operators of a compilation before it.
void compile_scenario(::benchmark::State& state, const std::string& name, bool again) {
  for (auto _ : state) {
    Cost cost = measure([&] {
      const Scenario scenario = scenario_of(name);
      const DataFolder data;
      CompileCache cache;
      double unmeasured = cpu_seconds();
      if (again) (void)compile(scenario, data, cache);
      unmeasured = again ? cpu_seconds() - unmeasured : 0;
      const Compilation compilation = compile(scenario, data, cache);
      ::benchmark::DoNotOptimize(compilation.program.codes.data());
      return unmeasured;
    });
    cost.seconds -= cost.result;
    report(state, cost);
  }
}
BENCHMARK_CAPTURE(compile_scenario, bert_large, "bert_large_bow_pod16.json", false)->UseManualTime()->Iterations(5);
BENCHMARK_CAPTURE(compile_scenario, bert_large_again, "bert_large_bow_pod16.json", true)
    ->UseManualTime()
    ->Iterations(5);
BENCHMARK_CAPTURE(compile_scenario, resnet50, "models/resnet50_inference_bow.json", false)
    ->UseManualTime()
    ->Iterations(5);
BENCHMARK_CAPTURE(compile_scenario, efficientnet_b4, "models/efficientnet_b4_inference_bow.json", false)
    ->UseManualTime()
    ->Iterations(5);

// Reading, compiling, simulating, summarising.
double run_whole(const Scenario& scenario, bool fast_forward) {
  RunSettings settings;
  settings.fast_forward = fast_forward;
  settings.record_intervals = false;
  return static_cast<double>(simulate(scenario, DataFolder(), settings).trace.activities);
}

void run_bert_large(::benchmark::State& state, const std::string& pod, int replicas) {
  for (auto _ : state) {
    report(state, measure([&] {
             return run_whole(scenario_of("bert_large_bow_pod16.json",
                                          {{"system.pod", pod}, {"replication_factor", std::to_string(replicas)}}),
                              true);
           }));
  }
}
BENCHMARK_CAPTURE(run_bert_large, pod16, "bow-pod16", 4)->UseManualTime()->Iterations(5);
BENCHMARK_CAPTURE(run_bert_large, pod64, "bow-pod64", 16)->UseManualTime()->Iterations(5);
BENCHMARK_CAPTURE(run_bert_large, pod256, "bow-pod256", 64)->UseManualTime()->Iterations(5);

// Four stages, as many replicas as the pod has room for.
void run_stage_times(::benchmark::State& state) {
  const auto ipus = state.range(0);
  for (auto _ : state) {
    report(state, measure([&] {
             return run_whole(scenario_of("stage_times_pod16.json", {{"system.pod", "pod" + std::to_string(ipus)},
                                                                     {"replication_factor", std::to_string(ipus / 4)}}),
                              true);
           }));
  }
}
BENCHMARK(run_stage_times)->RangeMultiplier(4)->Range(16, 4096)->UseManualTime()->Iterations(3);

void fast_forward_ratio(::benchmark::State& state) {
  const Scenario scenario = scenario_of("bert_large_bow_pod16.json");
  for (auto _ : state) {
    const Cost steps = measure([&] { return run_whole(scenario, false); });
    const Cost cost = measure([&] { return run_whole(scenario, true); });
    if (!report(state, cost)) continue;
    state.counters["step_by_step_s"] = steps.seconds;
    state.counters["ratio"] = steps.seconds / cost.seconds;
  }
}
BENCHMARK(fast_forward_ratio)->UseManualTime()->Iterations(3);

class Folder {
 public:
  Folder() {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = (fs::temp_directory_path() / "podsim-benchmark-XXXXXX").string();
};

// Every interval of every micro-batch, without what comes before the writing.
void write_trace_file(::benchmark::State& state) {
  const Folder folder;
  const std::string file = folder.file("trace.h5");
  for (auto _ : state) {
    Cost cost = measure([&] {
      const Scenario scenario = scenario_of("bert_large_bow_pod16.json");
      const double start = cpu_seconds();
      RunSettings settings;
      settings.fast_forward = false;
      const Simulation simulation = simulate(scenario, DataFolder(), settings);
      const ScenarioRecord record = scenario_record(scenario, simulation.compilation);
      const double before = cpu_seconds() - start;
      write_trace(file, {simulation.trace, simulation.summary, record});
      return before;
    });
    cost.seconds -= cost.result;
    if (!report(state, cost)) continue;
    const double megabytes = static_cast<double>(fs::file_size(file)) / 1e6;
    state.counters["file_MB"] = megabytes;
    state.counters["MB/s"] = megabytes / cost.seconds;
  }
}
BENCHMARK(write_trace_file)->UseManualTime()->Iterations(3);

// The program itself; its CPU time and that of all its processes.
void run_program(::benchmark::State& state, const std::string& arguments, double points) {
  const Folder folder;
  const std::string command = PODSIM_PROGRAM " " + arguments + " --jobs 1 -o " + folder.file("out");
  for (auto _ : state) {
    const double start = cpu_seconds(RUSAGE_CHILDREN);
    if (std::system((command + "." + (points > 0 ? "csv" : "json") + " > /dev/null").c_str()) != 0) {
      state.SkipWithError(command.c_str());
      return;
    }
    const double seconds = cpu_seconds(RUSAGE_CHILDREN) - start;
    state.SetIterationTime(seconds);
    if (points > 0) state.counters["points/s"] = points / seconds;
  }
}
// 4 stages, 8 to 107 micro-batches, one replica: small scenarios; and the shipped one with four replicas.
BENCHMARK_CAPTURE(run_program, sweep_of_1000_small_points,
                  "sweep " + kScenarios +
                      "stage_times_pod16.json --set replication_factor=1,device_iterations=1,runs=1 "
                      "--vary gradient_accumulation_steps=8:257 --vary pipeline_depth=1,2,3,4",
                  1000)
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK_CAPTURE(run_program, sweep_of_500_points_of_16_ipus,
                  "sweep " + kScenarios +
                      "stage_times_pod16.json --vary gradient_accumulation_steps=8:132 --vary pipeline_depth=1,2,3,4",
                  500)
    ->UseManualTime()
    ->Iterations(3);
BENCHMARK_CAPTURE(run_program, sweep_of_60_bert_large,
                  "sweep " + kScenarios +
                      "bert_large_bow_pod16.json --vary device_iterations=1:5 --vary workload.micro_batch_size=4,8,12 "
                      "--vary replication_factor=1,2,4,3",
                  60)
    ->UseManualTime()
    ->Iterations(1);
BENCHMARK_CAPTURE(run_program, tune_bert_large_on_16_ipus, "tune " + kScenarios + "bert_large_bow_pod16.json --ipus 16",
                  0)
    ->UseManualTime()
    ->Iterations(1);

}  // namespace
}  // namespace podsim::benchmark
