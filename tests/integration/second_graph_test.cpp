// Two graphs on the same IPUs: the turns of the second are what it takes alone, and the switches what their executables
// and variables take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using testing::ChildResult;
using ::testing::HasSubstr;
using testing::of_scenario;
using testing::of_text;
using testing::Overrides;

// Training of 4 stages, and inference with 30 iterations of 2 ms a slot: two host calls each time.
const char* const kTwoGraphs = R"({"version": 1, "system": {"pod": "pod16"},
  "workload": {"model": "stage_times", "stages": 4, "forward_seconds": 0.001, "backward_seconds": 0.0025,
               "weight_bytes": 67108864},
  "ipu_config": {"gradient_accumulation_steps": 40},
  "host": {"call_overhead_seconds": 0.001, "second_graph_every": 3, "second_graph_calls": 2,
           "second_graph": {"workload.mode": "inference", "workload.forward_seconds": 0.002,
                            "inference_device_iterations": 30}},
  "runs": 10})";

std::vector<double> figures(const Simulation& simulation) {
  const Summary& summary = simulation.summary;
  std::vector<double> numbers = {simulation.trace.makespan_seconds, testing::mean_seconds(simulation, State::HostCall)};
  const SecondGraphSummary second = summary.second_graph.value_or(SecondGraphSummary{});
  numbers.push_back(second.switch_seconds + second.switch_back_seconds);
  numbers.push_back(second.samples_per_second);
  numbers.push_back(second.switch_seconds);
  for (const PerState& seconds : simulation.trace.state_seconds)
    numbers.push_back(seconds[index_of(State::SecondGraph)]);
  return numbers;
}

// Turns before calls 3, 6 and 9; of nine calls only, the last turn is after the last call, and nothing is switched
// back.
TEST(SecondGraph, TakesTurnsOfItsOwnLength) {
  constexpr double kTraining = (40 + 3) * 3.5e-3 + 1e-3;
  constexpr double kTurn = 2 * ((30 + 3) * 2e-3 + 1e-3);
  for (const int runs : {9, 10}) {
    for (const bool fast : {true, false}) {
      const ChildResult result = of_text(kTwoGraphs, {{"runs", std::to_string(runs)}}, figures, {.fast_forward = fast});
      ASSERT_EQ(result.error, "");
      const double switches = runs == 10 ? 3 * result.numbers[2] : 2 * result.numbers[2] + result.numbers[4];
      EXPECT_NEAR(result.numbers[0], runs * kTraining + 3 * kTurn + switches, 1e-6) << runs;
      EXPECT_NEAR(result.numbers[1], runs * 1e-3 + switches, 1e-6) << runs;
      EXPECT_NEAR(result.numbers[3], 30 / (kTurn / 2), 1e-6 * 30 / kTurn);
      for (std::size_t ipu = 0; ipu < 4; ++ipu) EXPECT_NEAR(result.numbers[5 + ipu], 3 * kTurn, 1e-9) << ipu;
    }
  }
}

TEST(SecondGraph, SwitchingCarriesTheVariablesOfBoth) {
  const auto switching = [](const Overrides& overrides) {
    const ChildResult result = of_text(kTwoGraphs, overrides, figures);
    EXPECT_EQ(result.error, "");
    return result.numbers.at(2);
  };
  const std::string changes = R"({"workload.mode": "inference", "inference_device_iterations": 30,)";
  const double equal = switching({});
  const double larger = switching({{"host.second_graph", changes + R"("workload.weight_bytes": 134217728})"}});
  const double none = switching({{"host.second_graph", changes + R"("workload.weight_bytes": 0})"}});
  // Up there: the second's; up and down here: the first's. What inference holds does not come down again.
  EXPECT_NEAR((larger - equal) / (equal - none), 1, 0.01);
  EXPECT_GT(none, 1.9 * (equal - none));
  const double trains = switching({{"host.second_graph", R"({"workload.forward_seconds": 0.002})"}});
  EXPECT_GT(trains, 1.2 * equal);
}

TEST(SecondGraph, AnEpochIsFollowedByItsTest) {
  const ChildResult result = of_scenario("mnist_epochs_pod4", {}, [](const Simulation& simulation) {
    const SecondGraphSummary& second = simulation.summary.second_graph.value();
    return std::vector<double>{static_cast<double>(simulation.trace.run_ends.size()),
                               static_cast<double>(second.every),
                               static_cast<double>(second.calls),
                               testing::mean_seconds(simulation, State::SecondGraph) / second.turn_seconds,
                               second.turn_seconds,
                               simulation.summary.startup.compile_seconds.value()};
  });
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.numbers[0], 45);  // three epochs of 60,000 images
  EXPECT_EQ(result.numbers[1], 15);
  EXPECT_EQ(result.numbers[2], 12);         // 10,000 images
  EXPECT_NEAR(result.numbers[3], 3, 1e-9);  // turns
  const auto alone = [](const std::string& scenario) {
    return of_scenario(scenario, {}, [](const Simulation& simulation) {
      return std::vector<double>{simulation.trace.makespan_seconds, simulation.summary.startup.compile_seconds.value()};
    });
  };
  const ChildResult training = alone("mnist_pipeline_pod4"), test = alone("mnist_inference_pod4");
  ASSERT_EQ(training.error + test.error, "");
  EXPECT_NEAR(result.numbers[4] / test.numbers[0], 1, 1e-9);
  EXPECT_NEAR(result.numbers[5], training.numbers[1] + test.numbers[1], 1e-9);
}

std::string message(const Overrides& overrides, const std::string& scenario = "mnist_epochs_pod4") {
  return of_scenario(scenario, overrides, [](const Simulation&) -> std::vector<double> { return {}; }).error;
}

TEST(SecondGraph, MistakesAreNamed) {
  EXPECT_THAT(message({{"host.second_graph", R"({"system.pod": "pod16"})"}}),
              HasSubstr("the second graph cannot change system.pod"));
  EXPECT_THAT(message({{"host.second_graph", R"({"host.second_graph_every": 2})"}}),
              HasSubstr("the second graph cannot change host.second_graph_every"));
  EXPECT_THAT(message({{"host.second_graph", R"({"workload.mod": "inference"})"}}), HasSubstr("unknown key \"mod\""));
  EXPECT_THAT(message({{"host.second_graph", R"({"foo": 1})"}}), HasSubstr("/foo: unknown key \"foo\""));
  EXPECT_THAT(message({{"host.second_graph", R"({"workload.micro_batch_size": 100000})"}}),
              HasSubstr("(second graph): out of memory"));
  EXPECT_THAT(message({{"host.second_graph", R"({"replication_factor": 8})"}}),
              HasSubstr("second graph: 8 replicas of 4 IPUs need 32 IPUs"));
  EXPECT_THAT(message({{"host.second_graph_calls", "3"}}), HasSubstr("both say how long its turn is"));
  EXPECT_THAT(message({{"host.second_graph_calls", "3"}}, "host_calls_pod4"), HasSubstr("there is no second graph"));
  EXPECT_THAT(message({{"host.second_graph", R"({"workload.micro_batch_size": 8})"}}, "host_calls_pod4"),
              HasSubstr("it is not said when the second graph has its turn"));
}

}  // namespace
}  // namespace podsim
