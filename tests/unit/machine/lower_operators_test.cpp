// Lowering of elementwise functions, top-k and CTC, by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/machine/lower.hpp"
#include "tests/unit/machine/test_chip.hpp"

namespace podsim {
namespace {

TEST(Lowering, FunctionsAreVerticesAndOperatorsOfTheirOwn) {
  // 1472 x 24 halves: six vectors on one tile, one for each worker; PopLibs gives 2 cycles to a negation, 4 to an
  // exponential.
  Lowering lowering(shipped_chip("bow"), half_partials());
  Operator op = elementwise(OperatorKind::Elementwise, 1472, 24);
  op.functions = {ElementFunction::Negate, ElementFunction::Exponent};
  const ParameterSet& parameters = lowering.chip().parameters;
  const double control = parameters.get("superstep_control_cycles") + parameters.get("operator_control_cycles");
  EXPECT_DOUBLE_EQ(lowering.lower(op, WorkKind::Forward)->cycles(),
                   11 + 6 * (20 + 2) + 11 + 6 * (20 + 4) + 2 * control);
  // Backward: the gradient times the exponential, then negated.
  const auto backward = lowering.lower(op, WorkKind::BackwardInput);
  ASSERT_EQ(backward->supersteps.size(), 2U);
  EXPECT_EQ(backward->supersteps[0].name, "elementwise/multiply");
  EXPECT_EQ(backward->supersteps[1].name, "elementwise/negate");
}

TEST(Lowering, TopKIsABitonicSort) {
  Lowering lowering(shipped_chip("bow"), half_partials());
  Operator op = elementwise(OperatorKind::TopK, 32, 16);
  op.shape = TopKShape{32, 16, 4};
  // Runs of 4: 1 + 2 steps; 4 runs to 2 to 1: a merge and 2 steps each.
  const auto lowered = lowering.lower(op, WorkKind::Forward);
  double steps = 0;
  for (const Superstep& step : lowered->supersteps) steps += step.repeat;
  EXPECT_DOUBLE_EQ(steps, 3 + 2 * (1 + 2));
  op.shape = TopKShape{32, 16, 8};
  EXPECT_GT(lowering.lower(op, WorkKind::Forward)->cycles(), lowered->cycles());
}

// popnn's plan for the speech example: each label has tiles of its own, time is cut in two so that alpha and beta meet
// after 152 of 304 steps. A symbol and its blank take 44 cycles, the last blank 17; with the gradient 84 and 34.
TEST(Lowering, CtcStepsThroughHalfTheTimeTwice) {
  Lowering lowering(shipped_chip("gc200"), half_partials());
  Operator op = elementwise(OperatorKind::CtcLoss, 4 * 304, 4233);
  op.shape = CtcShape{4, 304, 48, 4233};
  op.outputs[0].shape = {4};
  const auto lowered = lowering.lower(op, WorkKind::Forward);
  const double control = lowering.chip().parameters.get("superstep_control_cycles");
  const auto step = [&](const std::string& name) -> const Superstep& {
    return *std::find_if(lowered->supersteps.begin(), lowered->supersteps.end(),
                         [&](const Superstep& s) { return s.name == name; });
  };
  EXPECT_DOUBLE_EQ(step("ctc/alpha-beta").repeat, 152);
  EXPECT_DOUBLE_EQ(step("ctc/alpha-beta").compute_cycles_maximum(), 6 * (44 + 17) + control);
  EXPECT_DOUBLE_EQ(step("ctc/gradient").repeat, 152);
  EXPECT_DOUBLE_EQ(step("ctc/gradient").compute_cycles_maximum(), 6 * (84 + 34) + control);
  op.shape = CtcShape{4, 608, 48, 4233};
  EXPECT_GT(lowering.lower(op, WorkKind::Forward)->cycles(), lowered->cycles() + 304 * 6 * (44 + 17));
}

}  // namespace
}  // namespace podsim
