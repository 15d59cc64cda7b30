// Aggregated equals detailed: an IPU whose tiles are processes of their own, which know their own cycles and bytes only
// and meet at a barrier after compute and after exchange, ends each operator when the vector form of the lowering says.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "simulator/engine/simgrid_settings.hpp"
#include "simulator/machine/lower.hpp"
#include "tests/support/child_process.hpp"
#include "tests/unit/machine/test_chip.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {
namespace {

namespace sg = simgrid::s4u;

using Lowered = std::vector<std::shared_ptr<const LoweredOperator>>;

constexpr double kTolerance = 1e-12;  // relative; rounding of a few thousand additions

// What a tile does in a superstep, seconds.
struct OwnTimes {
  double compute = 0;
  double exchange = 0;  // sync included
};

struct DetailedStep {
  std::vector<OwnTimes> tiles;
  bool exchange = false;
  double repeat = 1;
  bool ends_operator = false;
};

// Data goes in and out at the same time: the longer of the two, behind the fixed part. Everybody syncs.
double exchange_cycles(const Chip& chip, double bytes_in, double bytes_out) {
  const double bytes = std::max(bytes_in, bytes_out);
  const double rate = chip.exchange_bytes_per_cycle * chip.parameters.get("exchange_efficiency");
  return chip.sync_cycles + (bytes > 0 ? chip.exchange_fixed_cycles + bytes / rate : 0);
}

DetailedStep detailed(const Chip& chip, const Superstep& step) {
  const std::vector<double> compute = step.compute_cycles.expand();
  const std::vector<double> in = step.bytes_in.expand();
  const std::vector<double> out = step.bytes_out.expand();
  DetailedStep result{std::vector<OwnTimes>(static_cast<std::size_t>(chip.tiles)), false, step.repeat, false};
  for (std::size_t tile = 0; tile < result.tiles.size(); ++tile) {
    result.tiles[tile] = {compute.at(tile) / chip.clock_hz,
                          exchange_cycles(chip, in.at(tile), out.at(tile)) / chip.clock_hz};
    result.exchange = result.exchange || in[tile] > 0 || out[tile] > 0;
  }
  return result;
}

std::vector<DetailedStep> detailed(const Chip& chip, const Lowered& operators) {
  std::vector<DetailedStep> steps;
  for (const auto& lowered : operators) {
    for (const Superstep& step : lowered->supersteps) steps.push_back(detailed(chip, step));
    if (!lowered->supersteps.empty()) steps.back().ends_operator = true;
  }
  return steps;
}

void sleep(double seconds) {
  if (seconds > 0) sg::this_actor::sleep_for(seconds);
}

// The program of one tile; `ends`, of one tile only, takes the times at which operators end.
void run_tile(const std::vector<DetailedStep>& steps, std::size_t tile, sg::Barrier& barrier,
              std::vector<double>* ends) {
  for (const DetailedStep& step : steps) {
    for (double repeat = 0; repeat < step.repeat; ++repeat) {
      sleep(step.tiles[tile].compute);
      barrier.wait();
      if (!step.exchange) continue;
      sleep(step.tiles[tile].exchange);
      barrier.wait();
    }
    if (ends != nullptr && step.ends_operator) ends->push_back(sg::Engine::get_clock());
  }
}

// When each operator ends, seconds. Once per process.
std::vector<double> run_tiles(const std::vector<DetailedStep>& steps, int tiles) {
  silence_simgrid();
  sg::Engine engine("tiles");
  configure_simgrid(engine);
  engine.set_config("contexts/guard-size:0");  // a guard page is a memory mapping of its own; their number is limited
  sg::NetZone* zone = sg::create_full_zone("ipu");
  sg::Host* host = zone->create_host("ipu", 1.0);  // tiles only sleep and wait: they take nothing from it
  zone->seal();
  const sg::BarrierPtr barrier = sg::Barrier::create(static_cast<unsigned>(tiles));
  std::vector<double> ends;
  for (int tile = 0; tile < tiles; ++tile) {
    std::vector<double>* own_ends = tile == 0 ? &ends : nullptr;
    sg::Actor::create("tile" + std::to_string(tile), host, [&steps, tile, &barrier, own_ends] {
      run_tile(steps, static_cast<std::size_t>(tile), *barrier, own_ends);
    });
  }
  engine.run();
  return ends;
}

// When each operator ends according to the vector form, seconds.
std::vector<double> vector_form(const Chip& chip, const Lowered& operators) {
  std::vector<double> ends;
  double cycles = 0;
  for (const auto& lowered : operators) {
    for (const Superstep& step : lowered->supersteps) cycles += step.cycles();
    if (!lowered->supersteps.empty()) ends.push_back(cycles / chip.clock_hz);
  }
  return ends;
}

// All passes, one after the other.
Lowered all_of(const LoweredStage& stage) {
  Lowered operators;
  for (const Lowered* pass : {&stage.forward, &stage.backward_input, &stage.backward_weights, &stage.weight_update}) {
    std::copy_if(pass->begin(), pass->end(), std::back_inserter(operators), [](const auto& one) { return one; });
  }
  return operators;
}

double pass_seconds(const Chip& chip, const LoweredStage& stage) {
  return (forward_cycles(stage).total() + backward_input_cycles(stage).total() +
          backward_weights_cycles(stage).total() + weight_update_cycles(stage).total()) /
         chip.clock_hz;
}

std::vector<Weight> weights_of(const std::vector<Operator>& operators) {
  std::vector<Weight> weights;
  for (const Operator& op : operators) weights.insert(weights.end(), op.weights.begin(), op.weights.end());
  return weights;
}

double difference(double seconds, double expected) { return std::abs(seconds - expected) / expected; }

// The largest relative difference, over the ends of operators and the sum of the passes.
struct Comparison {
  std::string error;
  std::size_t operators = 0;
  double largest_difference = 0;
};

Comparison compare(const Chip& chip, const std::vector<Operator>& operators, const LoweringOptions& options,
                   const std::string& optimizer) {
  const std::vector<Weight> weights = weights_of(operators);
  StageWork work;
  work.operators = &operators;
  work.weights = &weights;
  work.optimizer = &find_optimizer(optimizer, "test");
  Lowering lowering(chip, options);
  const LoweredStage stage = lowering.lower(work);
  const Lowered lowered = all_of(stage);
  const std::vector<DetailedStep> steps = detailed(chip, lowered);
  const testing::ChildResult reference = testing::in_child([&] { return run_tiles(steps, chip.tiles); });
  const std::vector<double> expected = vector_form(chip, lowered);
  Comparison result{reference.error, reference.numbers.size(), 0};
  if (!result.error.empty()) return result;
  if (expected.size() != result.operators || expected.empty()) return {"not every operator ended", result.operators, 0};
  result.largest_difference = difference(reference.numbers.back(), pass_seconds(chip, stage));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    result.largest_difference = std::max(result.largest_difference, difference(reference.numbers[i], expected[i]));
  }
  return result;
}

