// Every option of a scenario, declared once. Plugins (workloads, schedules) declare their own.
#pragma once

#include <string>
#include <vector>

#include "simulator/core/option.hpp"

namespace podsim {

[[nodiscard]] const std::vector<Option>& scenario_options();  // top level
[[nodiscard]] const std::vector<Option>& system_options();
[[nodiscard]] const std::vector<Option>& workload_options();  // those common to all workloads
[[nodiscard]] const std::vector<Option>& partition_options();
[[nodiscard]] const std::vector<Option>& execution_options();
[[nodiscard]] const std::vector<Option>& location_options();  // of one class under execution.locations
[[nodiscard]] const std::vector<Option>& host_options();

struct OptionGroup {
  std::string path;  // "", "system", "workload", …
  std::string help;
  std::vector<Option> options;
};
// All of the above, for `podsim describe scenario` and the README.
[[nodiscard]] std::vector<OptionGroup> scenario_option_groups();

}  // namespace podsim
