// podsim run: simulate a scenario; summary on standard output, trace into a file.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>

#include "simulator/app/commands.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/app/scenario_arguments.hpp"
#include "simulator/app/simulate.hpp"
#include "simulator/app/trace_tables.hpp"
#include "simulator/app/uncertainty.hpp"
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
  int samples = 0;  // of the uncertainty; 0: not asked for
  int jobs = 0;
  std::optional<std::uint64_t> seed;
};

// A line on a terminal's standard error that replaces itself; empty function elsewhere.
std::function<void(double)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  return [](double share) {
    std::cerr << (share < 1 ? fmt::format("\rsimulating {:3.0f}%", 100 * share) : "\r\033[K") << std::flush;
  };
}

Uncertainty uncertainty_of(const Scenario& scenario, const RunArguments& arguments) {
  UncertaintySettings settings;
  settings.samples = static_cast<std::size_t>(arguments.samples);
  settings.seed = arguments.seed.value_or(scenario.host.seed);
  settings.jobs = arguments.jobs > 0 ? arguments.jobs : available_processors();
  settings.fast_forward = !arguments.no_fast_forward;
  settings.show_progress = isatty(STDERR_FILENO) != 0;
  return sample_uncertainty(scenario, settings);
}

void run_scenario(const RunArguments& arguments) {
  if (!arguments.trace.empty()) check_writable(arguments.trace);  // before a long simulation, not after it
  const Scenario scenario = load_scenario(arguments);
  RunSettings settings;
  settings.fast_forward = !arguments.no_fast_forward;
  settings.record_intervals = !arguments.trace.empty();
  settings.progress = progress_line();
  const DataFolder data;
  Compilation compilation = compile(scenario, data);
  std::optional<Uncertainty> uncertainty;
  if (arguments.samples > 0) {
    if (!scenario.allow_out_of_memory) require_fit(compilation, scenario);  // before the samples, not after them
    uncertainty = uncertainty_of(scenario, arguments);
  }
  Simulation simulation = simulate(std::move(compilation), scenario, data, settings);
  simulation.summary.uncertainty = std::move(uncertainty);
  if (!arguments.trace.empty()) {
    const ScenarioRecord record = scenario_record(scenario, simulation.compilation);
    const TileTable tiles = tile_table(simulation.compilation);
    const MemoryTable memory = memory_table(simulation.compilation);
    write_trace(arguments.trace, {simulation.trace, simulation.summary, record, &tiles, &memory});
  }
  const TextStyle style{.colour = isatty(STDOUT_FILENO) != 0};
  std::cout << (arguments.json ? summary_json(simulation.summary) + "\n" : summary_text(simulation.summary, style));
}

void add_uncertainty_arguments(CLI::App& command, RunArguments& arguments) {
  CLI::Option* samples = add_samples_option(
      command, arguments.samples,
      "Vary inferred parameters within their ranges: intervals of the main figures; N samples, or 64");
  command.add_option("--jobs", arguments.jobs, "Samples at a time; default: one for each processor")
      ->check(CLI::Range(1, 4096))
      ->needs(samples);
  command.add_option("--seed", arguments.seed, "Of the samples; default: the seed of the IPU configuration, or 0")
      ->check(CLI::NonNegativeNumber)
      ->needs(samples);
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
  add_uncertainty_arguments(*command, *arguments);
  command->footer(
      "--uncertainty draws every chip, pod and framework parameter that is only inferred (podsim describe shows the\n"
      "confidence and range of each) from its range by Latin hypercube sampling, and prints the 5% and 95% points of\n"
      "the main figures and the parameters that decide them: their shares of the variance of the figure's ranks,\n"
      "found by stepwise regression. The value in the data files is the median of a parameter's distribution; what\n"
      "the scenario sets in system.parameters or host stays as it is. Samples that cannot run are counted. With -o\n"
      "the trace has the samples in its group /uncertainty. The same seed gives the same result for any --jobs.\n"
      "Examples:\n"
      "  podsim run scenarios/bert_large_bow_pod16.json -o bert.h5\n"
      "  podsim run scenarios/bert_large_bow_pod16.json --uncertainty\n"
      "  podsim run scenarios/bert_large_bow_pod16.json --uncertainty 256 --seed 1 --json | jq .uncertainty.ranking\n"
      "  podsim run scenarios/stage_times_pod16.json --set replication_factor=2 --json | jq "
      ".throughput_samples_per_second\n"
      "  podsim run scenarios/stage_times_pod16.json --set \"gradient_accumulation_steps=128,device_iterations=2\"");
  command->callback([arguments] { run_scenario(*arguments); });
}

}  // namespace podsim
