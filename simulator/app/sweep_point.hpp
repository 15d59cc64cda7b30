// One point of a sweep: compile, simulate, and keep the figures, or the reason why it cannot run.
#pragma once

#include <filesystem>
#include <optional>

#include "simulator/app/compile.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/app/sweep_row.hpp"

namespace podsim {

// A system that many points have in common, built once.
struct SharedSystem {
  Value section;  // "system" of their scenarios
  System system;
};

struct PointSettings {
  bool fast_forward = true;
  SharedSystem* system = nullptr;  // taken, not copied, where the point's section is equal: for one point of a process
};

// Simulates a scenario given as a tree. A UserError becomes the row's error, beside the figures known by then: a
// scenario that does not fit has its memory. Once per process (see engine/run.hpp).
[[nodiscard]] SweepRow simulate_point(Value source, const std::filesystem::path& folder, const DataFolder& data,
                                      const PointSettings& settings);

// Builds what a point needs of its system, for the points that share it; nothing where that fails: the points will say
// so themselves. A first attempt in a child process keeps a crash from the caller. It also makes later children faster:
// they find symbols resolved and memory filled.
[[nodiscard]] std::optional<SharedSystem> share_system(const Value& source, const std::filesystem::path& folder,
                                                       const DataFolder& data);

// The same from a compiled scenario on.
[[nodiscard]] SweepRow simulate_compiled(Compilation compilation, const Scenario& scenario,
                                         const PointSettings& settings);

}  // namespace podsim
