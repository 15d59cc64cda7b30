// Times of a pass: sums over the operators of a stage.
#include "simulator/machine/activation_lifetimes.hpp"
#include "simulator/machine/lower.hpp"

namespace podsim {

namespace {

using Lowered = std::vector<std::shared_ptr<const LoweredOperator>>;

void add(PassCycles& pass, const LoweredOperator& lowered) {
  pass.compute += lowered.compute_cycles;
  pass.sync += lowered.sync_cycles;
  pass.exchange += lowered.exchange_cycles;
  pass.amp_flops += lowered.amp_flops;
}

PassCycles sum(const Lowered& operators) {
  PassCycles pass;
  for (const auto& lowered : operators) {
    if (lowered) add(pass, *lowered);
  }
  return pass;
}

}  // namespace

PassCycles forward_cycles(const LoweredStage& stage) { return sum(stage.forward); }
PassCycles backward_input_cycles(const LoweredStage& stage) { return sum(stage.backward_input); }
PassCycles backward_weights_cycles(const LoweredStage& stage) { return sum(stage.backward_weights); }
PassCycles weight_update_cycles(const LoweredStage& stage) { return sum(stage.weight_update); }

std::vector<std::size_t> recomputed_operators(const std::vector<Operator>& operators, Recomputation recomputation,
                                              bool partial) {
  std::vector<std::size_t> recomputed;
  if (recomputation == Recomputation::None) return recomputed;
  // A stage whose backward pass follows its forward pass at once still has what is behind its last checkpoint.
  std::size_t end = operators.size();
  if (partial) {
    end = 0;
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (is_checkpoint(operators, i, recomputation)) end = i + 1;
    }
  }
  for (std::size_t i = 0; i < end; ++i) {
    // A kept output is not computed again.
    if (!is_checkpoint(operators, i, recomputation) && operators[i].recomputable) recomputed.push_back(i);
  }
  return recomputed;
}

PassCycles recompute_cycles(const LoweredStage& stage, const std::vector<Operator>& operators,
                            Recomputation recomputation, bool partial) {
  PassCycles pass;
  for (const std::size_t i : recomputed_operators(operators, recomputation, partial)) {
    if (stage.forward[i]) add(pass, *stage.forward[i]);
  }
  return pass;
}

}  // namespace podsim
