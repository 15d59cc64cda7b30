// podsim export: a trace in the format of another viewer.
#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

#include "simulator/app/commands.hpp"
#include "simulator/output/export.hpp"

namespace podsim {

namespace {

struct ExportArguments {
  std::string trace;
  std::string format = "chrome";
  std::string output = "-";
  bool no_expand = false;
};

void export_file(const ExportArguments& arguments) {
  const ExportOptions options{.expand = !arguments.no_expand};
  if (arguments.output != "-") {
    export_trace_file(arguments.trace, arguments.format, options, arguments.output);
    return;
  }
  export_trace(read_trace(arguments.trace), arguments.format, options,
               [](std::string_view text) { std::cout << text; });
}

}  // namespace

void add_export_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("export", "Write a trace in another viewer's format");
  const auto arguments = std::make_shared<ExportArguments>();
  command->add_option("TRACE", arguments->trace, "Trace file of podsim run -o")->required()->type_name("TRACE.h5");
  command->add_option("--format", arguments->format, "chrome (Perfetto), csv, or paje (ViTE)")
      ->check(CLI::IsMember(export_formats()))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "File to write; - is standard output")->capture_default_str();
  command->add_flag("--no-expand", arguments->no_expand, "Leave repeated windows out: only what was simulated");
  command->footer(
      "Examples:\n  podsim export run.h5 --format chrome -o run.json   (open in ui.perfetto.dev)\n"
      "  podsim export run.h5 --format csv | head");
  command->callback([arguments] { export_file(*arguments); });
}

}  // namespace podsim