void expect_equal(const Comparison& comparison, std::size_t operators) {
  EXPECT_EQ(comparison.error, "");
  EXPECT_GE(comparison.operators, operators);
  EXPECT_LT(comparison.largest_difference, kTolerance);
}

std::vector<Operator> bert_large_layer() {
  WorkloadRequest request;
  Value options;
  options.set("variant", "large");
  request.options = read_options(options, find_workload("bert", "test").options());
  const auto graph = find_workload("bert", "test").build(request);
  std::vector<Operator> operators;
  for (const auto vertex : graph->topological_order()) {
    const Operator& op = graph->graph[vertex];
    const bool in_layer = graph->blocks.at(static_cast<std::size_t>(op.block)).layer == 0;
    if (in_layer && op.kind != OperatorKind::Input) operators.push_back(op);
  }
  return operators;
}

Operator square_convolution(std::int64_t batch, std::int64_t size, std::int64_t channels, std::int64_t out_channels,
                            std::int64_t kernel, std::int64_t stride, std::int64_t groups = 1) {
  ConvolutionShape shape;
  shape.batch = batch;
  shape.in_height = shape.in_width = size;
  shape.in_channels = channels * groups;
  shape.out_channels = out_channels * groups;
  shape.kernel_height = shape.kernel_width = kernel;
  shape.stride_height = shape.stride_width = stride;
  shape.padding_height = shape.padding_width = kernel / 2;
  shape.out_height = shape.out_width = (size + 2 * (kernel / 2) - kernel) / stride + 1;
  shape.groups = groups;
  return convolution(shape);
}

