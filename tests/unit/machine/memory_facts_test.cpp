// What fits one IPU and what does not, as published for ResNet-50 on Mk2: the account alone, with chosen options.
#include <gtest/gtest.h>

#include "simulator/machine/memory.hpp"
#include "tests/unit/machine/test_chip.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {
namespace {

bool resnet50_fits(std::int64_t micro_batch, bool training, Recomputation recomputation, double proportion) {
  WorkloadRequest workload;
  workload.micro_batch_size = micro_batch;
  workload.training = training;
  workload.options = read_options(Value(), find_workload("resnet50", "test").options());
  const auto graph = find_workload("resnet50", "test").build(workload);
  std::vector<Operator> operators;
  std::vector<Weight> weights;
  double image_bytes = 0;
  for (const auto vertex : graph->topological_order()) {
    const Operator& op = graph->graph[vertex];
    if (op.kind == OperatorKind::Input) {
      image_bytes = std::max(image_bytes, static_cast<double>(op.output_bytes()));
      continue;
    }
    operators.push_back(op);
    weights.insert(weights.end(), op.weights.begin(), op.weights.end());
  }
  LoweringOptions options;
  options.partials = ElementType::Float16;
  options.available_memory_proportion = proportion;
  Lowering lowering(shipped_chip("gc200"), options);
  MemoryRequest request;
  request.optimizer = find_optimizer("momentum", "test");
  request.training = training;
  request.recomputation = recomputation;
  request.replicas = 16;
  StageWork work;
  work.operators = &operators;
  work.weights = &weights;
  work.training = training;
  work.first_stage = true;
  work.optimizer = &request.optimizer;
  const LoweredStage lowered = lowering.lower(work);
  request.stages = {{&operators, &weights, &lowered, image_bytes, 1, image_bytes, 0}};
  return account_memory(lowering, request).fits();
}

// MLPerf training v1.0 and v1.1: micro-batch 20 with recomputation, and no larger one was used.
TEST(MemoryFacts, ResNet50TrainsWithTwentyImagesAndRecomputation) {
  EXPECT_TRUE(resnet50_fits(20, true, Recomputation::EveryLayer, 0.15));
  EXPECT_FALSE(resnet50_fits(28, true, Recomputation::EveryLayer, 0.15));
  EXPECT_FALSE(resnet50_fits(20, true, Recomputation::None, 0.15));
}

// Published inference micro-batches of one Mk2 IPU: 80 to 90.
TEST(MemoryFacts, ResNet50InfersNinetyImages) {
  EXPECT_TRUE(resnet50_fits(80, false, Recomputation::None, 0.6));
  EXPECT_TRUE(resnet50_fits(90, false, Recomputation::None, 0.6));
  EXPECT_FALSE(resnet50_fits(120, false, Recomputation::None, 0.6));
}

}  // namespace
}  // namespace podsim
