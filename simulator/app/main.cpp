// The command line: the only place that prints errors and chooses the exit code (0, 1 user error, 2 internal error).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>

#include "schedules/registry.hpp"
#include "simulator/app/commands.hpp"
#include "simulator/app/summary_memory.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  podsim run scenarios/bert_large_bow_pod16.json -o bert.h5\n"
    "  podsim run scenarios/stage_times_pod16.json --json --set replication_factor=2\n"
    "  podsim schedule scenarios/stage_times_pod16.json --set gradient_accumulation_steps=8\n"
    "  podsim check scenarios/*.json\n"
    "  podsim topology bow-pod16 --dot | dot -Tsvg -o pod.svg\n"
    "'podsim COMMAND --help' explains a command. Exit codes: 0 success, 1 wrong input, 2 internal error.";

int fail(const std::string& message, int code) {
  std::fflush(stdout);
  std::cerr << "podsim: " << message << "\n";
  return code;
}

// CLI11 would only say that a command is missing.
void refuse_unknown_command(const CLI::App& program, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string near = podsim::nearest_name(argv[1], names);
  throw podsim::UserError(argv[1], "there is no such command",
                          near.empty() ? "see 'podsim --help'" : "did you mean " + near + "?");
}

int run_program(int argc, char** argv) {
  CLI::App program{"podsim: a discrete-event simulator of Graphcore multi-IPU Pod systems", "podsim"};
  program.set_version_flag("--version", "podsim " + podsim::version());
  program.footer(kFooter);
  program.require_subcommand(1);
  program.fallthrough();
  std::vector<std::string> plugins;
  program.add_option("--plugin", plugins, "Load a schedule from a shared object (may be repeated)")
      ->type_name("FILE.so")
      ->take_all()
      ->each([](const std::string& file) { podsim::load_schedule_plugin(file); });
  podsim::add_run_command(program);
  podsim::add_check_command(program);
  podsim::add_list_command(program);
  podsim::add_describe_command(program);
  podsim::add_plan_command(program);
  podsim::add_schedule_command(program);
  podsim::add_topology_command(program);
  podsim::add_config_command(program);
  podsim::add_export_command(program);
  podsim::add_validate_command(program);
  podsim::add_sweep_command(program);
  podsim::add_merge_command(program);
  podsim::add_tune_command(program);
  refuse_unknown_command(program, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return program.exit(success);
  } catch (const CLI::ParseError& error) {
    return fail(std::string(error.what()) + " (see 'podsim --help')", 1);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run_program(argc, argv);
    if (std::fflush(stdout) != 0 || !std::cout.flush()) return fail("standard output: cannot be written", 1);
    return code;
  } catch (const podsim::UserError& error) {
    return fail(error.what(), 1);
  } catch (const std::bad_alloc&) {
    return fail("this machine has too little memory for it (fewer runs, device iterations, replicas or operators)", 1);
  } catch (const podsim::InternalError& error) {
    return fail(std::string("internal error: ") + error.what() + "\nThis is a bug of podsim; please report it.", 2);
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what() + "\nThis is a bug of podsim; please report it.", 2);
  }
}
