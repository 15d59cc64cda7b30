// Scenario: everything a simulation needs, read from a file, checked, with names resolved. JSON ends here.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedules/schedule.hpp"
#include "simulator/app/overrides.hpp"
#include "simulator/config/ipu_config.hpp"
#include "simulator/core/option.hpp"
#include "simulator/machine/chip.hpp"
#include "simulator/machine/lower.hpp"
#include "simulator/machine/memory.hpp"
#include "simulator/partition/partition.hpp"
#include "simulator/program/program.hpp"
#include "topology/topology.hpp"
#include "workloads/workload.hpp"

namespace podsim {

struct Scenario {
  std::string name;
  std::string file;  // where it came from, for messages
  std::string text;  // as given
  Value source;      // as given, with overrides applied and named files put in
  Value resolved;    // every option with its value, defaults included
  // Input of each stage of the flow, in its order.
  PodRequest pod;
  Value parameter_overrides;  // system.parameters: chip and pod parameters by name
  const Workload* workload = nullptr;
  WorkloadRequest workload_request;
  PartitionRequest partition;
  std::vector<double> available_memory_proportion;  // one, or one per IPU of a replica
  LoweringOptions lowering;
  Recomputation recomputation = Recomputation::None;
  bool fp8_checkpoints = false;
  const Schedule* schedule = nullptr;
  Options schedule_options;
  Execution execution;
  HostPlan host;
  Options host_options;  // resolved further once the pod is known (host_plan.hpp)
  std::string framework;
  bool framework_given = false;  // in the scenario, not by default
  bool allow_out_of_memory = false;
  std::int64_t dataset_samples = 0;  // above 0: epochs of it instead of a number of runs
  std::int64_t epochs = 1;
  IpuConfig ipu_config;
  std::shared_ptr<const Scenario> second_graph;  // null: none, or a copy of this one
  std::vector<std::string> warnings;             // legal, but not what it seems (shown with the summary)
};

// Reads a scenario file, applies overrides, checks every key. UserErrors name the file and the JSON pointer.
[[nodiscard]] Scenario load_scenario(const std::filesystem::path& file, const std::vector<Override>& overrides = {});
// The same for a scenario in memory; files that it names are relative to `folder`.
[[nodiscard]] Scenario read_scenario(Value source, const std::filesystem::path& folder);

// The file as a tree with overrides applied, before any check of its keys.
[[nodiscard]] Value load_scenario_source(const std::filesystem::path& file, const std::vector<Override>& overrides);

// Replaces file names by the files' contents where a scenario allows both; names are relative to `folder`.
void inline_files(Value& source, const std::filesystem::path& folder);

}  // namespace podsim
