// SimGrid's settings, constants of ours on purpose: a misspelt value makes SimGrid abort.
#include "simulator/engine/simgrid_settings.hpp"

#include <xbt/log.h>

#include <simgrid/s4u.hpp>
#include <string>

// Needs the macros of the headers above.
#include <simgrid/version.h>

namespace podsim {

void silence_simgrid() {
  xbt_log_control_set("root.thres:critical");
  // Deadlocks are reported as our own error, with what is waited for.
  xbt_log_control_set("ker_engine.app:file:/dev/null");
  xbt_log_control_set("ker_engine.add:0");
}

std::vector<std::pair<std::string, std::string>> simgrid_settings() {
  return {
      // CM02 is the fluid max-min model without the correction factors of the default LV08, which are fitted to TCP
      // (latency x 13.01, bandwidth x 0.97).
      {"network/model", "CM02"},
      // No acknowledgements that take 5 % of the opposite direction.
      {"network/crosstraffic", "0"},
      // No TCP window: it bounds the bandwidth of a flow to window / round-trip time.
      {"network/TCP-gamma", "0"},
      // kTimeResolutionSeconds.
      {"surf/precision", "1e-12"},
      // Of shares in bytes per second x the kernel's byte scale.
      {"maxmin/precision", "1e-5"},
      // KiB. Several thousand processes must fit; ours need little stack (no I/O, no recursion).
      {"contexts/stack-size", "64"},
      // One thread: deterministic order.
      {"contexts/nthreads", "1"},
  };
}

std::string simgrid_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + (patch > 0 ? "." + std::to_string(patch) : "");
}

void configure_simgrid(simgrid::s4u::Engine& engine) {
  for (const auto& [name, value] : simgrid_settings()) engine.set_config(name + ":" + value);
}

}  // namespace podsim
