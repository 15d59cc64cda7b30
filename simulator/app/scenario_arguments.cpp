// The arguments that commands on one scenario share.
#include "simulator/app/scenario_arguments.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <charconv>

namespace podsim {

namespace {

constexpr int kFewestSamples = 20;  // 5% of fewer lies beyond the least of them
constexpr int kMostSamples = 100000;

// A file name that stands behind --uncertainty would be taken for N.
std::string check_samples(const std::string& text) {
  int samples = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), samples);
  if (read.ec == std::errc() && read.ptr == text.data() + text.size() && samples >= kFewestSamples &&
      samples <= kMostSamples) {
    return {};
  }
  return fmt::format("expected a number of samples from {} to {}, found \"{}\"; the file goes before it",
                     kFewestSamples, kMostSamples, text);
}

}  // namespace

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

CLI::Option* add_samples_option(CLI::App& command, int& samples, const std::string& help) {
  return command.add_option("--uncertainty", samples, help)
      ->expected(0, 1)
      ->default_str("64")
      ->check(check_samples)
      ->type_name("[N]");
}

Scenario load_scenario(const ScenarioArguments& arguments) {
  std::vector<Override> overrides;
  for (const std::string& set : arguments.sets) {
    for (Override& item : parse_overrides(set)) overrides.push_back(std::move(item));
  }
  return load_scenario(arguments.file, overrides);
}

}  // namespace podsim
