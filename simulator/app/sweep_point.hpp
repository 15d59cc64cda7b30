// One point of a sweep: compile, simulate, and keep the figures, or the reason why it cannot run.
#pragma once

#include <filesystem>

#include "simulator/app/compile.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/app/sweep_row.hpp"

namespace podsim {

struct PointSettings {
  bool fast_forward = true;
};

// Simulates a scenario given as a tree. A UserError becomes the row's error, beside the figures known by then: a
// scenario that does not fit has its memory. Once per process (see engine/run.hpp).
[[nodiscard]] SweepRow simulate_point(Value source, const std::filesystem::path& folder, const DataFolder& data,
                                      const PointSettings& settings);

// The same from a compiled scenario on.
[[nodiscard]] SweepRow simulate_compiled(Compilation compilation, const Scenario& scenario,
                                         const PointSettings& settings);

}  // namespace podsim
