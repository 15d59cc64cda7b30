// The host side against closed formulas, through the whole program. Notation: N stages, D device iterations, slots of s
// seconds, h seconds for the host to answer a request for a micro-batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using testing::ChildResult;
using testing::of_text;
using testing::Overrides;

constexpr double kSlot = 1e-3;
constexpr int kStages = 4;
constexpr int kIterations = 40;

// Data without bytes, so that nothing but the host's answer takes time.
const char* const kInference = R"({"version": 1, "system": {"pod": "pod16"},
  "workload": {"model": "stage_times", "mode": "inference", "stages": 4, "forward_seconds": 0.001},
  "ipu_config": {"inference_device_iterations": 40},
  "schedule": {"pipelined": {"order": "popart"}},
  "host": {"call_overhead_seconds": 0, "data": "real", "callback_seconds": 0, "prefetch_depth": 3}})";

const char* const kTraining = R"({"version": 1, "system": {"pod": "pod16"},
  "workload": {"model": "stage_times", "stages": 4, "forward_seconds": 0.001, "backward_seconds": 0.0025},
  "ipu_config": {"gradient_accumulation_steps": 40},
  "schedule": {"pipelined": {"order": "popart"}},
  "host": {"call_overhead_seconds": 0, "data": "real", "callback_seconds": 0, "prefetch_depth": 3}})";

double makespan(const std::string& text, const Overrides& overrides) {
  const ChildResult result = of_text(text, overrides, [](const Simulation& simulation) -> std::vector<double> {
    return {simulation.trace.makespan_seconds};
  });
  EXPECT_EQ(result.error, "");
  return result.numbers.empty() ? 0 : result.numbers[0];
}

TEST(HostClosedForms, APrefetchedPipelineRunsAtTheSlowerOfInputAndSlot) {
  for (const auto& [h, text] : std::map<double, std::string>{{0.4e-3, "0.0004"}, {2.5e-3, "0.0025"}}) {
    const double expected = h < kSlot ? h + (kIterations + kStages - 1) * kSlot : kIterations * h + kStages * kSlot;
    EXPECT_NEAR(makespan(kInference, {{"host.callback_seconds", text}}) / expected, 1, 1e-9) << h;
  }
}

TEST(HostClosedForms, WithoutPrefetchInputAndSlotAddUp) {
  const double h = 0.4e-3;
  const double expected = kIterations * (h + kSlot) + (kStages - 1) * kSlot;
  EXPECT_NEAR(makespan(kInference, {{"host.callback_seconds", "0.0004"}, {"host.prefetch_depth", "0"}}) / expected, 1,
              1e-9);
}

// Seconds for each further micro-batch, free of ramps.
double seconds_per_micro_batch(Overrides overrides) {
  overrides.emplace_back("gradient_accumulation_steps", "40");
  const double few = makespan(kTraining, overrides);
  overrides.back().second = "80";
  return (makespan(kTraining, overrides) - few) / 40;
}

TEST(HostClosedForms, TrainingRunsAtTheSlowerOfInputAndSlotOrTheirSum) {
  const double slot = 3.5e-3;
  for (const auto& [h, text] : std::map<double, std::string>{{1e-3, "0.001"}, {5e-3, "0.005"}}) {
    EXPECT_NEAR(seconds_per_micro_batch({{"host.callback_seconds", text}}) / std::max(h, slot), 1, 1e-9);
    EXPECT_NEAR(seconds_per_micro_batch({{"host.callback_seconds", text}, {"host.prefetch_depth", "0"}}) / (h + slot),
                1, 1e-9);
  }
}

TEST(HostClosedForms, PreparedSamplesPerSecondBoundTheThroughput) {
  const int batch = 8, calls = 10;
  for (const int workers : {1, 2, 4, 16}) {
    const double prepared = workers / 1e-3, device = batch / kSlot;  // samples per second
    const ChildResult result =
        of_text(kInference,
                {{"host.preprocess_seconds_per_sample", "0.001"},
                 {"host.workers", std::to_string(workers)},
                 {"workload.micro_batch_size", std::to_string(batch)},
                 {"inference_device_iterations", "400"},
                 {"runs", std::to_string(calls)}},
                [](const Simulation& simulation) -> std::vector<double> {
                  return {simulation.summary.samples_per_run * 10 / simulation.trace.makespan_seconds,
                          simulation.trace.state_seconds[0][index_of(State::HostInputStall)] /
                              simulation.trace.makespan_seconds};
                });
    ASSERT_EQ(result.error, "");
    EXPECT_LE(result.numbers[0], std::min(prepared, device) * (1 + 1e-9)) << workers;
    EXPECT_GE(result.numbers[0], 0.98 * std::min(prepared, device)) << workers;
    EXPECT_NEAR(result.numbers[1], std::max(0.0, 1 - prepared / device), 0.02);  // waits for what is missing
  }
}

