// Simulated time of uniform stages without bytes against closed formulas, through the whole program.
// Notation: N stages with forward f and backward b, M micro-batches, D device iterations.
#include <gtest/gtest.h>

#include <string>

#include "simulator/app/simulate.hpp"
#include "simulator/config/json.hpp"
#include "tests/support/child_process.hpp"

namespace podsim {
namespace {

using testing::numbers_in_child;

constexpr double kForward = 1e-3;
constexpr double kBackward = 2.5e-3;

std::string scenario_text(const std::string& schedule, int stages, int micro_batches, const std::string& mode) {
  return R"({"version": 1, "system": {"pod": "pod16"},
    "workload": {"model": "stage_times", "mode": ")" +
         mode + R"(", "stages": )" + std::to_string(stages) +
         R"(, "forward_seconds": 0.001, "backward_seconds": 0.0025, "output_bytes": 0, "weight_bytes": 0},
    "ipu_config": {"gradient_accumulation_steps": )" +
         std::to_string(mode == "training" ? micro_batches : 1) + R"(, "inference_device_iterations": )" +
         std::to_string(mode == "training" ? 1 : micro_batches) + R"(},
    "schedule": )" +
         schedule + R"(, "host": {"call_overhead_seconds": 0}})";
}

// Makespan, slots per update, and the largest relative error of the sum over states of an IPU.
std::vector<double> simulate_text(const std::string& text) {
  return numbers_in_child([&]() -> std::vector<double> {
    const Scenario scenario = read_scenario(parse_json(text, "test"), ".");
    const Simulation simulation = simulate(scenario, DataFolder(), {});
    double error = 0;
    for (const PerState& states : simulation.trace.state_seconds) {
      double sum = 0;
      for (const double seconds : states) sum += seconds;
      error = std::max(error, std::abs(sum / simulation.trace.makespan_seconds - 1));
    }
    return {simulation.trace.makespan_seconds, static_cast<double>(simulation.summary.slots_per_update), error};
  });
}

void expect_time(const std::string& text, double seconds, double slots) {
  const std::vector<double> result = simulate_text(text);
  ASSERT_EQ(result.size(), 3U);
  EXPECT_NEAR(result[0] / seconds, 1, 1e-9);
  if (slots > 0) {
    EXPECT_EQ(result[1], slots);
  }
  EXPECT_LT(result[2], 1e-12);
}

TEST(ClosedForms, PopartPipeline) {
  for (const int n : {1, 2, 4, 8}) {
    for (const int m : {8, 16, 100}) {
      expect_time(scenario_text(R"({"pipelined": {"order": "popart"}})", n, m, "training"),
                  (m + n - 1) * (kForward + kBackward), m + 2 * n - 2);
    }
  }
}

TEST(ClosedForms, GroupedPipelineTakesTheSameTimeInOneMoreSlot) {
  for (const int n : {2, 4}) {
    expect_time(scenario_text(R"({"pipelined": {"order": "grouped"}})", n, 16 * n, "training"),
                (16 * n + n - 1) * (kForward + kBackward), 16 * n + 2 * n - 1);
  }
}

TEST(ClosedForms, InterleavedPipeline) {
  for (const int n : {2, 4}) {
    const int m = 8 * n;
    expect_time(scenario_text(R"({"pipelined": {"order": "interleaved"}})", n, m, "training"),
                n * kForward + (2 * m + n - 2) * kBackward, 2 * m + 2 * n - 2);
  }
}

TEST(ClosedForms, Sharded) {
  for (const int n : {1, 2, 4}) {
    expect_time(scenario_text(R"("sharded")", n, 12, "training"), 12 * n * (kForward + kBackward), 0);
  }
}

TEST(ClosedForms, InferencePipeline) {
  for (const int n : {1, 2, 4}) {
    for (const int d : {8, 50}) {
      expect_time(scenario_text(R"({"pipelined": {"order": "popart"}})", n, d, "inference"), (d + n - 1) * kForward,
                  d + n - 1);
    }
  }
}

}  // namespace
}  // namespace podsim
