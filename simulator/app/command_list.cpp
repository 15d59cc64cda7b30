// podsim list and podsim describe: what there is, and every option of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "schedules/schedule.hpp"
#include "simulator/app/commands.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/describe.hpp"
#include "simulator/app/option_tables.hpp"
#include "simulator/app/scenario_options.hpp"
#include "simulator/config/ipu_config.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "topology/collectives.hpp"
#include "workloads/workload.hpp"

namespace podsim {

namespace {

const std::vector<std::string> kKinds = {"chips", "collectives", "optimizers", "pods", "schedules", "workloads"};

using Entries = std::vector<std::pair<std::string, std::string>>;

Entries chips() {
  const DataFolder data;
  Entries entries;
  for (const auto& file : std::filesystem::directory_iterator(data.folder() / "chips")) {
    if (file.path().extension() != ".json") continue;
    const Value value = data.load("chips/" + file.path().stem().string());
    const Value* text = value.find("description");
    entries.emplace_back(file.path().stem().string(), text != nullptr ? text->text() : "");
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

void require_chip(const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  for (const auto& entry : chips()) known.push_back(entry.first);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UserError(where, "unknown chip \"" + name + "\"", "known: " + joined(known));
}

Entries entries_of(const std::string& kind) {
  Entries entries;
  if (kind == "chips") return chips();
  if (kind == "pods") {
    for (const PodDescription& pod : named_pods()) entries.emplace_back(pod.name, pod.description);
  } else if (kind == "workloads") {
    for (const Workload* workload : workloads()) entries.emplace_back(workload->name(), workload->description());
  } else if (kind == "schedules") {
    for (const Schedule* schedule : schedules()) entries.emplace_back(schedule->name(), schedule->description());
  } else if (kind == "optimizers") {
    for (const Optimizer& optimizer : optimizers()) {
      entries.emplace_back(optimizer.name, std::to_string(optimizer.states_per_weight) + " states for each weight");
    }
  } else {
    for (const std::string& name : collective_algorithms()) entries.emplace_back(name, "");
  }
  return entries;
}

void list(const std::string& kind) {
  for (const std::string& each : kKinds) {
    if (!kind.empty() && kind != each) continue;
    if (kind.empty()) std::cout << each << "\n";
    const Entries entries = entries_of(each);
    std::size_t width = 0;
    for (const auto& entry : entries) width = std::max(width, entry.first.size());
    for (const auto& [name, text] : entries) {
      std::cout << (kind.empty() ? "  " : "") << name;
      if (!text.empty()) std::cout << std::string(width - name.size() + 2, ' ') << text;
      std::cout << "\n";
    }
  }
}

void describe_pod(const std::string& name) {
  PodRequest request;
  request.pod = name;
  request.where = "describe pod";
  const Topology topology = build_topology(request, DataFolder());
  std::cout << describe(topology) << "\n" << describe_parameters(topology.parameters());
}

void describe_thing(const std::string& kind, const std::string& name) {
  const std::string where = "describe " + kind;
  if (kind == "scenario") {
    for (const OptionGroup& group : scenario_option_groups()) {
      if (!name.empty() && group.path != name) continue;
      std::cout << (group.path.empty() ? "(top level)" : group.path) << ": " << group.help << "\n"
                << describe_options(group.options) << "\n";
    }
  } else if (kind == "schema") {
    std::cout << to_json(scenario_schema()) << "\n";
  } else if (kind == "markdown") {
    std::cout << scenario_markdown();
  } else if (kind == "ipu_config") {
    std::cout << describe_options(ipu_config_options());
  } else if (kind == "schedule") {
    const Schedule& schedule = find_schedule(name, where);
    std::cout << schedule.name() << ": " << schedule.description() << "\n" << describe_options(schedule.options());
  } else if (kind == "workload") {
    const Workload& workload = find_workload(name, where);
    std::cout << workload.name() << ": " << workload.description() << "\n" << describe_options(workload.options());
  } else if (kind == "chip") {
    require_chip(name, where);
    std::cout << describe_parameters(ParameterSet(DataFolder().load("chips/" + name)));
  } else {
    describe_pod(name);
  }
}

}  // namespace

void add_list_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("list", "List pods, chips, workloads, schedules, …");
  const auto kind = std::make_shared<std::string>();
  command->add_option("KIND", *kind, "One kind only")->check(CLI::IsMember(kKinds));
  command->footer("Example:\n  podsim list workloads");
  command->callback([kind] { list(*kind); });
}

void add_describe_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("describe", "Describe one thing and all of its options");
  const auto kind = std::make_shared<std::string>();
  const auto name = std::make_shared<std::string>();
  command
      ->add_option("KIND", *kind,
                   "chip, ipu_config, pod, scenario, schedule or workload; schema: JSON Schema of scenarios; "
                   "markdown: all options as tables")
      ->required()
      ->check(CLI::IsMember({"chip", "ipu_config", "markdown", "pod", "scenario", "schedule", "schema", "workload"}));
  command->add_option("NAME", *name, "Which one (see 'podsim list')");
  command->footer(
      "Examples:\n  podsim describe schedule pipelined\n  podsim describe scenario host\n"
      "  podsim describe chip bow");
  command->callback([kind, name] {
    const bool one_of_many = *kind == "chip" || *kind == "pod" || *kind == "schedule" || *kind == "workload";
    if (name->empty() && one_of_many) {
      throw UserError("describe " + *kind, "a name is missing", "see 'podsim list " + *kind + "s'");
    }
    describe_thing(*kind, *name);
  });
}

}  // namespace podsim
