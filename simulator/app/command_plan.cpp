// podsim plan: stage times and tile memory of a scenario, without simulation.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/compile.hpp"
#include "simulator/app/plan_report.hpp"
#include "simulator/app/scenario_arguments.hpp"
#include "simulator/config/json.hpp"

namespace podsim {

namespace {

struct PlanArguments : ScenarioArguments {
  bool operators = false;
  bool json = false;
};

void show_plan(const PlanArguments& arguments) {
  const Scenario scenario = load_scenario(arguments);
  const Compilation compilation = compile(scenario, DataFolder());
  if (arguments.json) {
    std::cout << to_json(plan_value(scenario, compilation, arguments.operators)) << "\n";
    return;
  }
  std::cout << plan_text(scenario, compilation);
  if (arguments.operators) std::cout << "\n" << operators_text(compilation);
}

}  // namespace

void add_plan_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("plan", "Stage times and memory per IPU and tile, without simulation");
  const auto arguments = std::make_shared<PlanArguments>();
  add_scenario_arguments(*command, *arguments);
  command->add_flag("--operators", arguments->operators, "Every operator: plan, cycles, utilisation and roofline");
  command->add_flag("--json", arguments->json, "JSON on standard output");
  command->footer(
      "A plan that does not fit is shown, not refused; run and check refuse it.\n"
      "Example:\n  podsim plan scenarios/bert_large_bow_pod16.json --operators");
  command->callback([arguments] { show_plan(*arguments); });
}

}  // namespace podsim
