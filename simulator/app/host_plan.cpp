// Defaults that depend on framework and pod come from the parameter files.
#include "simulator/app/host_plan.hpp"

#include <algorithm>

namespace podsim {

namespace {

// Bytes of one sample that the host hands over, over all input streams of a replica.
double sample_bytes(const Program& program, double samples_per_micro_batch) {
  double bytes = 0;
  for (const HostStream& stream : program.streams) bytes += stream.input ? stream.bytes : 0;
  return bytes / std::max(1.0, samples_per_micro_batch);
}

constexpr const char* kEpochStart = "epoch_start_poptorch";

bool has_epochs(const Scenario& scenario) { return scenario.host.batches_ahead > 0 && scenario.dataset_samples > 0; }

// Whether the start of an epoch is the framework's; of the others' loaders nothing is known.
bool starts_as_framework(const Scenario& scenario) {
  return has_epochs(scenario) && scenario.framework == "poptorch" && !scenario.host_options.has("epoch_start_seconds");
}

}  // namespace

double call_input_seconds(const ParameterSet& frameworks, const std::string& framework, double samples, double bytes) {
  return samples * (frameworks.get("call_seconds_per_sample_" + framework) +
                    bytes * frameworks.get("call_seconds_per_byte_" + framework));
}

std::vector<std::string> call_parameters(const Scenario& scenario) {
  const bool own_times_only = scenario.workload->name() == "stage_times" && !scenario.framework_given;
  std::vector<std::string> names;
  if (starts_as_framework(scenario) && !own_times_only) names.emplace_back(kEpochStart);
  if (scenario.host_options.has("call_overhead_seconds") || own_times_only) return names;
  names.push_back("call_overhead_" + scenario.framework);
  if (!scenario.host.synthetic) {
    names.push_back("call_seconds_per_sample_" + scenario.framework);
    names.push_back("call_seconds_per_byte_" + scenario.framework);
  }
  return names;
}

HostPlan host_plan(const Scenario& scenario, const Compilation& compilation, const DataFolder& data) {
  const Options& options = scenario.host_options;
  const ParameterSet& system = compilation.topology->parameters();
  HostPlan plan = scenario.host;
  const std::vector<std::string> parameters = call_parameters(scenario);
  const auto uses = [&parameters](const std::string& name) {
    return std::find(parameters.begin(), parameters.end(), name) != parameters.end();
  };
  if (options.has("call_overhead_seconds")) {
    plan.call_overhead_seconds = options.number("call_overhead_seconds");
  } else if (!uses("call_overhead_" + scenario.framework)) {
    plan.call_overhead_seconds = 0;  // nothing but the stages' own times
  } else {
    const ParameterSet frameworks(data.load("software/frameworks"));
    plan.call_overhead_seconds = frameworks.get("call_overhead_" + scenario.framework);
    if (!plan.synthetic) {
      const Execution& execution = compilation.program.execution;
      const double micro_batch = static_cast<double>(scenario.workload_request.micro_batch_size);
      const double samples = micro_batch * static_cast<double>(execution.micro_batches * execution.device_iterations) *
                             static_cast<double>(execution.replicas) / std::max(1, plan.instances);
      plan.call_overhead_seconds +=
          call_input_seconds(frameworks, scenario.framework, samples, sample_bytes(compilation.program, micro_batch));
    }
  }
  if (has_epochs(scenario)) {
    plan.calls_per_epoch = compilation.program.execution.runs / scenario.epochs;
    if (options.has("epoch_start_seconds")) plan.epoch_start_seconds = options.number("epoch_start_seconds");
    if (uses(kEpochStart)) plan.epoch_start_seconds = ParameterSet(data.load("software/frameworks")).get(kEpochStart);
  }
  plan.callback_seconds =
      options.has("callback_seconds") ? options.number("callback_seconds") : system.get("host_sync_seconds");
  plan.cores_per_host = options.has("cores_per_host") ? static_cast<int>(options.integer("cores_per_host"))
                                                      : static_cast<int>(system.get("host_cores"));
  plan.numa_nodes_per_host = static_cast<int>(system.get("host_numa_nodes"));
  plan.numa_remote_slowdown = system.get("numa_remote_slowdown");
  return plan;
}

}  // namespace podsim
