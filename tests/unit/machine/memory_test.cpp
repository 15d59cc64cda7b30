// The memory account against tables and statements of Graphcore's "Memory and Performance Optimisation on the IPU".
#include "simulator/machine/memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "tests/unit/machine/test_chip.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {
namespace {

// A BERT pipeline cut into stages by hand: `layers` transformer layers on each IPU, embedding with the first one and
// heads, whose words are tied, there as well.
struct BertPipeline {
  std::vector<std::vector<Operator>> operators;  // for each stage; the last one is the head, on IPU 0
  std::vector<std::vector<Weight>> weights;
  std::vector<double> input_bytes;
  Optimizer optimizer = find_optimizer("lamb", "test");
};

BertPipeline bert(const std::string& variant, std::int64_t micro_batch, const std::vector<int>& layers, bool training) {
  WorkloadRequest request;
  request.micro_batch_size = micro_batch;
  request.training = training;
  Value options;
  options.set("variant", variant);
  options.set("task", layers.size() > 1 ? "pretraining" : "squad");
  request.options = read_options(options, find_workload("bert", "test").options());
  const auto graph = find_workload("bert", "test").build(request);
  const std::size_t stages = layers.size() + (layers.size() > 1 ? 1 : 0);
  BertPipeline pipeline;
  pipeline.operators.resize(stages);
  pipeline.weights.resize(stages);
  double hidden = 0;
  for (const auto vertex : graph->topological_order()) {
    const Operator& op = graph->graph[vertex];
    if (op.kind == OperatorKind::Input) continue;
    const Block& block = graph->blocks[static_cast<std::size_t>(op.block)];
    std::size_t stage = 0;
    if (block.role == BlockRole::Head) stage = stages - 1;
    if (block.role == BlockRole::Layer) {
      int last = 0;
      for (stage = 0; stage < layers.size(); ++stage) {
        last += layers[stage];
        if (block.layer < last) break;
      }
    }
    pipeline.operators[stage].push_back(op);
    for (const Weight& weight : op.weights) {
      if (weight.tied_to.empty()) pipeline.weights[stage].push_back(weight);
    }
    if (op.name == "encoder/0/ffn/norm") hidden = static_cast<double>(op.output_bytes());
  }
  pipeline.input_bytes.assign(stages, hidden);
  pipeline.input_bytes[0] = static_cast<double>(micro_batch) * 128 * 4 * 3;
  return pipeline;
}

struct Account {
  std::vector<MemoryReport> ipus;

