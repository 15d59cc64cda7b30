// One point of a sweep: compile, simulate, and keep the figures, or the reason why it cannot run. For workers of a
// ProcessPool: compiled there, simulated in a child.
#pragma once

#include <filesystem>
#include <memory>

#include "simulator/app/compile.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/app/sweep_row.hpp"

namespace podsim {

// A scenario that has been compiled.
struct CompiledPoint {
  Scenario scenario;
  Compilation compilation;
};

// The row of a point as one line of JSON; the rest is the simulation. Where the point does not fit, the row has its
// memory and the error, and there is no rest.
[[nodiscard]] Prepared prepare_simulation(const std::shared_ptr<CompiledPoint>& point, CompileCache& cache,
                                          bool fast_forward);

// The same from a scenario, or from one given as a tree. A UserError becomes the row's error.
[[nodiscard]] Prepared prepare_point(Scenario scenario, const DataFolder& data, CompileCache& cache, bool fast_forward);
[[nodiscard]] Prepared prepare_point(Value source, const std::filesystem::path& folder, const DataFolder& data,
                                     CompileCache& cache, bool fast_forward);

// The row of a point that has no figures.
[[nodiscard]] std::string row_of_error(const std::string& error);

}  // namespace podsim
