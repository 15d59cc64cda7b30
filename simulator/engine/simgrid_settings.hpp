// The one place where SimGrid is configured. Its defaults model TCP over a wide-area network; a pod is not one.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace simgrid::s4u {
class Engine;
}

namespace podsim {

// Time resolution of the event queue. SimGrid's default of 1 ns is longer than a cycle of an IPU's clock.
inline constexpr double kTimeResolutionSeconds = 1e-12;

// Every setting with its value, as recorded in trace files.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> simgrid_settings();

// "3.32"
[[nodiscard]] std::string simgrid_version();

// Quiets the library's messages; before the engine is made.
void silence_simgrid();

// All settings; before the first zone is made.
void configure_simgrid(simgrid::s4u::Engine& engine);

}  // namespace podsim
