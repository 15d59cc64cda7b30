// podsim config: an ipu_config.json resolved: defaults filled in, pod type chosen, run-time options derived.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/overrides.hpp"
#include "simulator/config/ipu_config.hpp"
#include "simulator/config/json.hpp"

namespace podsim {

namespace {

struct ConfigArguments {
  std::string file;
  std::string pod_type;
  std::vector<std::string> updates;
  bool options = false;
  bool inference = false;
  bool compile_only = false;
};

void show_config(const ConfigArguments& arguments) {
  IpuConfig config = read_ipu_config(read_json(arguments.file));
  for (const std::string& update : arguments.updates) config = config.updated_from_string(update);
  if (!arguments.pod_type.empty()) config = config.for_pod_type(arguments.pod_type);
  const Value shown =
      arguments.options ? config.to_options(arguments.inference, arguments.compile_only) : config.to_value();
  std::cout << to_json(shown) << "\n";
}

}  // namespace

void add_config_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("config", "Show an ipu_config.json with everything resolved");
  const auto arguments = std::make_shared<ConfigArguments>();
  command->add_option("IPU_CONFIG", arguments->file, "ipu_config.json")->required();
  command->add_option("--pod-type", arguments->pod_type, "Resolve values given per pod type for this one (pod4, …)");
  command->add_option("--update", arguments->updates, "Update string: \"k=v,k=[a b c]\"")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--options", arguments->options, "Show the equivalent PopTorch run-time options instead");
  command->add_flag("--inference", arguments->inference, "Options for inference");
  command->add_flag("--compile-only", arguments->compile_only, "Options for offline compilation");
  command->footer(
      "Examples:\n  podsim config ipu_config.json --pod-type pod16\n"
      "  podsim config ipu_config.json --options --update \"device_iterations=4\"");
  command->callback([arguments] { show_config(*arguments); });
}

}  // namespace podsim
