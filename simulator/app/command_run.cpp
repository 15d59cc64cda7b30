// podsim run: simulate a scenario; summary on standard output, trace into a file.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/scenario_arguments.hpp"
#include "simulator/app/simulate.hpp"
#include "simulator/app/trace_tables.hpp"
#include "simulator/output/atomic_file.hpp"
#include "simulator/output/summary_json.hpp"
#include "simulator/output/summary_text.hpp"
#include "simulator/output/trace_file.hpp"

namespace podsim {

namespace {

struct RunArguments : ScenarioArguments {
  std::string trace;
  bool json = false;
  bool no_fast_forward = false;
};

// A line on a terminal's standard error that replaces itself; empty function elsewhere.
std::function<void(double)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](double share) {
    std::cerr << (share < 1 ? fmt::format("\rsimulating {:3.0f}%", 100 * share) : "\r\033[K") << std::flush;
  };
}

void run_scenario(const RunArguments& arguments) {
  if (!arguments.trace.empty()) check_writable(arguments.trace);  // before a long simulation, not after it
  const Scenario scenario = load_scenario(arguments);
  RunSettings settings;
  settings.fast_forward = !arguments.no_fast_forward;
  settings.record_intervals = !arguments.trace.empty();
  settings.progress = progress_line();
  const Simulation simulation = simulate(scenario, DataFolder(), settings);
  if (!arguments.trace.empty()) {
    const ScenarioRecord record = scenario_record(scenario, simulation.compilation);
    const TileTable tiles = tile_table(simulation.compilation);
    const MemoryTable memory = memory_table(simulation.compilation);
    write_trace(arguments.trace, {simulation.trace, simulation.summary, record, &tiles, &memory});
  }
  const TextStyle style{.colour = isatty(STDOUT_FILENO) != 0};
  std::cout << (arguments.json ? summary_json(simulation.summary) + "\n" : summary_text(simulation.summary, style));
}

}  // namespace

void add_run_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("run", "Simulate a scenario");
  const auto arguments = std::make_shared<RunArguments>();
  add_scenario_arguments(*command, *arguments);
  command->add_option("-o,--output", arguments->trace, "Write the HDF5 trace to this file")->type_name("TRACE.h5");
  command->add_flag("--json", arguments->json, "The summary as JSON on standard output");
  command->add_flag("--no-fast-forward", arguments->no_fast_forward,
                    "Simulate every repetition step by step (same results, complete trace)");
  command->footer(
      "Examples:\n"
      "  podsim run scenarios/bert_large_bow_pod16.json -o bert.h5\n"
      "  podsim run scenarios/stage_times_pod16.json --set replication_factor=2 --json | jq "
      ".throughput_samples_per_second\n"
      "  podsim run scenarios/stage_times_pod16.json --set \"gradient_accumulation_steps=128,device_iterations=2\"");
  command->callback([arguments] { run_scenario(*arguments); });
}

}  // namespace podsim
