// podsim topology: links and routes of a pod, as text or as a Graphviz graph.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/config/json.hpp"

namespace podsim {

namespace {

struct TopologyArguments {
  std::string pod;
  int hosts = 0;
  bool dot = false;
};

void show_topology(const TopologyArguments& arguments) {
  PodRequest request;
  request.where = arguments.pod;
  request.hosts = arguments.hosts;
  const bool file = arguments.pod.size() > 5 && arguments.pod.substr(arguments.pod.size() - 5) == ".json";
  if (file) {
    request.custom = read_json(arguments.pod);
  } else {
    request.pod = arguments.pod;
  }
  const Topology topology = build_topology(request, DataFolder());
  std::cout << (arguments.dot ? to_dot(topology) : describe(topology));
}

}  // namespace

void add_topology_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("topology", "Show the links and routes of a pod");
  const auto arguments = std::make_shared<TopologyArguments>();
  command->add_option("POD", arguments->pod, "Pod name (see 'podsim list pods') or topology file (.json)")->required();
  command->add_option("--hosts", arguments->hosts, "Host servers (default: the pod's)")->check(CLI::Range(0, 65536));
  command->add_flag("--dot", arguments->dot, "Graphviz graph on standard output");
  command->footer("Example:\n  podsim topology bow-pod16 --dot | dot -Tsvg -o pod.svg");
  command->callback([arguments] { show_topology(*arguments); });
}

}  // namespace podsim
