// CompileCache: what the scenarios that a process compiles one after the other have in common: systems, lowered
// operators, SimGrid's platforms. Sweeps and searches change one thing at a time.
#pragma once

#include <memory>
#include <vector>

#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/engine/platform.hpp"
#include "simulator/machine/lower.hpp"
#include "topology/topology.hpp"

namespace podsim {

// The simulated pod and its chip, with the scenario's parameters.
struct System {
  std::shared_ptr<const Topology> topology;
  Chip chip;
};

// UserError where there is no such pod, a parameter is unknown, …
[[nodiscard]] System build_system(const Scenario& scenario, const DataFolder& data);

// For one DataFolder.
class CompileCache {
 public:
  // That of an equal "system" section, or a new one.
  [[nodiscard]] std::shared_ptr<const System> system(const Scenario& scenario, const DataFolder& data);

  // A Lowering for this chip and these options, with all that it has lowered before.
  [[nodiscard]] std::shared_ptr<Lowering> lowering(const Chip& chip, const LoweringOptions& options);

  // That of a topology which is simulated for a second time, one of the first few; else null. Starts SimGrid.
  [[nodiscard]] Platform* platform(const Topology& topology);

 private:
  struct KnownSystem {
    Value section;
    std::shared_ptr<const System> system;
    bool simulated = false;
  };
  std::vector<KnownSystem> systems_;  // latest use last
  std::vector<std::shared_ptr<Lowering>> lowerings_;
  std::vector<std::unique_ptr<Platform>> platforms_;
};

}  // namespace podsim
