// The parameters that an uncertainty varies, and the data folder with other values in their places.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simulator/app/data_folder.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/trace/uncertainty.hpp"

namespace podsim {

// Parameters of the scenario's chip, pod and framework that are tagged inferred and have a range. One that the scenario
// sets (system.parameters, or its counterpart in the section host) is what the user says it is, and not among them;
// nor is the chip where stage times are given. UserError where none is left.
[[nodiscard]] std::vector<VariedParameter> varied_parameters(const Scenario& scenario, const DataFolder& data);

// The value at `probability` of a parameter's distribution. The value of the data file is the median, being the best
// estimate and as likely too low as too high; below and above it the distribution is uniform up to the ends of the
// range. Where the value is an end itself, it is uniform over the whole range. Ranges over a factor of 10 or more leave
// the magnitude open: there it is the logarithm that is uniform.
[[nodiscard]] double value_at(const VariedParameter& parameter, double probability);

// The data folder with other values of some parameters.
class VariedData : public DataFolder {
 public:
  VariedData(const DataFolder& data, const std::vector<VariedParameter>& parameters, const double* values);

  [[nodiscard]] Value load(const std::string& name) const override;

 private:
  const DataFolder& data_;
  std::map<std::string, std::map<std::string, double>> values_;  // by set and name
};

}  // namespace podsim
