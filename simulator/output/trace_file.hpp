// The HDF5 trace: one file per run, whole columns with units and dimension scales, readable by h5py, pandas and
// xarray. The same content always gives the same bytes.
#pragma once

#include <string>
#include <vector>

#include "simulator/output/tables.hpp"
#include "simulator/trace/summary.hpp"
#include "simulator/trace/trace.hpp"

namespace podsim {

struct TraceContent {
  const Trace& trace;
  const Summary& summary;
  const ScenarioRecord& scenario;
  const TileTable* tiles = nullptr;     // null or without tiles: no chip model, the group stays empty
  const MemoryTable* memory = nullptr;  // null or without IPUs: likewise
  int time_bins = 512;                  // of /utilization; fewer where there are more than 256 IPUs
};

// Replaces `path` at once when all is written; leaves nothing behind otherwise. UserError with the system's reason
// when the file cannot be written.
void write_trace(const std::string& path, const TraceContent& content);

// The file's bytes, as write_trace() writes them.
[[nodiscard]] std::vector<char> trace_image(const TraceContent& content);

// What exporters need of a trace file.
struct StoredTrace {
  std::string name;  // of the scenario
  Trace trace;       // without links and totals
};

// UserError when the file is absent, not HDF5, or not a trace of podsim.
[[nodiscard]] StoredTrace read_trace(const std::string& path);

}  // namespace podsim
