// Lowering of every kind of operator, of stages and of weight updates; the memo; options that must have an effect.
#include "simulator/machine/lower.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <ctime>

#include "simulator/core/error.hpp"
#include "tests/unit/machine/test_chip.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {
namespace {

Operator with_shape(OperatorKind kind, std::int64_t rows, std::int64_t columns) {
  Operator op = elementwise(kind, rows, columns);
  switch (kind) {
    case OperatorKind::LayerNorm:
    case OperatorKind::GroupNorm:
    case OperatorKind::BatchNorm:
      op.shape = NormShape{rows, columns, 1};
      op.weights = {{"scale", columns, ElementType::Float16, true, {}}};
      break;
    case OperatorKind::EmbeddingGather:
      op.shape = GatherShape{rows, 1000, columns};
      op.weights = {{"table", 1000 * columns, ElementType::Float16, true, {}}};
      break;
    case OperatorKind::Gather:
    case OperatorKind::Scatter: op.shape = GatherShape{rows, rows, columns}; break;
    case OperatorKind::Pooling: op.shape = PoolShape{rows * columns, 4, 4, true}; break;
    case OperatorKind::Reduction: op.outputs[0].shape = {rows}; break;
    case OperatorKind::Loss: op.outputs[0].shape = {rows}; break;
    default: break;
  }
  return op;
}

constexpr OperatorKind kVertexKinds[] = {OperatorKind::EmbeddingGather,
                                         OperatorKind::LayerNorm,
                                         OperatorKind::GroupNorm,
                                         OperatorKind::BatchNorm,
                                         OperatorKind::Softmax,
                                         OperatorKind::Gelu,
                                         OperatorKind::Relu,
                                         OperatorKind::Swish,
                                         OperatorKind::Tanh,
                                         OperatorKind::Sigmoid,
                                         OperatorKind::Dropout,
                                         OperatorKind::Elementwise,
                                         OperatorKind::Pooling,
                                         OperatorKind::Reduction,
                                         OperatorKind::Transpose,
                                         OperatorKind::Concat,
                                         OperatorKind::Slice,
                                         OperatorKind::Loss,
                                         OperatorKind::Gather,
                                         OperatorKind::Scatter};

TEST(Lowering, EveryKindTakesTimeAndGrowsWithItsSize) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  for (const OperatorKind kind : kVertexKinds) {
    for (const WorkKind work : {WorkKind::Forward, WorkKind::BackwardInput, WorkKind::BackwardWeights}) {
      const auto small = lowering.lower(with_shape(kind, 512, 1024), work);
      const auto large = lowering.lower(with_shape(kind, 4096, 1024), work);
      const std::string name(name_of(kind));
      if (small->cycles() == 0) {
        EXPECT_NE(work, WorkKind::Forward) << name;
        continue;
      }
      EXPECT_GT(large->cycles(), small->cycles()) << name << " work " << static_cast<int>(work);
      // Eight times the data is never more than eight times the time, and the vertices touch each element at 8 bytes
      // per cycle and tile at best.
      EXPECT_LE(large->cycles(), 8 * small->cycles()) << name;
      for (const Superstep& step : large->supersteps) {
        EXPECT_EQ(step.compute_cycles.tiles(), 1472) << name;
        EXPECT_EQ(step.bytes_in.tiles(), 1472) << name;
      }
    }
  }
}

TEST(Lowering, ElementwiseRooflineIsTheDataPath) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  EXPECT_TRUE(rc::check("roofline", [&lowering] {
    const auto rows = static_cast<std::int64_t>(*rc::gen::inRange(1, 5000));
    const auto columns = static_cast<std::int64_t>(*rc::gen::inRange(1, 3000));
    const auto lowered = lowering.lower(elementwise(OperatorKind::Relu, rows, columns), WorkKind::Forward);
    RC_ASSERT(lowered->cycles() >= static_cast<double>(rows * columns) * 2 / 8 / 1472);
  }));
}

TEST(Lowering, ReluByHand) {
  // 1472 x 24 halves: one tile has 24, six vectors, one for each worker, a cycle each: 11 + 6 (20 + 1), and control.
  Lowering lowering(shipped_chip("bow"), half_partials());
  const auto lowered = lowering.lower(elementwise(OperatorKind::Relu, 1472, 24), WorkKind::Forward);
  const ParameterSet& parameters = lowering.chip().parameters;
  EXPECT_DOUBLE_EQ(lowered->cycles(), 11 + 6 * 21 + parameters.get("superstep_control_cycles") +
                                          parameters.get("operator_control_cycles"));
  EXPECT_DOUBLE_EQ(lowered->sync_cycles, 0);  // nothing is exchanged
}

