// run(): the entrance of the engine.
#include "simulator/engine/run.hpp"

#include "simulator/engine/kernel.hpp"
#include "simulator/engine/simulation.hpp"

namespace podsim {

Trace run(const Topology& topology, const Program& program, const RunSettings& settings) {
  return engine::Simulation(topology, program, settings).run();
}

void prepare_run() { engine::start_simgrid(); }

PreparedRun::PreparedRun(const Topology& topology, const Program& program, const RunSettings& settings,
                         Platform* platform)
    : simulation_(std::make_unique<engine::Simulation>(topology, program, settings, platform)) {}

PreparedRun::~PreparedRun() = default;

Trace PreparedRun::run() { return simulation_->run(); }

}  // namespace podsim
