// Which parameters vary, and over what.
#include "simulator/app/uncertainty_parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Scenario scenario_with(const std::vector<Override>& overrides, bool chip = false) {
  Value source = parse_json(chip ? R"({"version": 1, "system": {"pod": "bow-pod16"},
    "workload": {"model": "mlp", "mode": "training", "layers": [64, 32, 10], "micro_batch_size": 4},
    "ipu_config": {"gradient_accumulation_steps": 8}})"
                                 : R"({"version": 1, "system": {"pod": "bow-pod16"},
    "workload": {"model": "stage_times", "stages": 1, "forward_seconds": 0.001, "backward_seconds": 0.002},
    "ipu_config": {"gradient_accumulation_steps": 8}})",
                            "s.json");
  apply_overrides(source, overrides);
  return read_scenario(std::move(source), ".");
}

std::vector<std::string> names_of(const std::vector<VariedParameter>& parameters) {
  std::vector<std::string> names;
  for (const VariedParameter& parameter : parameters) names.push_back(parameter.set + "/" + parameter.name);
  return names;
}

std::vector<std::string> varied_with(const std::vector<Override>& overrides, bool chip = false) {
  return names_of(varied_parameters(scenario_with(overrides, chip), DataFolder()));
}

TEST(VariedParameters, AreTheInferredOnesOfChipPodAndFramework) {
  const std::vector<std::string> names = varied_with({{"host.framework", "tensorflow"}}, true);
  EXPECT_THAT(names, AllOf(Contains("chips/bow/operator_control_cycles"), Contains("pods/bow/nic_efficiency"),
                           Contains("software/frameworks/call_overhead_tensorflow")));
  EXPECT_THAT(names, AllOf(Not(Contains("chips/bow/clock_hz")),               // vendor
                           Not(Contains("chips/bow/exchange_fixed_cycles")),  // software, with a range
                           Not(Contains("software/frameworks/call_overhead_popart")),
                           Not(Contains("software/frameworks/compile_seconds_base"))));
}

TEST(VariedParameters, WhatTheScenarioSaysStays) {
  EXPECT_THAT(varied_with({}), AllOf(Contains("pods/bow/nic_efficiency"), Contains("pods/bow/host_sync_seconds")));
  EXPECT_THAT(varied_with({{"system.parameters.nic_efficiency", "0.9"}}), Not(Contains("pods/bow/nic_efficiency")));
  EXPECT_THAT(varied_with({{"host.data", "real"}, {"host.callback_seconds", "1e-5"}}),
              Not(Contains("pods/bow/host_sync_seconds")));
  const std::string overhead = "software/frameworks/call_overhead_keras";
  EXPECT_THAT(varied_with({{"host.framework", "keras"}}), Contains(overhead));
  EXPECT_THAT(varied_with({{"host.framework", "keras"}, {"host.call_overhead_seconds", "0.1"}}),
              Not(Contains(overhead)));
  EXPECT_THAT(varied_with({{"system.parameters.operator_control_cycles", "900"}}, true),
              Not(Contains("chips/bow/operator_control_cycles")));
}

TEST(VariedParameters, StageTimesNeedNoChip) {
  for (const std::string& name : varied_with({})) EXPECT_THAT(name, Not(HasSubstr("chips/")));
}

TEST(VariedParameters, NothingLeftIsAnError) {
  std::vector<Override> all;
  for (const VariedParameter& parameter : varied_parameters(scenario_with({}), DataFolder())) {
    all.push_back({"system.parameters." + parameter.name, std::to_string(parameter.value)});
    if (parameter.value < 1e-3) all.back().second = "1e-6";
  }
  const std::string text = message_of([&] { (void)varied_parameters(scenario_with(all), DataFolder()); });
  EXPECT_THAT(text, HasSubstr("--uncertainty: the scenario sets every parameter that is inferred, so nothing varies"));
  EXPECT_THAT(text, HasSubstr("leave some out of system.parameters"));
}

TEST(ValueAt, TheValueIsTheMedianBetweenUniformHalves) {
  const VariedParameter parameter{"", "", "", 4, 2, 10};
  EXPECT_DOUBLE_EQ(value_at(parameter, 0), 2);
  EXPECT_DOUBLE_EQ(value_at(parameter, 0.25), 3);
  EXPECT_DOUBLE_EQ(value_at(parameter, 0.5), 4);
  EXPECT_DOUBLE_EQ(value_at(parameter, 0.75), 7);
  EXPECT_DOUBLE_EQ(value_at(parameter, 1), 10);
}

TEST(ValueAt, AValueAtAnEndOfItsRangeLeavesOneUniformPart) {
  EXPECT_DOUBLE_EQ(value_at({"", "", "", 0, 0, 3}, 0.25), 0.75);
  EXPECT_DOUBLE_EQ(value_at({"", "", "", 64, 16, 64}, 0.5), 40);
}

TEST(ValueAt, AFactorOfTenIsTakenLogarithmically) {
  const VariedParameter parameter{"", "", "", 1e-3, 1e-4, 3e-3};
  EXPECT_NEAR(value_at(parameter, 0.25), 1e-4 * std::sqrt(10), 1e-16);
  EXPECT_NEAR(value_at(parameter, 0.75), 1e-3 * std::sqrt(3), 1e-16);
  EXPECT_DOUBLE_EQ(value_at(parameter, 1), 3e-3);
}

TEST(VariedData, HasTheNewValuesAndLeavesTheRest) {
  const DataFolder data;
  const std::vector<VariedParameter> parameters = {{"pods/bow", "nic_efficiency", "1", 0.88, 0.8, 0.95}};
  const double value = 0.9;
  const VariedData varied(data, parameters, &value);
  const ParameterSet pod(varied.load("pods/bow")), before(data.load("pods/bow"));
  EXPECT_EQ(pod.get("nic_efficiency"), 0.9);
  EXPECT_EQ(pod.get("gw_link_efficiency"), before.get("gw_link_efficiency"));
  EXPECT_EQ(varied.load("pods/mk2"), data.load("pods/mk2"));
}

}  // namespace
}  // namespace podsim
