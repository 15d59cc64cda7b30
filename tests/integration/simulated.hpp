// Simulates a scenario in a child process, changed by overrides as on the command line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/app/simulate.hpp"
#include "simulator/config/json.hpp"
#include "tests/support/child_process.hpp"

namespace podsim::testing {

using Overrides = std::vector<Override>;
using Figures = std::function<std::vector<double>(const Simulation&)>;

// Files that the scenario names are in `folder`.
inline ChildResult simulated(const std::function<Value()>& source, const std::filesystem::path& folder,
                             const Overrides& overrides, const Figures& figures, const RunSettings& settings) {
  return in_child([&]() -> std::vector<double> {
    Value changed = source();
    apply_overrides(changed, overrides);
    return figures(simulate(read_scenario(changed, folder), DataFolder(), settings));
  });
}

// Of a scenario that ships.
inline ChildResult of_scenario(const std::string& name, const Overrides& overrides, const Figures& figures,
                               const RunSettings& settings = {}) {
  const std::filesystem::path file = scenarios_folder() / (name + ".json");
  const auto source = [&file] {
    Value value = read_json(file);
    inline_files(value, file.parent_path());
    return value;
  };
  return simulated(source, file.parent_path(), overrides, figures, settings);
}

inline ChildResult of_text(const std::string& text, const Overrides& overrides, const Figures& figures,
                           const RunSettings& settings = {}) {
  return simulated([&text] { return parse_json(text, "test"); }, scenarios_folder(), overrides, figures, settings);
}

inline double throughput(const Simulation& simulation) { return simulation.summary.throughput_samples_per_second; }

inline double mean_seconds(const Simulation& simulation, State state) {
  return simulation.summary.state_seconds[index_of(state)];
}

// Bytes over all links whose names start so: "pcie:gateway" is the way into the IPUs, "pcie:ipu" the way out.
inline double link_bytes(const Simulation& simulation, const std::string& start) {
  double bytes = 0;
  for (const LinkUse& link : simulation.trace.links) bytes += link.name.starts_with(start) ? link.bytes : 0;
  return bytes;
}

}  // namespace podsim::testing