TEST(HostClosedForms, OverheadOfACallIsSpreadOverItsIterations) {
  const double overhead = 0.02;
  const double update = (40 + kStages - 1) * 3.5e-3;
  for (const int iterations : {1, 4, 16}) {
    const ChildResult result = of_text(
        kTraining,
        {{"host.call_overhead_seconds", "0.02"}, {"device_iterations", std::to_string(iterations)}, {"runs", "3"}},
        [](const Simulation& simulation) -> std::vector<double> {
          const double share = testing::mean_seconds(simulation, State::HostCall) / simulation.trace.makespan_seconds;
          return {testing::throughput(simulation), 1 - share};
        });
    ASSERT_EQ(result.error, "");
    const double working = iterations * update / (iterations * update + overhead);
    EXPECT_NEAR(result.numbers[0] / (40 / update * working), 1, 1e-9);
    EXPECT_NEAR(result.numbers[1] / working, 1, 1e-9);
  }
}

TEST(HostClosedForms, EverySecondCallPaysTheSwitchOfGraphs) {
  // 64 MiB of weights on each of four IPUs: down and up again, at the busiest link of the host path.
  const auto figures = [](const Simulation& simulation) -> std::vector<double> {
    const Topology& topology = *simulation.compilation.topology;
    const auto seconds = [&](const Route& route) {
      double slowest = 0;
      for (const int link : route.links) {
        const Link& used = topology.links()[static_cast<std::size_t>(link)];
        const double ipus = used.kind == LinkKind::Pcie ? 1 : 4;
        slowest = std::max(slowest, ipus * 67108864 / used.bytes_per_second);
      }
      return slowest;
    };
    const double down = std::max(seconds(topology.ipu_to_memory(0)), seconds(topology.memory_to_host(0, 0)));
    const double up = std::max(seconds(topology.memory_to_ipu(0)), seconds(topology.host_to_memory(0, 0)));
    return {testing::mean_seconds(simulation, State::HostCall), down + up,
            simulation.summary.startup.weight_upload_seconds, up};
  };
  for (const auto& [every, switches] : std::map<std::string, int>{{"0", 0}, {"1", 7}, {"2", 3}, {"3", 2}, {"8", 0}}) {
    for (const bool fast : {true, false}) {
      const ChildResult result = of_text(kTraining,
                                         {{"workload.weight_bytes", "67108864"},
                                          {"host.second_graph_every", every},
                                          {"host.call_overhead_seconds", "0.001"},
                                          {"runs", "8"}},
                                         figures, {.fast_forward = fast});
      ASSERT_EQ(result.error, "");
      EXPECT_NEAR(result.numbers[0] / (8 * 1e-3 + switches * result.numbers[1]), 1, 1e-3) << every;
      EXPECT_NEAR(result.numbers[2] / result.numbers[3], 1, 1e-3);
    }
  }
}

