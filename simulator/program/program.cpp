// Names of passes and look-up of stage codes.
#include "simulator/program/program.hpp"

#include <algorithm>
#include <string>

#include "simulator/core/error.hpp"

namespace podsim {

std::string_view name_of(Pass pass) {
  switch (pass) {
    case Pass::Forward: return "forward";
    case Pass::Recompute: return "recompute";
    case Pass::RecomputePartial: return "recompute_partial";
    case Pass::Backward: return "backward";
    case Pass::BackwardInput: return "backward_input";
    case Pass::BackwardWeights: return "backward_weights";
    case Pass::WeightUpdate: return "weight_update";
  }
  throw InternalError("unknown pass");
}

std::string_view letter_of(Pass pass) {
  switch (pass) {
    case Pass::Forward: return "F";
    case Pass::Recompute: return "R";
    case Pass::RecomputePartial: return "r";
    case Pass::Backward: return "B";
    case Pass::BackwardInput: return "I";
    case Pass::BackwardWeights: return "W";
    case Pass::WeightUpdate: return "U";
  }
  throw InternalError("unknown pass");
}

State state_of(Pass pass) {
  switch (pass) {
    case Pass::Forward: return State::Forward;
    case Pass::Recompute:
    case Pass::RecomputePartial: return State::Recompute;
    case Pass::Backward:
    case Pass::BackwardInput:
    case Pass::BackwardWeights: return State::Backward;
    case Pass::WeightUpdate: return State::WeightUpdate;
  }
  throw InternalError("unknown pass");
}

bool Program::runs(int ipu, int stage) const {
  const int first = ipu_of_stage[static_cast<std::size_t>(stage)];
  return ipu >= first && ipu < first + ipus_per_stage;
}

const StageCode& Program::code(int stage, Pass pass) const {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const StageCode& candidate) {
    return candidate.stage == stage && candidate.pass == pass;
  });
  if (found == codes.end()) {
    throw InternalError("program has no code for stage " + std::to_string(stage) + ", pass " +
                        std::string(name_of(pass)));
  }
  return *found;
}

}  // namespace podsim
