// Walks over the declarations of the scenario, of ipu_config.json and of every plugin.
#include "simulator/app/option_tables.hpp"

#include "schedules/schedule.hpp"
#include "simulator/app/describe.hpp"
#include "simulator/app/scenario_options.hpp"
#include "simulator/config/ipu_config.hpp"
#include "workloads/workload.hpp"

namespace podsim {

Value scenario_schema() {
  Value schema;
  for (const OptionGroup& group : scenario_option_groups()) {
    if (group.path.empty()) {
      schema = options_schema(group.options);
      continue;
    }
    const auto dot = group.path.find('.');
    if (dot != std::string::npos) continue;
    Value part = options_schema(group.options);
    if (group.path == "workload") part.erase("additionalProperties");
    schema.member("properties").set(group.path, std::move(part));
  }
  schema.set("$schema", "https://json-schema.org/draft/2020-12/schema");
  schema.set("title", "podsim scenario");
  return schema;
}

std::string scenario_markdown() {
  std::string text = "# Scenario options\n\nWritten by `podsim describe markdown`; do not edit.\n";
  for (const OptionGroup& group : scenario_option_groups()) {
    text += "\n## " + (group.path.empty() ? std::string("Top level") : "`" + group.path + "`") + "\n\n" + group.help +
            "\n\n" + markdown_options(group.options);
  }
  text +=
      "\n## `ipu_config`\n\nAs in optimum-graphcore's ipu_config.json.\n\n" + markdown_options(ipu_config_options());
  for (const Workload* workload : workloads()) {
    if (workload->options().empty()) continue;
    text += "\n## `workload` with model `" + workload->name() + "`\n\n" + workload->description() + "\n\n" +
            markdown_options(workload->options());
  }
  for (const Schedule* schedule : schedules()) {
    if (schedule->options().empty()) continue;
    text += "\n## `schedule." + schedule->name() + "`\n\n" + schedule->description() + "\n\n" +
            markdown_options(schedule->options());
  }
  return text;
}

}  // namespace podsim
