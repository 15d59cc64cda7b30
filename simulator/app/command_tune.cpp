// podsim tune: the best configurations of a model on a pod, and what limits each.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/loaded_data.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/app/tune_search.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/output/atomic_file.hpp"

namespace podsim {

namespace {

struct TuneArguments : ScenarioArguments {
  std::vector<std::string> vary;
  std::string objective = "throughput";
  std::string output;
  int ipus = 0;
  std::int64_t global_batch = 0;
  int top = 5;
  int jobs = 0;
  bool exhaustive = false;
  bool json = false;
};

TuneRequest request_of(const TuneArguments& arguments) {
  TuneRequest request;
  std::vector<Override> overrides;
  for (const std::string& set : arguments.sets) {
    for (Override& item : parse_overrides(set)) overrides.push_back(std::move(item));
  }
  const std::filesystem::path file = arguments.file;
  request.source = load_scenario_source(file, overrides);
  request.folder = file.parent_path();
  request.objective = arguments.objective == "latency" ? TuneObjective::Latency : TuneObjective::Throughput;
  request.ipus = arguments.ipus;
  request.global_batch = arguments.global_batch;
  request.keep = arguments.top;
  request.exhaustive = arguments.exhaustive;
  for (const std::string& axis : arguments.vary) request.axes.push_back(parse_axis(axis));
  std::vector<std::string> keys;
  for (const Override& item : overrides) keys.push_back(item.first);
  require_distinct_keys(request.axes, keys);
  return request;
}

std::string headroom_text(const SweepRow& row) {
  const double bytes = row.get("memory_headroom_bytes");
  return bytes == bytes ? format_bytes(bytes) + " free on the fullest tile; " : "";
}

void print_text(const TuneOutcome& outcome, const TuneRequest& request, const TuneSpace& space) {
  std::cout << "Best of " << format_count(static_cast<long long>(outcome.candidates)) << " configurations on "
            << space.ipus << " IPUs";
  if (space.training) std::cout << " with " << format_count(space.global_batch) << " samples for each weight update";
  std::cout << (request.objective == TuneObjective::Latency ? " (shortest host call first)\n" : " (fastest first)\n");
  for (std::size_t i = 0; i < outcome.best.size(); ++i) {
    const TuneResult& result = outcome.best[i];
    std::cout << i + 1 << ". " << format_rate(result.row.get("throughput_samples_per_second"), "samples") << ", "
              << format_seconds(result.row.get("run_seconds")) << " for a host call: " << result.description << "\n   "
              << headroom_text(result.row) << result.row.bottleneck << "\n";
  }
}

void print_json(const TuneOutcome& outcome) {
  Value::Array rows;
  for (const TuneResult& result : outcome.best) {
    Value row{Value::Object{}};
    row.set("configuration", result.description);
    row.set("result", to_value(result.row));
    row.set("scenario", result.source);
    rows.push_back(std::move(row));
  }
  Value value{Value::Object{}};
  value.set("candidates", static_cast<std::int64_t>(outcome.candidates));
  value.set("best", Value(std::move(rows)));
  std::cout << to_json(value) << "\n";
}

void run_tune(const TuneArguments& arguments) {
  const TuneRequest request = request_of(arguments);
  if (!arguments.output.empty()) check_writable(arguments.output);
  const LoadedData data;
  const TuneSpace space = tune_space(request, data);
  const int jobs = arguments.jobs > 0 ? arguments.jobs : available_processors();
  const TuneOutcome outcome = tune(request, space, data, jobs, isatty(STDERR_FILENO) != 0);
  if (outcome.best.empty()) {
    throw UserError("tune",
                    "none of " + format_count(static_cast<long long>(outcome.candidates)) +
                        " configurations can run; one of them says: " + outcome.first_error,
                    "give more IPUs, or a smaller batch");
  }
  if (!arguments.output.empty()) {
    AtomicFile file(arguments.output);
    file.write(to_json(outcome.best.front().source) + "\n");
    file.commit();
  }
  arguments.json ? print_json(outcome) : print_text(outcome, request, space);
}

}  // namespace

void add_tune_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("tune", "Find the best configurations that fit");
  const auto arguments = std::make_shared<TuneArguments>();
  add_scenario_arguments(*command, *arguments);
  command
      ->add_option("--objective", arguments->objective, "throughput: samples per second; latency: shortest host call")
      ->check(CLI::IsMember({"throughput", "latency"}))
      ->capture_default_str();
  command->add_option("--ipus", arguments->ipus, "IPUs to use; default: all of the pod")->check(CLI::Range(1, 1048576));
  command
      ->add_option("--global-batch", arguments->global_batch,
                   "Samples of a weight update; default: those of the scenario")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000000000}));
  command
      ->add_option("--vary", arguments->vary,
                   "Values to choose from instead of the usual ones, or of a further key (see sweep)")
      ->type_name("K=VALUES")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("-o,--output", arguments->output, "Write the best one as a scenario")->type_name("BEST.json");
  command->add_option("--top", arguments->top, "How many to find")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--jobs", arguments->jobs, "Processes at a time; default: one for each processor")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--exhaustive", arguments->exhaustive, "Simulate every configuration instead of pruning by bounds");
  command->add_flag("--json", arguments->json, "JSON on standard output, with the scenarios");
  command->footer(
      "Chooses pipeline depth, split, replicas, micro-batch, accumulation, recomputation, offload, sharding and\n"
      "schedule. Configurations are left out only where a bound from their stage times is worse than what was found.\n"
      "Examples:\n"
      "  podsim tune scenarios/bert_large_bow_pod16.json --ipus 16 -o best.json\n"
      "  podsim tune scenarios/bert_large_bow_pod16.json --vary workload.micro_batch_size=4,8 --vary pipeline_depth=4");
  command->callback([arguments] { run_tune(*arguments); });
}

}  // namespace podsim
