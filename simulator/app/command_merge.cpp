// podsim merge: the parts of a sweep that ran with --shard, put together.
#include <CLI/CLI.hpp>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/sweep_merge.hpp"

namespace podsim {

namespace {

struct MergeArguments {
  std::string output;
  std::vector<std::string> parts;
};

}  // namespace

void add_merge_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("merge", "Put the parts of a sweep together (sweep --shard)");
  const auto arguments = std::make_shared<MergeArguments>();
  command->add_option("OUT", arguments->output, "Results: .csv, .jsonl or .h5; - for CSV on standard output")
      ->required();
  command->add_option("PART", arguments->parts, "Parts, in any order")->required();
  command->footer(
      "The result has the same bytes as the sweep in one piece. Missing points are an error that names them.\n"
      "Example:\n  podsim merge sweep.csv part*.csv");
  command->callback([arguments] { merge_parts(arguments->output, arguments->parts); });
}

}  // namespace podsim
