// The sentence that names what to improve first.
#pragma once

#include <string>

#include "simulator/trace/summary.hpp"

namespace podsim {

// The largest share of the IPUs' time that is not forward, recompute or backward work, with what it means and what
// would help; "compute bound" where none reaches 5 %.
[[nodiscard]] std::string find_bottleneck(const Summary& summary, const Program& program);

}  // namespace podsim