TEST(Lowering, BatchNormsHaveTheirStatisticsInInference) {
  LoweringOptions options = half_partials();
  Lowering training(shipped_chip("bow"), options);
  options.inference = true;
  Lowering inference(shipped_chip("bow"), options);
  Operator op = elementwise(OperatorKind::BatchNorm, 1472, 24);
  op.shape = NormShape{24, 1472, 1};
  const auto stored = inference.lower(op, WorkKind::Forward);
  EXPECT_LT(stored->cycles(), training.lower(op, WorkKind::Forward)->cycles());
  // Six vectors of a tile by a product and a sum, two cycles each at most.
  const double control = inference.chip().parameters.get("superstep_control_cycles") +
                         inference.chip().parameters.get("operator_control_cycles");
  ASSERT_EQ(stored->supersteps.size(), 2U);
  EXPECT_LE(stored->supersteps[1].compute_cycles_maximum(), 11 + 6 * (20 + 4) + control);
  op.kind = OperatorKind::LayerNorm;  // has no stored ones
  EXPECT_DOUBLE_EQ(inference.lower(op, WorkKind::Forward)->cycles(), training.lower(op, WorkKind::Forward)->cycles());
}

TEST(Lowering, InputsAndProfiledStagesNeedNoChip) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  Operator input = elementwise(OperatorKind::Input, 8, 8);
  EXPECT_TRUE(lowering.lower(input, WorkKind::Forward)->supersteps.empty());
  Operator profiled = elementwise(OperatorKind::Profiled, 8, 8);
  profiled.shape = ProfiledTimes{1, 2, 3, 4};
  EXPECT_TRUE(lowering.lower(profiled, WorkKind::Forward)->supersteps.empty());
}

TEST(Lowering, EqualSignaturesArePlannedOnce) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  Operator first = matmul(1, 512, 512, 512);
  Operator second = first;
  second.name = "another";
  const auto lowered = lowering.lower(first, WorkKind::Forward);
  EXPECT_EQ(lowering.lower(second, WorkKind::Forward), lowered);
  EXPECT_EQ(lowering.plans_made(), 1U);
  EXPECT_NE(lowering.lower(first, WorkKind::BackwardInput), lowered);
  EXPECT_EQ(lowering.plans_made(), 2U);
}

TEST(Lowering, IoTilesAreLostToCompute) {
  LoweringOptions options = half_partials();
  Lowering all(shipped_chip("bow"), options);
  options.io_tiles = 736;  // half of them
  Lowering half(shipped_chip("bow"), options);
  EXPECT_EQ(half.compute_tiles(), 736);
  const Operator op = elementwise(OperatorKind::Gelu, 4096, 4096);
  // The vertices take twice as long, the control program does not.
  const double control = all.chip().parameters.get("operator_control_cycles");
  EXPECT_NEAR(
      (half.lower(op, WorkKind::Forward)->cycles() - control) / (all.lower(op, WorkKind::Forward)->cycles() - control),
      2, 0.05);
}

TEST(Lowering, OutliningCopiesWeights) {
  LoweringOptions options = half_partials();
  Lowering outlining(shipped_chip("bow"), options);
  options.outlining = false;
  Lowering plain(shipped_chip("bow"), options);
  Operator op = matmul(1, 512, 1024, 1024);
  EXPECT_DOUBLE_EQ(outlining.lower(op, WorkKind::Forward)->cycles(), plain.lower(op, WorkKind::Forward)->cycles());
  op.outline_key = "layer/matmul";
  // 1024 x 1024 halves over 1472 tiles: at most 1432 bytes, 288 cycles and 8 bytes per cycle, and control.
  const double copy = 288 + 1432.0 / 8 + plain.chip().parameters.get("superstep_control_cycles");
  EXPECT_NEAR(outlining.lower(op, WorkKind::Forward)->cycles() - plain.lower(op, WorkKind::Forward)->cycles(), copy, 1);
}

TEST(Lowering, LossScalingStatisticsCostTime) {
  LoweringOptions options = half_partials();
  Lowering plain(shipped_chip("bow"), options);
  options.auto_loss_scaling = true;
  Lowering scaling(shipped_chip("bow"), options);
  const Operator op = matmul(1, 512, 1024, 1024);
  EXPECT_GT(scaling.lower(op, WorkKind::BackwardWeights)->cycles(),
            plain.lower(op, WorkKind::BackwardWeights)->cycles());
  EXPECT_DOUBLE_EQ(scaling.lower(op, WorkKind::Forward)->cycles(), plain.lower(op, WorkKind::Forward)->cycles());
}

