// The arguments that commands on one scenario share.
#include "simulator/app/scenario_arguments.hpp"

#include <CLI/CLI.hpp>

namespace podsim {

void add_scenario_arguments(CLI::App& command, ScenarioArguments& arguments) {
  command.add_option("SCENARIO", arguments.file, "Scenario file (JSON)")->required();
  command
      .add_option("--set", arguments.sets,
                  "Override a value: K=V with the dotted path of any scenario value, an IPUConfig key or "
                  "pipeline_depth; or a list \"k=v,k=v\" (repeatable)")
      ->type_name("K=V")
      ->take_all()
      ->allow_extra_args(false);
}

Scenario load_scenario(const ScenarioArguments& arguments) {
  std::vector<Override> overrides;
  for (const std::string& set : arguments.sets) {
    for (Override& item : parse_overrides(set)) overrides.push_back(std::move(item));
  }
  return load_scenario(arguments.file, overrides);
}

}  // namespace podsim
