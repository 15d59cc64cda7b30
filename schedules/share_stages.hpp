// From a program for groups of IPUs that share each stage to one for the IPUs themselves. Private to this folder.
#pragma once

#include <vector>

#include "simulator/program/program.hpp"

namespace podsim {

// IPU g of `program` becomes IPUs g * ipus … g * ipus + ipus - 1, which take the same steps: every one of them sends
// its activations and gradients to its counterpart in the next stage and reduces its weights' gradients with its
// counterparts in the other replicas. Host streams that are not `everywhere` stay with the first IPU of a group.
void share_stages(Program& program, int ipus, const std::vector<bool>& everywhere);

}  // namespace podsim
