// The summary as JSON, with the names that scripts rely on.
#pragma once

#include <string>

#include "simulator/trace/summary.hpp"

namespace podsim {

// Two-space indentation, no newline at the end; numbers in their shortest exact form.
[[nodiscard]] std::string summary_json(const Summary& summary);

}  // namespace podsim