  [[nodiscard]] double total(MemoryCategory category) const {
    double sum = 0;
    for (const MemoryReport& report : ipus) sum += report.total_bytes(category);
    return sum;
  }
  [[nodiscard]] bool fits() const {
    for (const MemoryReport& report : ipus) {
      if (!report.fits()) return false;
    }
    return true;
  }
};

MemoryRequest training_request(int replicas, Recomputation recomputation) {
  MemoryRequest request;
  request.recomputation = recomputation;
  request.replicas = replicas;
  request.optimizer_state_off_chip = true;
  return request;
}

Account account(const BertPipeline& pipeline, MemoryRequest request, double proportion, const char* chip = "bow",
                bool outlining = true) {
  LoweringOptions options;
  options.partials = ElementType::Float16;
  options.available_memory_proportion = proportion;
  options.outlining = outlining;
  Lowering lowering(shipped_chip(chip), options);
  request.optimizer = pipeline.optimizer;
  const std::size_t stages = pipeline.operators.size();
  std::vector<LoweredStage> lowered;
  for (std::size_t s = 0; s < stages; ++s) {
    StageWork work;
    work.operators = &pipeline.operators[s];
    work.weights = &pipeline.weights[s];
    work.training = request.training;
    work.first_stage = s == 0;
    work.optimizer = &pipeline.optimizer;
    lowered.push_back(lowering.lower(work));
  }
  Account result;
  const std::size_t ipus = stages > 1 ? stages - 1 : 1;
  for (std::size_t ipu = 0; ipu < ipus; ++ipu) {
    MemoryRequest of_ipu = request;
    for (std::size_t s = ipu; s < stages; s += ipus) {
      StageMemory stage;
      stage.operators = &pipeline.operators[s];
      stage.weights = &pipeline.weights[s];
      stage.lowered = &lowered[s];
      stage.stage_input_bytes = pipeline.input_bytes[s];
      stage.live_micro_batches = request.training ? 2 * static_cast<std::int64_t>(stages - 1 - s) + 1 : 1;
      of_ipu.stages.push_back(stage);
    }
    result.ipus.push_back(account_memory(lowering, of_ipu));
  }
  return result;
}

// Table 4.1: BERT-Large with 1 and 4 replicas. Figures per replica of four IPUs.
TEST(Memory, CodeIsThatOfTable41) {
  const BertPipeline pipeline = bert("large", 8, {3, 7, 7, 7}, true);
  const Account one = account(pipeline, training_request(1, Recomputation::EveryLayer), 0.25);
  const Account four = account(pipeline, training_request(4, Recomputation::EveryLayer), 0.25);
  EXPECT_NEAR(one.total(MemoryCategory::ControlCode) / 91'668'904, 1, 0.05);
  EXPECT_NEAR(one.total(MemoryCategory::InternalExchangeCode) / 108'270'156, 1, 0.05);
  EXPECT_NEAR(one.total(MemoryCategory::HostExchangeCode) / 66'044'276, 1, 0.05);
  EXPECT_NEAR(one.total(MemoryCategory::GlobalExchangeCode) / 1'035'988, 1, 0.05);
  EXPECT_NEAR(four.total(MemoryCategory::ControlCode) / 117'063'756, 1, 0.05);
  EXPECT_NEAR(four.total(MemoryCategory::InternalExchangeCode) / 126'520'640, 1, 0.05);
  EXPECT_NEAR(four.total(MemoryCategory::HostExchangeCode) / 66'147'360, 1, 0.05);
  EXPECT_NEAR(four.total(MemoryCategory::GlobalExchangeCode) / 4'657'516, 1, 0.05);
  // The growth itself, "linearly with the number of replicas": up to rounding of both to whole bytes of a tile.
  const auto growth = [&](MemoryCategory category) { return four.total(category) - one.total(category); };
  EXPECT_NEAR(growth(MemoryCategory::ControlCode), 117'063'756 - 91'668'904, 2 * 5888);
  EXPECT_NEAR(growth(MemoryCategory::InternalExchangeCode), 126'520'640 - 108'270'156, 2 * 5888);
  EXPECT_NEAR(growth(MemoryCategory::HostExchangeCode), 66'147'360 - 66'044'276, 2 * 5888);
  EXPECT_NEAR(growth(MemoryCategory::GlobalExchangeCode), 4'657'516 - 1'035'988, 2 * 5888);
}

// Table 5.1: FIFOs of 2.0 and 1.5 MB at micro-batch 1, 16.0 and 12.0 MB at 8. These are 8 and 6 entries of a
// [128, 1024] fp16 tensor: stages 0 and 1 of the five-stage grouped pipeline, 2 (N - 1 - s) entries each.
TEST(Memory, StashesAreTheFifosOfTable51) {
  const std::vector<Operator> operators = {elementwise(OperatorKind::Gelu, 128, 1024)};
  Lowering lowering(shipped_chip("gc200"), {});
  StageWork work;
  work.operators = &operators;
  const LoweredStage lowered = lowering.lower(work);
  for (const auto& [stage, micro_batch, mebibytes] :
       {std::tuple{0, 1, 2.0}, std::tuple{1, 1, 1.5}, std::tuple{0, 8, 16.0}, std::tuple{1, 8, 12.0}}) {
    MemoryRequest request;
    request.recomputation = Recomputation::Stage;
    StageMemory memory;
    memory.operators = &operators;
    memory.lowered = &lowered;
    memory.stage_input_bytes = 128.0 * 1024 * 2 * micro_batch;
    memory.live_micro_batches = 2 * (5 - 1 - stage);
    request.stages = {memory};
    EXPECT_DOUBLE_EQ(account_memory(lowering, request).total_bytes(MemoryCategory::ActivationStashes),
                     mebibytes * 1024 * 1024);
  }
}

// Section 5.3: "BERT Large would not fit in memory without recomputation".
TEST(Memory, BertLargeNeedsRecomputation) {
  const BertPipeline pipeline = bert("large", 8, {3, 7, 7, 7}, true);
  EXPECT_FALSE(account(pipeline, training_request(4, Recomputation::None), 0.25).fits());
  EXPECT_TRUE(account(pipeline, training_request(4, Recomputation::EveryLayer), 0.25).fits());
  EXPECT_TRUE(account(pipeline, training_request(4, Recomputation::Stage), 0.15).fits());
}

// Published inference batch sizes of one Mk2 IPU: BERT-Large at sequence length 128 three to four, BERT-Base 80.
TEST(Memory, BertInferenceFitsOneIpuUpToTheKnownBatch) {
  MemoryRequest request;
  request.training = false;
  const auto fits = [&](const char* variant, int layers, std::int64_t micro_batch) {
    return account(bert(variant, micro_batch, {layers}, false), request, 0.6, "gc200").fits();
  };
  EXPECT_TRUE(fits("large", 24, 3));
  EXPECT_TRUE(fits("large", 24, 4));
  EXPECT_FALSE(fits("large", 24, 8));
  EXPECT_TRUE(fits("base", 12, 80));
}

// Section 3.4: weights, gradients and optimiser states scale with the parameters: N x bytes.
TEST(Memory, VariablesAreParametersTimesBytes) {
  const std::vector<Operator> operators = {matmul(1, 64, 1000, 1000)};
  const std::vector<Weight> weights = {{"w", 1'000'000, ElementType::Float16, true, {}},
                                       {"moving_mean", 1000, ElementType::Float16, false, {}}};
  Lowering lowering(shipped_chip("bow"), {});
  const Optimizer& adam = find_optimizer("adam", "test");
  double state = 0;
  for (const ElementType type : adam.state_types) state += static_cast<double>(bytes_of(type));
  StageWork work;
  work.operators = &operators;
  work.weights = &weights;
  work.optimizer = &adam;
  const LoweredStage lowered = lowering.lower(work);
  MemoryRequest request;
  request.optimizer = adam;
  request.stages = {{&operators, &weights, &lowered, 0, 1, 0, 0}};
  const MemoryReport plain = account_memory(lowering, request);
  EXPECT_DOUBLE_EQ(plain.total_bytes(MemoryCategory::Weights), 2'002'000);
  EXPECT_DOUBLE_EQ(plain.total_bytes(MemoryCategory::GradientAccumulators),
                   1e6 * static_cast<double>(bytes_of(adam.accumulator_type)));
  EXPECT_DOUBLE_EQ(plain.total_bytes(MemoryCategory::OptimizerState), 1e6 * state);

  request.optimizer_shards = 4;
  EXPECT_DOUBLE_EQ(account_memory(lowering, request).total_bytes(MemoryCategory::OptimizerState), 0.25e6 * state);
  request.optimizer_state_off_chip = true;
  const MemoryReport off_chip = account_memory(lowering, request);
  EXPECT_DOUBLE_EQ(off_chip.total_bytes(MemoryCategory::OptimizerState), 0);
  EXPECT_LT(off_chip.always_live_tile_bytes, plain.always_live_tile_bytes);
  request.weights_off_chip = request.accumulators_off_chip = true;
  const MemoryReport nothing = account_memory(lowering, request);
  EXPECT_DOUBLE_EQ(nothing.total_bytes(MemoryCategory::Weights), 0);
  EXPECT_DOUBLE_EQ(nothing.total_bytes(MemoryCategory::GradientAccumulators), 0);
  EXPECT_GT(nothing.total_bytes(MemoryCategory::RemoteBuffers), 0);
}

// What is streamed lies on the tiles for the passes that need it, with what is beside it for other stages.
TEST(Memory, StreamedDataIsHeldInItsPasses) {
  const std::vector<Operator> operators = {matmul(1, 64, 1000, 1000)};
  const std::vector<Weight> weights = {{"w", 1'000'000}, {"v", 500'000}};
  Lowering lowering(shipped_chip("bow"), {});
  MemoryRequest request;
  request.optimizer = find_optimizer("adam", "test");
  StageWork work;
  work.operators = &operators;
  work.weights = &weights;
  work.optimizer = &request.optimizer;
  const LoweredStage lowered = lowering.lower(work);
  StageMemory stage;
  stage.operators = &operators;
  stage.weights = &weights;
  stage.lowered = &lowered;
  const auto held = [&](const std::string& pass) {
    request.stages = {stage};
    for (const LivenessStep& step : account_memory(lowering, request).liveness) {
      if (step.name.starts_with(pass)) return step.total_bytes;
    }
    return -1.0;
  };
  const double forward = held("forward"), backward = held("backward"), update = held("update");
  stage.beside_forward_bytes = 1000;
  stage.beside_backward_bytes = 2000;
  stage.beside_update_bytes = 3000;
  EXPECT_DOUBLE_EQ(held("forward") - forward, 1000);
  EXPECT_DOUBLE_EQ(held("backward") - backward, 2000);
  EXPECT_DOUBLE_EQ(held("update") - update, 3000);
  stage.beside_forward_bytes = stage.beside_backward_bytes = stage.beside_update_bytes = 0;
  request.weights_off_chip = request.accumulators_off_chip = request.optimizer_state_off_chip = true;
  const double accumulator = static_cast<double>(bytes_of(request.optimizer.accumulator_type));
  double state = 0;
  for (const ElementType type : request.optimizer.state_types) state += static_cast<double>(bytes_of(type));
  EXPECT_DOUBLE_EQ(held("forward") - forward, 1.5e6 * 2);
  EXPECT_DOUBLE_EQ(held("backward") - backward, 1.5e6 * (2 + accumulator));
  EXPECT_NEAR(held("update") - update, 1e6 * (2 + accumulator + state), 1);  // the larger tensor
  request.updates_one_tensor_at_a_time = false;
  EXPECT_NEAR(held("update") - update, 1.5e6 * (2 + accumulator + state), 1);
}

TEST(Memory, CheckpointsTradeStashForRecomputedActivations) {
  const BertPipeline pipeline = bert("large", 4, {3, 7, 7, 7}, true);
  const Account none = account(pipeline, training_request(1, Recomputation::None), 0.2);
  const Account stage = account(pipeline, training_request(1, Recomputation::Stage), 0.2);
  const Account layer = account(pipeline, training_request(1, Recomputation::EveryLayer), 0.2);
  const auto stash = [](const Account& a) { return a.total(MemoryCategory::ActivationStashes); };
  EXPECT_GT(stash(none), stash(layer));
  EXPECT_GT(stash(layer), stash(stage));
  // What a stage holds at its worst moment: a whole stage's activations against one layer's.
  EXPECT_GT(stage.ipus[1].total_bytes(MemoryCategory::Activations),
            3 * layer.ipus[1].total_bytes(MemoryCategory::Activations));
}

TEST(Memory, EightBitCheckpointsHalveTheStash) {
  const BertPipeline pipeline = bert("large", 4, {3, 7, 7, 7}, true);
  MemoryRequest request = training_request(1, Recomputation::Stage);
  const double full = account(pipeline, request, 0.2).total(MemoryCategory::ActivationStashes);
  request.stash_bytes_per_element = 1;
  const double token_ids = 4 * 128 * 4 * 3 * 9;  // of nine micro-batches on the first stage: no floating point
  EXPECT_DOUBLE_EQ(account(pipeline, request, 0.2).total(MemoryCategory::ActivationStashes),
                   token_ids + (full - token_ids) / 2);
}

TEST(Memory, OutliningSharesCode) {
  const BertPipeline pipeline = bert("large", 4, {3, 7, 7, 7}, true);
  const MemoryRequest request = training_request(1, Recomputation::EveryLayer);
  const Account shared = account(pipeline, request, 0.2);
  const Account copied = account(pipeline, request, 0.2, "bow", false);
  for (const MemoryCategory category : {MemoryCategory::ControlCode, MemoryCategory::InternalExchangeCode}) {
    EXPECT_GT(copied.total(category), 2 * shared.total(category)) << name_of(category);
  }
}

TEST(Memory, IoTilesHoldTheStreamBuffers) {
  const std::vector<Operator> operators = {matmul(1, 64, 100, 100)};
  LoweringOptions options;
  options.io_tiles = 32;
  Lowering lowering(shipped_chip("bow"), options);
  StageWork work;
  work.operators = &operators;
  const LoweredStage lowered = lowering.lower(work);
  MemoryRequest request;
  request.stages = {{&operators, nullptr, &lowered, 0, 1, 64000, 0}};
  const MemoryReport report = account_memory(lowering, request);
  const TileVector& buffers = report.categories[static_cast<std::size_t>(MemoryCategory::IoBuffers)];
  EXPECT_DOUBLE_EQ(buffers.sum(), 128000);  // two buffers
  EXPECT_DOUBLE_EQ(buffers.at(0), 0);
  EXPECT_DOUBLE_EQ(buffers.at(1471), 4000);
}

TEST(Memory, PeakIsTheSumOfTheCategoriesOnItsTile) {
  const Account result =
      account(bert("large", 4, {3, 7, 7, 7}, true), training_request(4, Recomputation::EveryLayer), 0.2);
  for (const MemoryReport& report : result.ipus) {
    double sum = 0;
    double always = 0;
    for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
      sum += report.categories[i].at(report.peak_tile);
      if (always_live(static_cast<MemoryCategory>(i))) always += report.categories[i].at(report.peak_tile);
    }
    EXPECT_NEAR(sum, report.peak_tile_bytes, 1e-6);
    EXPECT_NEAR(always, report.always_live_tile_bytes, 1e-6);
    EXPECT_DOUBLE_EQ(report.limit_bytes, 638976);
    // The largest step of the liveness is what lies on top of the always-live memory, up to placement.
    double largest = 0;
    for (const LivenessStep& step : report.liveness) largest = std::max(largest, step.bytes);
    EXPECT_LE(report.peak_tile_bytes - report.always_live_tile_bytes, largest + 64);
    EXPECT_GE(report.peak_tile_bytes - report.always_live_tile_bytes, 0.95 * largest);
  }
}

TEST(Memory, NamesAreStable) {
  EXPECT_EQ(name_of(MemoryCategory::GradientAccumulators), "gradient_accumulators");
  EXPECT_EQ(name_of(MemoryCategory::RemoteBuffers), "remote_buffers");
  EXPECT_TRUE(always_live(MemoryCategory::StackAndVertexState));
  EXPECT_FALSE(always_live(MemoryCategory::Activations));
}

}  // namespace
}  // namespace podsim
