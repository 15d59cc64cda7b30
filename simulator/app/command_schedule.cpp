// podsim schedule: the grid of slots x IPUs that a scenario's schedule emits.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/app/compile.hpp"
#include "simulator/app/scenario_arguments.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/program/analysis.hpp"

namespace podsim {

namespace {

struct ScheduleArguments : ScenarioArguments {
  std::int64_t slots = 64;
  bool json = false;
  bool program = false;
  std::string svg;
};

Value to_value(const std::vector<GridCell>& cells) {
  Value::Array rows;
  for (const GridCell& cell : cells) {
    Value row{Value::Object{}};
    row.set("ipu", cell.ipu);
    row.set("slot", cell.slot);
    row.set("stage", cell.stage);
    row.set("pass", std::string(name_of(cell.pass)));
    row.set("micro_batch", cell.micro_batch);
    rows.push_back(std::move(row));
  }
  return Value(std::move(rows));
}

void show_schedule(const ScheduleArguments& arguments) {
  const Compilation compilation = compile(load_scenario(arguments), DataFolder());
  const Program& program = compilation.program;
  if (arguments.program) {
    std::cout << print(program);
    return;
  }
  const std::vector<GridCell> cells = grid(program, arguments.slots);
  if (arguments.json) {
    std::cout << to_json(to_value(cells)) << "\n";
    return;
  }
  if (!arguments.svg.empty()) {
    std::ofstream file(arguments.svg);
    file << grid_svg(cells, program.ipus_per_replica);
    if (!file.flush()) throw UserError(arguments.svg, "cannot be written", "check the folder and the free space");
    return;
  }
  std::cout << program.schedule << ": " << program.stages << " stages on " << program.ipus_per_replica << " IPUs, "
            << program.slots_per_update << " slots from fill to drain\n"
            << print_grid(cells, program.ipus_per_replica);
  if (program.slots_per_update > arguments.slots) {
    std::cout << "(the first " << arguments.slots << " slots; --slots N shows more)\n";
  }
}

}  // namespace

void add_schedule_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("schedule", "Print the grid of slots x IPUs (F3, B1, …)");
  const auto arguments = std::make_shared<ScheduleArguments>();
  add_scenario_arguments(*command, *arguments);
  command->add_option("--slots", arguments->slots, "Number of slots to show")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "The cells as JSON");
  command->add_option("--svg", arguments->svg, "Draw the grid into an SVG file")->type_name("FILE");
  command->add_flag("--program", arguments->program, "The whole program: tables and steps of every IPU");
  command->footer(
      "F forward, R recompute, B backward, I/W input and weight gradients, U weight update, . idle.\n"
      "Example:\n  podsim schedule scenarios/stage_times_pod16.json --set gradient_accumulation_steps=8");
  command->callback([arguments] { show_schedule(*arguments); });
}

}  // namespace podsim
