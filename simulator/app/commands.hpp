// The commands of the program, one file each. A command adds its sub-command with options, help and examples; its
// callback does the work and throws UserError or InternalError.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace podsim {

void add_run_command(CLI::App& program);
void add_check_command(CLI::App& program);
void add_list_command(CLI::App& program);
void add_describe_command(CLI::App& program);
void add_plan_command(CLI::App& program);
void add_schedule_command(CLI::App& program);
void add_topology_command(CLI::App& program);
void add_config_command(CLI::App& program);
void add_export_command(CLI::App& program);
void add_validate_command(CLI::App& program);
void add_sweep_command(CLI::App& program);
void add_merge_command(CLI::App& program);
void add_tune_command(CLI::App& program);

// A scenario file and its `--set K=V` overrides, as most commands take them.
struct ScenarioArguments {
  std::string file;
  std::vector<std::string> sets;
};
void add_scenario_arguments(CLI::App& command, ScenarioArguments& arguments);

// `--uncertainty [N]`: 0 samples where it is not given, 64 without N.
[[nodiscard]] CLI::Option* add_samples_option(CLI::App& command, int& samples, const std::string& help);

}  // namespace podsim