TEST(Lowering, SerialisedProjectionUsesLessMemoryAndMoreTime) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  Operator op = matmul(1, 160, 1024, 30528);
  const auto once = lowering.lower(op, WorkKind::Forward);
  op.serial_splits = 4;
  const auto serial = lowering.lower(op, WorkKind::Forward);
  EXPECT_EQ(serial->plans[0].serial_columns % 4, 0);
  EXPECT_GT(serial->cycles(), once->cycles());
  EXPECT_LT(serial->plans[0].temporary_bytes_per_tile, once->plans[0].temporary_bytes_per_tile);
  EXPECT_DOUBLE_EQ(serial->macs.sum(), once->macs.sum());
}

TEST(Lowering, SerialisedEmbeddingUsesLessMemoryAndMoreTime) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  Operator op = with_shape(OperatorKind::EmbeddingGather, 1024, 1024);
  const auto once = lowering.lower(op, WorkKind::Forward);
  const auto gradient = lowering.lower(op, WorkKind::BackwardWeights);
  op.serial_splits = 4;
  EXPECT_GT(lowering.lower(op, WorkKind::Forward)->cycles(), once->cycles());
  EXPECT_LT(lowering.lower(op, WorkKind::BackwardWeights)->temporary_bytes_per_tile,
            gradient->temporary_bytes_per_tile);
}

TEST(Lowering, BatchNormOverReplicasWaitsForThem) {
  Lowering lowering(shipped_chip("gc200"), half_partials());
  Operator op = with_shape(OperatorKind::BatchNorm, 64, 4096);
  const auto alone = lowering.lower(op, WorkKind::Forward);
  std::get<NormShape>(op.shape).replica_span = 2;
  const auto spanning = lowering.lower(op, WorkKind::Forward);
  const double steps = 2;  // ring all-reduce of two: one step of reduce-scatter, one of all-gather
  EXPECT_NEAR(spanning->cycles() - alone->cycles(),
              steps * lowering.chip().parameters.get("replica_statistics_step_seconds") * 1.33e9 + 90, 1e-6);
}

struct OptimizerTest : testing::TestWithParam<std::string> {};

TEST_P(OptimizerTest, UpdateGrowsWithWeightsAndShrinksWithShards) {
  const Optimizer& optimizer = find_optimizer(GetParam(), "test");
  const std::vector<Operator> operators = {matmul(1, 64, 1024, 1024)};
  Lowering lowering(shipped_chip("bow"), half_partials());
  const auto update = [&](std::int64_t elements, std::int64_t shards, std::int64_t minimum = 0) {
    const std::vector<Weight> weights = {{"w", elements, ElementType::Float16, true, {}},
                                         {"average", 7, ElementType::Float16, false, {}}};
    StageWork work;
    work.operators = &operators;
    work.weights = &weights;
    work.optimizer = &optimizer;
    work.optimizer_shards = shards;
    work.shard_minimum_elements = minimum;
    const LoweredStage stage = lowering.lower(work);
    EXPECT_EQ(stage.weight_update.size(), 1U);  // the moving average has no update
    // Less the control program of its operators, which depends on neither.
    const double control = lowering.chip().parameters.get("operator_control_cycles");
    return weight_update_cycles(stage).total() - control * static_cast<double>(1 + optimizer.state_types.size());
  };
  const double once = update(8'000'000, 1);
  EXPECT_GT(update(16'000'000, 1), 1.5 * once);
  EXPECT_LT(update(8'000'000, 4), once / 2);
  EXPECT_DOUBLE_EQ(update(8'000'000, 4, 9'000'000), once);  // too small to be sharded
  // Reads the gradient and the weight, writes the weight: 8 bytes per cycle and tile at best.
  EXPECT_GE(once, 8e6 * 2 / 8 / 1472);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest, testing::Values("sgd", "momentum", "adam", "adamw", "lamb", "lars"));

TEST(Lowering, NormsOfLambCostMoreThanAdam) {
  const std::vector<Operator> operators = {matmul(1, 64, 64, 64)};
  const std::vector<Weight> weights = {{"w", 4096, ElementType::Float16, true, {}}};
  Lowering lowering(shipped_chip("bow"), half_partials());
  const auto update = [&](const char* name) {
    StageWork work;
    work.operators = &operators;
    work.weights = &weights;
    work.optimizer = &find_optimizer(name, "test");
    return weight_update_cycles(lowering.lower(work)).total();
  };
  EXPECT_GT(update("lamb"), update("adamw"));
  EXPECT_GT(update("adam"), update("sgd"));
}

