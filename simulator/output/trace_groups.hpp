// The groups of a trace file. Internal to this module.
#pragma once

#include "simulator/output/hdf5_builder.hpp"
#include "simulator/output/trace_file.hpp"

namespace podsim {

void write_intervals(const Hdf5Builder& file, const Trace& trace);
void write_repeats(const Hdf5Builder& file, const Trace& trace);
void write_utilization(const Hdf5Builder& file, const Trace& trace, int bins);
void write_bubbles(const Hdf5Builder& file, const Trace& trace);
void write_host(const Hdf5Builder& file, const Trace& trace);
void write_links(const Hdf5Builder& file, const TraceContent& content);
void write_tiles(const Hdf5Builder& file, const TileTable* table);
void write_memory(const Hdf5Builder& file, const MemoryTable* table);
void write_summary(const Hdf5Builder& file, const TraceContent& content);
void write_uncertainty(const Hdf5Builder& file, const std::optional<Uncertainty>& uncertainty);
void write_scenario(const Hdf5Builder& file, const ScenarioRecord& scenario);

}  // namespace podsim
