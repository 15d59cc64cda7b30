// CompileCache: what the scenarios that a process compiles one after the other have in common: systems and lowered
// operators. Sweeps and searches change one thing at a time.
#pragma once

#include <memory>
#include <vector>

#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"
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

 private:
  struct KnownSystem {
    Value section;
    std::shared_ptr<const System> system;
  };
  std::vector<KnownSystem> systems_;  // latest use last
  std::vector<std::shared_ptr<Lowering>> lowerings_;
};

}  // namespace podsim
