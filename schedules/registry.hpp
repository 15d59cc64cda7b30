// Schedules from outside: shared objects that are loaded with --plugin.
#pragma once

#include <string>

#include "schedules/schedule.hpp"

namespace podsim {

// Loads a shared object and adds its schedule, `extern "C" const podsim::Schedule* podsim_schedule()`, to schedules().
// UserError: no such file, not loadable, no such function, or a name that is taken.
void load_schedule_plugin(const std::string& file);

}  // namespace podsim