// Options of every kind together: each IPU's states add up to the makespan, step by step or not, and without waiting
// states where there is no cause for them.
TEST(HostConservation, AnyOptionsBookEverySecondOnce) {
  const char* const streams[] = {"0", "1", "3"};
  const char* const preparations[] = {"0", "0.0001", "0.02"};
  const char* const distributions[] = {"fixed", "exponential"};
  int cases = 0;
  for (const char* depth : streams) {
    for (const char* preparation : preparations) {
      for (const char* distribution : distributions) {
        for (const char* asynchronous : {"true", "false"}) {
          const std::string modes[] = {"all", "final"};
          const Overrides overrides = {{"host.prefetch_depth", depth},
                                       {"host.preprocess_seconds_per_sample", preparation},
                                       {"host.preprocess_distribution", distribution},
                                       {"host.asynchronous", asynchronous},
                                       {"host.instances", cases % 2 == 0 ? "1" : "2"},
                                       {"host.second_graph_every", cases % 3 == 0 ? "2" : "0"},
                                       {"host.callback_seconds", cases % 5 == 0 ? "0" : "0.0003"},
                                       {"workload.input_bytes", cases % 7 == 0 ? "0" : "300000"},
                                       {"output_mode", modes[cases % 2]},
                                       {"replication_factor", "2"},
                                       {"runs", "5"}};
          const auto figures = [](const Simulation& simulation) {
            std::vector<double> numbers = {simulation.trace.makespan_seconds};
            for (const PerState& seconds : simulation.trace.state_seconds) {
              double sum = 0;
              for (const double part : seconds) sum += part;
              numbers.push_back(sum);
            }
            return numbers;
          };
          const ChildResult fast = of_text(kTraining, overrides, figures);
          const ChildResult full = of_text(kTraining, overrides, figures, {.fast_forward = false});
          ASSERT_EQ(fast.error + full.error, "") << cases;
          for (const double sum : fast.numbers) EXPECT_NEAR(sum / full.numbers[0], 1, 1e-9) << cases;
          ++cases;
        }
      }
    }
  }
  EXPECT_EQ(cases, 36);
}

TEST(HostConservation, NothingThatTakesTimeIsAPossibleProgram) {
  EXPECT_LT(makespan(R"({"version": 1, "system": {"pod": "pod16"},
    "workload": {"model": "stage_times", "stages": 1, "forward_seconds": 0, "backward_seconds": 0},
    "ipu_config": {"replication_factor": 2, "gradient_accumulation_steps": 16, "device_iterations": 3},
    "schedule": {"pipelined": {"order": "grouped"}}, "runs": 7})",
                     {}),
            1e-300);
}

TEST(HostConservation, EveryMicroBatchThatComesInIsUsedOnce) {
  const ChildResult result =
      of_text(kTraining,
              {{"workload.input_bytes", "100000"},
               {"replication_factor", "4"},
               {"host.instances", "2"},
               {"host.workers", "2"},
               {"host.preprocess_seconds_per_sample", "0.004"},
               {"runs", "2"}},
              [](const Simulation& simulation) -> std::vector<double> {
                std::map<std::pair<int, int>, std::pair<std::int64_t, int>> streams;  // fills, depth
                double deepest = 0, lowest = 0;
                for (const QueueSample& sample : simulation.trace.queues) {
                  auto& [fills, depth] = streams[{sample.replica, sample.stream}];
                  fills += sample.depth > depth ? 1 : 0;
                  depth = sample.depth;
                  deepest = std::max<double>(deepest, depth);
                  lowest = std::min<double>(lowest, depth);
                }
                double fills = 0, left = 0;
                for (const auto& [key, state] : streams) {
                  fills += static_cast<double>(state.first);
                  left += state.second;
                }
                double stalls = 0, all = 0;
                const Intervals& intervals = simulation.trace.intervals;
                for (std::size_t i = 0; i < intervals.size(); ++i) {
                  if (intervals.state[i] == State::HostInputStall) stalls += intervals.end[i] - intervals.start[i];
                }
                for (const PerState& seconds : simulation.trace.state_seconds)
                  all += seconds[index_of(State::HostInputStall)];
                return {static_cast<double>(streams.size()),
                        fills,
                        left,
                        lowest,
                        deepest,
                        stalls / all,
                        all,
                        testing::link_bytes(simulation, "pcie:gateway")};
              },
              {.fast_forward = false, .record_intervals = true});
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.numbers[0], 4);           // an input stream for each replica
  EXPECT_EQ(result.numbers[1], 4 * 40 * 2);  // micro-batches
  EXPECT_EQ(result.numbers[2], 0);           // none left over
  EXPECT_EQ(result.numbers[3], 0);
  EXPECT_LE(result.numbers[4], 3);  // prefetch_depth
  EXPECT_NEAR(result.numbers[5], 1, 1e-9);
  EXPECT_GT(result.numbers[6], 0);
  EXPECT_EQ(result.numbers[7], 4 * 40 * 2 * 100000.0);
}

}  // namespace
}  // namespace podsim
