// Traces for other viewers: Chrome's trace format (opens in Perfetto), CSV, and Paje (ViTE, pj_dump).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/output/trace_file.hpp"

namespace podsim {

struct ExportOptions {
  bool expand = true;  // repeated windows in full; false: only what was simulated step by step
};

[[nodiscard]] const std::vector<std::string>& export_formats();

// Hands the text over piece by piece. UserError for an unknown format.
void export_trace(const StoredTrace& stored, const std::string& format, const ExportOptions& options,
                  const std::function<void(std::string_view)>& write);

// From a trace file to a file, which is there completely or not at all.
void export_trace_file(const std::string& trace_path, const std::string& format, const ExportOptions& options,
                       const std::string& output_path);

}  // namespace podsim
