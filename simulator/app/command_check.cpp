// podsim check: everything that can be wrong before a simulation starts, without simulating.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/compile.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// Checks every file, reports each problem, and fails once at the end.
void check_files(const std::vector<std::string>& files, const std::vector<std::string>& sets) {
  const DataFolder data;
  std::vector<Override> overrides;
  for (const std::string& set : sets) {
    for (Override& item : parse_overrides(set)) overrides.push_back(std::move(item));
  }
  std::size_t wrong = 0;
  for (const std::string& file : files) {
    try {
      const Scenario scenario = load_scenario(file, overrides);
      Compilation compilation = compile(scenario, data);
      require_fit(compilation, scenario);
      std::cout << file << ": ok\n";
      for (const std::string& warning : compilation.warnings) std::cout << "  warning: " << warning << "\n";
    } catch (const UserError& error) {
      ++wrong;
      std::cerr << "podsim: " << error.what() << "\n";
    }
  }
  if (wrong > 0) {
    throw UserError("check", std::to_string(wrong) + " of " + std::to_string(files.size()) + " scenarios cannot run");
  }
}

}  // namespace

void add_check_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("check", "Validate scenarios without running them");
  const auto files = std::make_shared<std::vector<std::string>>();
  const auto sets = std::make_shared<std::vector<std::string>>();
  command->add_option("SCENARIO", *files, "Scenario files")->required();
  command->add_option("--set", *sets, "Override a value (K=V, dotted path)")->take_all()->allow_extra_args(false);
  command->footer("Example:\n  podsim check scenarios/*.json");
  command->callback([files, sets] { check_files(*files, *sets); });
}

}  // namespace podsim