TEST(TileReference, BertLargeLayerOnAWholeIpu) {
  const Chip chip = shipped_chip("bow");
  ASSERT_EQ(chip.tiles, 1472);
  LoweringOptions options;
  options.partials = ElementType::Float16;
  expect_equal(compare(chip, bert_large_layer(), options, "lamb"), 40);
}

TEST(TileReference, ConvolutionsOnAWholeIpu) {
  const Chip chip = shipped_chip("gc200");
  ASSERT_EQ(chip.tiles, 1472);
  LoweringOptions options;
  options.io_tiles = 32;
  // Of ResNet-50: its 3x3 at 28x28 and the first 1x1 with a stride.
  expect_equal(compare(chip, {square_convolution(4, 28, 128, 128, 3, 1), square_convolution(4, 56, 256, 512, 1, 2)},
                       options, "momentum"),
               8);
}

std::int64_t up_to(std::int64_t maximum) { return *rc::gen::inRange<std::int64_t>(1, maximum + 1); }

Operator any_norm() {
  const auto kind = *rc::gen::element(OperatorKind::LayerNorm, OperatorKind::GroupNorm, OperatorKind::BatchNorm);
  const std::int64_t groups = up_to(90), elements = up_to(300);
  Operator norm = elementwise(kind, groups, elements);
  norm.shape = NormShape{groups, elements, 1};
  norm.weights = {{"scale", elements, ElementType::Float16, true, {}}};
  return norm;
}

Operator any_gather() {
  const std::int64_t lookups = up_to(90), rows = up_to(4000), width = up_to(130);
  Operator gather = elementwise(OperatorKind::EmbeddingGather, lookups, width);
  gather.shape = GatherShape{lookups, rows, width};
  gather.weights = {{"table", rows * width, ElementType::Float16, true, {}}};
  return gather;
}

Operator any_elementwise() {
  return elementwise(
      *rc::gen::element(OperatorKind::Softmax, OperatorKind::Gelu, OperatorKind::Dropout, OperatorKind::Transpose,
                        OperatorKind::Reduction, OperatorKind::Concat, OperatorKind::Elementwise),
      up_to(200), up_to(200));
}

Operator any_operator() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0: return any_norm();
    case 1: return any_gather();
    case 2: return any_elementwise();
    case 3: return square_convolution(up_to(3), up_to(20), up_to(40), up_to(40), 2 * up_to(2) - 1, up_to(2), up_to(3));
    case 4: return matmul(up_to(12), up_to(100), up_to(64), up_to(100), false);
    default: {
      Operator op = matmul(1, up_to(300), up_to(300), up_to(900));
      op.serial_splits = up_to(3);
      return op;
    }
  }
}

RC_GTEST_PROP(TileReference, RandomOperatorsOnSmallChips, ()) {
  Chip chip = shipped_chip(*rc::gen::element<std::string>("gc2", "gc200", "bow"));
  chip.tiles = static_cast<int>(up_to(61));
  LoweringOptions options;
  options.io_tiles = *rc::gen::inRange(0, std::min(chip.tiles, 5));
  options.partials = *rc::gen::element(ElementType::Float16, ElementType::Float32);
  std::vector<Operator> operators;
  for (auto left = up_to(3); left > 0; --left) operators.push_back(any_operator());
  const Comparison comparison =
      compare(chip, operators, options, *rc::gen::element<std::string>("sgd", "adamw", "lamb"));
  RC_ASSERT(comparison.error == "");
  RC_ASSERT(comparison.operators >= operators.size());
  RC_ASSERT(comparison.largest_difference < kTolerance);
}

}  // namespace
}  // namespace podsim
