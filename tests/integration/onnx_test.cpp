// A network from an ONNX file takes the time of the same network that is built in, and can be cut into a pipeline.
#include <gtest/gtest.h>

#include "tests/integration/simulated.hpp"

namespace podsim::testing {
namespace {

std::vector<double> figures(const Simulation& simulation) {
  std::vector<double> result = {simulation.trace.makespan_seconds, simulation.summary.weight_update_seconds,
                                simulation.compilation.memory.front().peak_tile_bytes};
  for (const double seconds : simulation.summary.state_seconds) result.push_back(seconds);
  return result;
}

TEST(OnnxScenario, TakesTheTimeOfTheNativeNetwork) {
  for (const std::string mode : {"training", "inference"}) {
    const std::string native_network = R"({"model": "mnist_cnn_keras", "micro_batch_size": 64, "optimizer": "sgd",
                                           "precision": "fp32", "mode": ")" +
                                       mode + "\"}";
    const std::string name = "models/mnist_cnn_onnx_pod4";
    const ChildResult file = of_scenario(name, {{"workload.mode", mode}}, figures);
    const ChildResult native = of_scenario(name, {{"workload", native_network}}, figures);
    ASSERT_EQ(file.error, "");
    ASSERT_EQ(native.error, "");
    ASSERT_EQ(file.numbers.size(), native.numbers.size());
    for (std::size_t i = 0; i < file.numbers.size(); ++i) EXPECT_DOUBLE_EQ(file.numbers[i], native.numbers[i]) << i;
  }
}

TEST(OnnxScenario, RunsAsAPipeline) {
  const ChildResult result =
      of_scenario("models/mnist_cnn_onnx_pod4",
                  {{"schedule", "pipelined"}, {"pipeline_depth", "2"}, {"gradient_accumulation_steps", "16"}},
                  [](const Simulation& simulation) -> std::vector<double> {
                    return {static_cast<double>(simulation.compilation.model.stages.size()),
                            static_cast<double>(simulation.summary.slots_per_update)};
                  });
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.numbers, (std::vector<double>{2, 16 + 2 * 2 - 2}));
}

}  // namespace
}  // namespace podsim::testing
