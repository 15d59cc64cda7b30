// Lowering: chooses the family of an operator, memoises by what decides its supersteps.
#include "simulator/machine/lower.hpp"

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "simulator/core/error.hpp"
#include "simulator/machine/code_size.hpp"
#include "simulator/machine/operator_lowering.hpp"

namespace podsim {

double Superstep::cycles() const { return repeat * (compute_cycles_maximum() + sync_cycles + exchange_cycles); }

std::string MatMulPlan::text() const {
  std::ostringstream out;
  out << split_groups << " groups x " << split_rows << " rows x " << split_columns << " columns x " << split_inner
      << " inner on " << tiles_used << " tiles";
  if (serial_columns * serial_inner * serial_rows > 1) {
    out << ", serial " << serial_columns << " columns x " << serial_inner << " inner";
  }
  if (!bounded) out << ", beyond the memory bound";
  return out.str();
}

struct Lowering::State {
  State(Chip given, LoweringOptions chosen)
      : chip(std::move(given)), options(chosen), costs(chip), planner(chip, costs, options) {}

  Chip chip;
  LoweringOptions options;
  TileCosts costs;
  Planner planner;
  std::size_t plans = 0;
  std::unordered_map<std::string, std::shared_ptr<const LoweredOperator>> memo;

  [[nodiscard]] SuperstepList list() const { return {costs, chip.tiles - options.io_tiles, chip.tiles}; }
  [[nodiscard]] std::shared_ptr<const LoweredOperator> finish(SuperstepList& steps, WorkKind work) const {
    LoweredOperator& result = steps.result();
    result.work = work;
    add_code_sizes(chip, result);
    return std::make_shared<const LoweredOperator>(std::move(result));
  }
  void append(const Operator& op, WorkKind work, SuperstepList& steps);
  void append_weight_work(const Operator& op, SuperstepList& steps);
};

namespace {

void check_options(const Chip& chip, const LoweringOptions& options) {
  if (options.io_tiles < 0 || options.io_tiles >= chip.tiles) {
    throw UserError("",
                    std::to_string(options.io_tiles) + " IO tiles, but an IPU of chip " + chip.name + " has " +
                        std::to_string(chip.tiles) + " tiles",
                    "leave at least one tile for compute");
  }
  if (!(options.available_memory_proportion > 0)) {
    throw UserError("", "available memory proportion must be greater than 0", "typical values are 0.1 to 0.9");
  }
}

std::string_view name_of_work(WorkKind work) {
  switch (work) {
    case WorkKind::Forward: return "forward";
    case WorkKind::BackwardInput: return "backward-input";
    case WorkKind::BackwardWeights: return "backward-weights";
    case WorkKind::WeightUpdate: return "update";
  }
  return "";
}

double weight_bytes(const Operator& op) {
  double bytes = 0;
  for (const Weight& weight : op.weights) {
    bytes += static_cast<double>(weight.elements) * static_cast<double>(bytes_of(weight.type));
  }
  return bytes;
}

}  // namespace

// Gradients of weights go into the accumulators, and into the statistics of automatic loss scaling.
void Lowering::State::append_weight_work(const Operator& op, SuperstepList& steps) {
  double elements = 0;
  for (const Weight& weight : op.weights) elements += weight.trainable ? static_cast<double>(weight.elements) : 0;
  if (elements <= 0) return;
  // An embedding adds its few rows straight into the accumulator.
  if (op.kind != OperatorKind::EmbeddingGather) lower_accumulation(elements, op.weights.front().type, steps);
  if (options.auto_loss_scaling) lower_gradient_statistics(elements, op.weights.front().type, steps);
}

void Lowering::State::append(const Operator& op, WorkKind work, SuperstepList& steps) {
  if (options.outlining && !op.outline_key.empty() && !op.weights.empty()) {
    lower_outlined_call(weight_bytes(op), steps);
  }
  switch (op.kind) {
    case OperatorKind::Input:
    case OperatorKind::Profiled: return;
    case OperatorKind::MatMul:
    case OperatorKind::Convolution:
      for (const Contraction& contraction : contractions_of(op, work)) {
        ++plans;
        lower_contraction(planner, planner.plan(contraction), std::string(name_of(op.kind)), steps);
      }
      break;
    case OperatorKind::LayerNorm:
    case OperatorKind::GroupNorm: lower_norm(op, work, steps); break;
    case OperatorKind::BatchNorm: options.inference ? lower_stored_norm(op, steps) : lower_norm(op, work, steps); break;
    case OperatorKind::Softmax: lower_softmax(op, work, steps); break;
    case OperatorKind::EmbeddingGather:
    case OperatorKind::Gather:
    case OperatorKind::Scatter: lower_gather(op, work, steps); break;
    case OperatorKind::CtcLoss: lower_ctc(op, work, steps); break;
    default: lower_vertices(op, work, steps); break;
  }
  if (work == WorkKind::BackwardWeights) append_weight_work(op, steps);
}

Lowering::Lowering(Chip chip, LoweringOptions options) {
  check_options(chip, options);
  state_ = std::make_unique<State>(std::move(chip), options);
}

Lowering::~Lowering() = default;

const Chip& Lowering::chip() const { return state_->chip; }
const LoweringOptions& Lowering::options() const { return state_->options; }
int Lowering::compute_tiles() const { return state_->chip.tiles - state_->options.io_tiles; }
std::size_t Lowering::plans_made() const { return state_->plans; }
std::size_t Lowering::operators_kept() const { return state_->memo.size(); }

std::shared_ptr<const LoweredOperator> Lowering::lower(const Operator& op, WorkKind work) {
  const bool outlined = state_->options.outlining && !op.outline_key.empty();
  const std::string key = std::string(name_of_work(work)) + (outlined ? "|outlined|" : "|") + op.signature();
  if (const auto known = state_->memo.find(key); known != state_->memo.end()) return known->second;
  SuperstepList steps = state_->list();
  state_->append(op, work, steps);
  steps.add_control(state_->costs.operator_cycles());
  return state_->memo.emplace(key, state_->finish(steps, work)).first->second;
}

LoweredStage Lowering::lower(const StageWork& work) {
  if (work.operators == nullptr) throw InternalError("Lowering::lower: a stage without operators");
  LoweredStage stage;
  bool reaches_weight = !work.first_stage;  // a gradient must flow through what follows the first weight
  for (const Operator& op : *work.operators) {
    stage.forward.push_back(lower(op, WorkKind::Forward));
    const bool backward = work.training && op.differentiable && op.kind != OperatorKind::Input;
    const bool trainable =
        std::any_of(op.weights.begin(), op.weights.end(), [](const Weight& w) { return w.trainable; });
    stage.backward_input.push_back(backward && reaches_weight ? lower(op, WorkKind::BackwardInput) : nullptr);
    stage.backward_weights.push_back(backward && trainable ? lower(op, WorkKind::BackwardWeights) : nullptr);
    reaches_weight = reaches_weight || trainable;
  }
  if (!work.training || work.weights == nullptr || work.optimizer == nullptr) return stage;
  for (const Weight& weight : *work.weights) {
    if (!weight.trainable) continue;
    const std::int64_t shards = weight.elements >= work.shard_minimum_elements ? work.optimizer_shards : 1;
    const std::string key = "update|" + work.optimizer->name + "|" + std::to_string(weight.elements) + "|" +
                            std::string(name_of(weight.type)) + "|" + std::to_string(shards);
    std::shared_ptr<const LoweredOperator>& known = state_->memo[key];
    if (!known) {
      SuperstepList steps = state_->list();
      lower_update(weight, *work.optimizer, shards, steps);
      known = state_->finish(steps, WorkKind::WeightUpdate);
    }
    stage.weight_update.push_back(known);
  }
  return stage;
}

}  // namespace podsim
