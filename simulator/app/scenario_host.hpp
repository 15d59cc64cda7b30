// The host section of a scenario, and the execution options that depend on it.
#pragma once

#include "simulator/app/scenario.hpp"

namespace podsim {

// Takes the section as given (null: absent) and needs the sections before it to be read.
void read_host(Scenario& scenario, const Value& host);
// The execution options io_overlap and output_period, once the host section is read.
void read_host_transfers(Scenario& scenario, const Options& execution);

}  // namespace podsim
