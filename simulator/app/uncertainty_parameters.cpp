// A parameter that the scenario overrides has the tag `user` by the time it is looked at here.
#include "simulator/app/uncertainty_parameters.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/app/compile.hpp"
#include "simulator/app/host_plan.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr double kMagnitudeOpen = 10;  // maximum / minimum from which on the logarithm is uniform

void add_inferred(std::vector<VariedParameter>& varied, const std::string& set, const ParameterSet& parameters,
                  const std::vector<std::string>& left_out) {
  for (const Parameter& parameter : parameters.parameters()) {
    if (parameter.confidence != Confidence::Inferred || !(parameter.minimum < parameter.maximum)) continue;
    if (std::find(left_out.begin(), left_out.end(), parameter.name) != left_out.end()) continue;
    varied.push_back({set, parameter.name, parameter.unit, parameter.value, parameter.minimum, parameter.maximum});
  }
}

// Parameters of the pod that the section host sets itself, or has no use for.
std::vector<std::string> set_by_host(const Options& host) {
  std::vector<std::string> names;
  if (host.has("callback_seconds")) names.emplace_back("host_sync_seconds");
  if (host.has("cores_per_host")) names.emplace_back("host_cores");
  if (!host.boolean("numa_aware")) names.insert(names.end(), {"host_numa_nodes", "numa_remote_slowdown"});
  return names;
}

}  // namespace

std::vector<VariedParameter> varied_parameters(const Scenario& scenario, const DataFolder& data) {
  const System system = build_system(scenario, data);
  std::vector<VariedParameter> varied;
  if (scenario.workload->name() != "stage_times") {
    add_inferred(varied, "chips/" + system.topology->chip(), system.chip.parameters, {});
  }
  const ParameterSet& pod = system.topology->parameters();
  add_inferred(varied, "pods/" + pod.name(), pod, set_by_host(scenario.host_options));
  const std::vector<std::string> used = call_parameters(scenario);
  const ParameterSet frameworks(data.load("software/frameworks"));
  std::vector<std::string> unused;
  for (const Parameter& parameter : frameworks.parameters()) {
    if (std::find(used.begin(), used.end(), parameter.name) == used.end()) unused.push_back(parameter.name);
  }
  add_inferred(varied, "software/frameworks", frameworks, unused);
  if (varied.empty()) {
    throw UserError("--uncertainty", "the scenario sets every parameter that is inferred, so nothing varies",
                    "leave some out of system.parameters, or run without --uncertainty");
  }
  return varied;
}

double value_at(const VariedParameter& parameter, double probability) {
  const bool magnitude = parameter.minimum > 0 && parameter.maximum >= kMagnitudeOpen * parameter.minimum;
  const auto between = [magnitude](double from, double to, double share) {
    return magnitude ? from * std::pow(to / from, share) : from + share * (to - from);
  };
  const bool inside = parameter.minimum < parameter.value && parameter.value < parameter.maximum;
  const double value = !inside             ? between(parameter.minimum, parameter.maximum, probability)
                       : probability < 0.5 ? between(parameter.minimum, parameter.value, 2 * probability)
                                           : between(parameter.value, parameter.maximum, 2 * probability - 1);
  return std::clamp(value, parameter.minimum, parameter.maximum);  // rounding
}

VariedData::VariedData(const DataFolder& data, const std::vector<VariedParameter>& parameters, const double* values)
    : DataFolder(data.folder()), data_(data) {
  for (std::size_t i = 0; i < parameters.size(); ++i) values_[parameters[i].set][parameters[i].name] = values[i];
}

Value VariedData::load(const std::string& name) const {
  Value file = data_.load(name);
  const auto set = values_.find(name);
  if (set == values_.end()) return file;
  for (const auto& [parameter, value] : set->second) file.member("parameters").member(parameter).set("value", value);
  return file;
}

}  // namespace podsim
