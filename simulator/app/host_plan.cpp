// Defaults that depend on framework and pod come from the parameter files.
#include "simulator/app/host_plan.hpp"

namespace podsim {

HostPlan host_plan(const Scenario& scenario, const Topology& topology, const DataFolder& data) {
  const Options& options = scenario.host_options;
  const ParameterSet& system = topology.parameters();
  HostPlan plan = scenario.host;
  if (options.has("call_overhead_seconds")) {
    plan.call_overhead_seconds = options.number("call_overhead_seconds");
  } else if (scenario.workload->name() == "stage_times" && !scenario.framework_given) {
    plan.call_overhead_seconds = 0;  // nothing but the stages' own times
  } else {
    plan.call_overhead_seconds =
        ParameterSet(data.load("software/frameworks")).get("call_overhead_" + scenario.framework);
  }
  plan.callback_seconds =
      options.has("callback_seconds") ? options.number("callback_seconds") : system.get("host_sync_seconds");
  plan.cores_per_host = options.has("cores_per_host") ? static_cast<int>(options.integer("cores_per_host"))
                                                      : static_cast<int>(system.get("host_cores"));
  return plan;
}

}  // namespace podsim