WorkloadRequest bert_large(std::int64_t micro_batch) {
  WorkloadRequest request;
  request.micro_batch_size = micro_batch;
  Value options;
  options.set("variant", "large");
  request.options = read_options(options, find_workload("bert", "test").options());
  return request;
}

std::vector<Operator> operators_of(const WorkloadGraph& graph) {
  std::vector<Operator> operators;
  for (const auto vertex : graph.topological_order()) {
    if (graph.graph[vertex].kind != OperatorKind::Input) operators.push_back(graph.graph[vertex]);
  }
  return operators;
}

TEST(Lowering, BertLargeIsLoweredWithinASecondAndItsBackwardPassCostsTwice) {
  const auto graph = find_workload("bert", "test").build(bert_large(8));
  const std::vector<Operator> operators = operators_of(*graph);
  const std::clock_t begin = std::clock();  // processor time: other tests may run beside this one
  LoweringOptions options = half_partials();
  options.available_memory_proportion = 0.25;
  Lowering lowering(shipped_chip("bow"), options);
  StageWork work;
  work.operators = &operators;
  work.first_stage = true;
  const LoweredStage stage = lowering.lower(work);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0);
  EXPECT_LT(lowering.plans_made(), 60U);
  // AMP work of all passes is that of the graph.
  EXPECT_NEAR(forward_cycles(stage).amp_flops, graph->forward_flops(), 1e-6 * graph->forward_flops());
  // "the backwards pass takes between 2 to 2.2 times as many cycles as a forward pass" (guide, section 5.3.2)
  const double ratio =
      (backward_input_cycles(stage).total() + backward_weights_cycles(stage).total()) / forward_cycles(stage).total();
  EXPECT_GT(ratio, 1.9);
  EXPECT_LT(ratio, 2.3);
}

TEST(Lowering, FirstStagePassesNoGradientToItsInput) {
  const std::vector<Operator> operators = {elementwise(OperatorKind::Relu, 64, 64), matmul(1, 64, 64, 64),
                                           elementwise(OperatorKind::Gelu, 64, 64)};
  Lowering lowering(shipped_chip("bow"), half_partials());
  StageWork work;
  work.operators = &operators;
  work.first_stage = true;
  const LoweredStage first = lowering.lower(work);
  EXPECT_EQ(first.backward_input[0], nullptr);
  EXPECT_EQ(first.backward_input[1], nullptr);
  EXPECT_NE(first.backward_weights[1], nullptr);
  EXPECT_NE(first.backward_input[2], nullptr);
  work.first_stage = false;
  EXPECT_NE(lowering.lower(work).backward_input[0], nullptr);
  work.training = false;
  EXPECT_EQ(lowering.lower(work).backward_input[2], nullptr);
}

TEST(Lowering, RecomputationRunsTheForwardPassUpToTheLastCheckpoint) {
  std::vector<Operator> operators;
  for (int i = 0; i < 4; ++i) {
    operators.push_back(matmul(1, 512, 512, 512));
    operators.back().block = i;
  }
  operators[1].checkpoint = true;
  Lowering lowering(shipped_chip("bow"), half_partials());
  StageWork work;
  work.operators = &operators;
  const LoweredStage stage = lowering.lower(work);
  const double one = stage.forward[0]->cycles();
  const auto cycles = [&](Recomputation recomputation, bool partial) {
    return recompute_cycles(stage, operators, recomputation, partial).total();
  };
  EXPECT_DOUBLE_EQ(cycles(Recomputation::None, false), 0);
  EXPECT_DOUBLE_EQ(cycles(Recomputation::Stage, false), 4 * one);
  EXPECT_DOUBLE_EQ(cycles(Recomputation::Stage, true), 0);
  EXPECT_DOUBLE_EQ(cycles(Recomputation::Named, false), 3 * one);   // the checkpoint itself is kept
  EXPECT_DOUBLE_EQ(cycles(Recomputation::Named, true), one);        // before the checkpoint
  EXPECT_DOUBLE_EQ(cycles(Recomputation::EveryLayer, false), one);  // the last block, whose output leaves
}

TEST(Lowering, RefusesImpossibleOptions) {
  LoweringOptions options;
  options.io_tiles = 1472;
  EXPECT_THAT([&] { Lowering lowering(shipped_chip("bow"), options); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("1472 IO tiles")));
  options.io_tiles = 0;
  options.available_memory_proportion = 0;
  EXPECT_THAT([&] { Lowering lowering(shipped_chip("bow"), options); },
              testing::ThrowsMessage<UserError>(testing::HasSubstr("available memory proportion")));
}

}  // namespace
}  // namespace podsim
