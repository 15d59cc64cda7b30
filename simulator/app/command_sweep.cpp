// podsim sweep: every combination of scenario values, each in a process of its own.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/overrides.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/app/sha256.hpp"
#include "simulator/app/sweep.hpp"
#include "simulator/app/sweep_write.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/text_file.hpp"
#include "simulator/core/error.hpp"
#include "simulator/output/atomic_file.hpp"

namespace podsim {

namespace {

struct SweepArguments {
  std::string file;
  std::vector<std::string> sets;
  std::vector<std::string> vary;
  std::string output;
  std::string shard;
  std::string cache;
  int jobs = 0;
  double timeout_seconds = 0;
  bool resume = false;
  bool no_fast_forward = false;
};

SweepRequest request_of(const SweepArguments& arguments) {
  const std::filesystem::path file = arguments.file;
  const Value tree = read_json(file);
  SweepRequest request;
  if (is_sweep_file(tree)) {
    request = read_sweep_file(tree, file.parent_path());
  } else {
    request.scenario = file;
  }
  for (const std::string& axis : arguments.vary) request.axes.push_back(parse_axis(axis));
  request.sets.insert(request.sets.end(), arguments.sets.begin(), arguments.sets.end());
  if (!arguments.output.empty()) request.output = arguments.output;
  if (request.axes.empty()) {
    throw UserError("sweep", "nothing varies", "give --vary K=V1,V2 (repeatable), or a sweep file with \"vary\"");
  }
  if (request.output.empty()) throw UserError("sweep", "no output is named", "give -o OUT.csv, .jsonl or .h5");
  return request;
}

void require_possible(const SweepRequest& request, const SweepSettings& settings) {
  const SweepFormat format = sweep_format(request.output);
  const bool to_stdout = request.output == "-";
  if (settings.shard.count > 1 && (format == SweepFormat::Hdf5 || to_stdout)) {
    throw UserError("-o " + request.output, "a shard is a part for podsim merge, in CSV or JSON lines",
                    "write it to a .csv or .jsonl file; podsim merge writes .h5");
  }
  if (to_stdout && settings.resume) {
    throw UserError("--resume", "standard output leaves nothing to go on with", "write to a file with -o");
  }
  if (to_stdout && settings.ranks.size > 1) {
    throw UserError("-o -", "several ranks need a file to share", "write to a file with -o");
  }
  if (!to_stdout) check_writable(request.output);
}

SweepSettings settings_of(const SweepArguments& arguments, const std::vector<std::string>& plugins) {
  SweepSettings settings;
  settings.ranks = find_ranks([](const char* name) { return std::getenv(name); });
  settings.jobs =
      arguments.jobs > 0 ? arguments.jobs : std::max(1, available_processors() / settings.ranks.on_this_machine);
  settings.timeout_seconds = arguments.timeout_seconds;
  settings.resume = arguments.resume;
  settings.fast_forward = !arguments.no_fast_forward;
  if (!arguments.shard.empty()) settings.shard = parse_shard(arguments.shard);
  settings.cache = arguments.cache;
  settings.show_progress = settings.ranks.rank == 0 && isatty(STDERR_FILENO) != 0;
  if (!settings.cache.empty()) {
    settings.code = sha256(read_text("/proc/self/exe"));
    for (const std::string& plugin : plugins) settings.code += " " + sha256(read_text(plugin));
  }
  return settings;
}

void sweep(const SweepArguments& arguments, const std::vector<std::string>& plugins) {
  const SweepRequest request = request_of(arguments);
  const SweepSettings settings = settings_of(arguments, plugins);
  require_possible(request, settings);
  const LoadedData data;
  run_sweep(prepare_sweep(request, settings, data), settings, data, request.output);
}

constexpr const char* kFooter =
    "Values: K=V1,V2,…; ranges 1:10, 1:10:+3 and 1:64:x2; lists in brackets [3,7,7,7]; several keys that change\n"
    "together \"K1,K2=V1/W1,V2/W2\". A sweep file has {\"scenario\": …, \"vary\": {K: values}, \"set\": {K: V}, "
    "\"output\": …}.\n"
    "Points that cannot run are rows with the reason in the column error. Started by mpirun or srun, the ranks\n"
    "share the points. The result has the same bytes for any number of jobs and ranks, and after interruptions.\n"
    "Examples:\n"
    "  podsim sweep scenarios/stage_times_pod16.json --vary replication_factor=1:4:x2 \\\n"
    "      --vary pipeline_depth=1,2,4 --vary device_iterations=1:10:+3 -o sweep.csv\n"
    "  podsim sweep scenarios/bert_large_bow_pod16.json --vary "
    "\"system.pod,replication_factor=bow-pod16/4,bow-pod64/16\" "
    "-o pods.h5\n"
    "  mpirun -n 4 podsim sweep long.json -o long.csv --resume\n"
    "  podsim sweep long.json --shard 3/16 -o part3.csv && podsim merge long.csv part*.csv";

}  // namespace

void add_sweep_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("sweep", "Simulate every combination of values");
  const auto arguments = std::make_shared<SweepArguments>();
  command->add_option("SCENARIO", arguments->file, "Scenario or sweep file (JSON)")->required();
  command->add_option("--vary", arguments->vary, "An axis: K=V1,V2,… (repeatable)")
      ->type_name("K=VALUES")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--set", arguments->sets, "Override a value at all points: K=V (repeatable)")
      ->type_name("K=V")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("-o,--output", arguments->output, "Results: .csv, .jsonl or .h5; - for CSV on standard output")
      ->type_name("OUT");
  command->add_option("--jobs", arguments->jobs, "Simulations at a time; default: one for each processor")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--timeout", arguments->timeout_seconds, "Seconds after which a point is given up; default: never")
      ->check(CLI::Range(1e-3, 1e9));
  command->add_flag("--resume", arguments->resume, "Go on with an interrupted sweep (or start one)");
  command->add_option("--shard", arguments->shard, "Only every N-th point, from the K-th on: a part for podsim merge")
      ->type_name("K/N");
  command->add_option("--cache", arguments->cache, "Folder of results to reuse and to add to; may be shared")
      ->type_name("DIR");
  command->add_flag("--no-fast-forward", arguments->no_fast_forward, "Simulate every repetition step by step");
  command->footer(kFooter);
  command->callback([arguments, &program] {
    std::vector<std::string> plugins;
    if (program.get_option("--plugin")->count() > 0) plugins = program.get_option("--plugin")->results();
    sweep(*arguments, plugins);
  });
}

}  // namespace podsim
