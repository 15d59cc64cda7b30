// The host section of a scenario, and the execution options that depend on it.
#pragma once

#include "simulator/app/scenario.hpp"

namespace podsim {

// Both take the section as given (null: absent) and need the sections before it to be read.
void read_host(Scenario& scenario, const Value& host);
void read_io_overlap(Scenario& scenario, const Value& execution);

}  // namespace podsim
