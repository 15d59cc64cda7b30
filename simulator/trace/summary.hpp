// summarize(): the figures of the summary (interface.md) from a trace. Exact: shares add up to the makespan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/program/program.hpp"
#include "simulator/trace/trace.hpp"
#include "simulator/trace/uncertainty.hpp"

namespace podsim {

// Memory of one IPU, filled in by the caller (the trace knows nothing of tiles).
struct IpuMemorySummary {
  double peak_tile_bytes = 0;
  double always_live_bytes = 0;  // on the peak tile
  double limit_bytes = 0;        // 0: no chip model
  int peak_tile = 0;
  std::vector<std::pair<std::string, double>> categories;  // bytes over all tiles
};

struct IpuSummary {
  int ipu = 0;
  std::vector<int> stages;
  PerState state_seconds{};
  std::int64_t stash_micro_batches = 0;  // filled in by the caller, who knows the memory, too
  IpuMemorySummary memory;
};

// Before the first host call, outside of the makespan. Filled in by the caller (the trace starts with the first call).
struct StartupSummary {
  std::optional<double> compile_seconds;  // of all graphs; absent without a chip model
  std::optional<double> store_seconds;    // with a cache of executables: into it, in the first run, …
  std::optional<double> load_seconds;     // … and from it in later ones, which do not compile
  double executable_upload_seconds = 0;   // code to the IPUs of all replicas
  double weight_upload_seconds = 0;       // weights and optimiser state likewise
};

// Another executable that takes turns with this one, where it is given. Filled in by the caller.
struct SecondGraphSummary {
  std::int64_t every = 0;          // host calls of the first graph between its turns
  std::int64_t calls = 0;          // its own host calls in a turn
  double turn_seconds = 0;         // of these
  double switch_seconds = 0;       // to it …
  double switch_back_seconds = 0;  // … and back
  double samples_per_second = 0;   // within a call
  double peak_tile_bytes = 0;      // 0: no chip model
};

struct LinkSummary {
  std::string name, kind;
  double bytes = 0;
  double utilization = 0;  // bytes / (capacity x makespan)
};

struct Summary {
  std::string name, version;
  double weight_update_seconds = 0;  // mean in steady state: without the first update or iteration where there are more
  // One host call, mean: without the first where there are more, or of whole epochs where they have a start.
  double run_seconds = 0;
  double makespan_seconds = 0;
  double throughput_samples_per_second = 0;  // samples_per_run / run_seconds
  double samples_per_run = 0;
  std::string sample_name = "samples";
  std::int64_t slots_per_update = 0;
  double busy = 0;                 // share of IPU time in forward, backward, recompute, weight_update
  double flops = 0;                // share of AMP peak; 0 where no chip model
  PerState state_seconds{};        // mean over IPUs
  std::string bottleneck;          // a sentence
  std::vector<IpuSummary> ipus;    // all of the pod that the program uses
  std::vector<LinkSummary> links;  // busiest first
  std::int64_t batch_size_factor = 1;
  int replicas = 1;
  int ipus_per_replica = 1;
  std::int64_t simulated_activities = 0;
  StartupSummary startup;
  std::optional<Uncertainty> uncertainty;  // where it was asked for; filled in by the caller
  std::optional<SecondGraphSummary> second_graph;
  std::vector<std::string> warnings;
};

[[nodiscard]] Summary summarize(const Trace& trace, const Program& program);

}  // namespace podsim
