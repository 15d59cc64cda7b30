// podsim sweep: what is asked for, and the loop that answers it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "simulator/app/loaded_data.hpp"
#include "simulator/app/sweep_header.hpp"
#include "simulator/app/sweep_ranks.hpp"
#include "simulator/core/value.hpp"

namespace podsim {

// As on the command line, or from a sweep file.
struct SweepRequest {
  std::filesystem::path scenario;
  std::vector<SweepAxis> axes;
  std::vector<std::string> sets;  // as --set takes them
  std::string output;
};

// A sweep file: {"scenario": "a.json", "vary": {"K": [V, …] or "1:64:x2", "K1,K2": [[V, W], …]}, "set": {"K": V},
// "output": "out.csv"}; the scenario is relative to the file. Nothing where the tree is a scenario instead.
// UserError where a sweep file is malformed.
[[nodiscard]] bool is_sweep_file(const Value& file);
[[nodiscard]] SweepRequest read_sweep_file(const Value& file, const std::filesystem::path& folder);

struct SweepSettings {
  int jobs = 1;
  double timeout_seconds = 0;  // 0: none
  bool resume = false;
  bool fast_forward = true;
  SweepShard shard;
  std::string cache;  // folder; empty: none
  std::string code;   // digest of program and plugins; for the cache only
  Ranks ranks;
  bool show_progress = false;  // on standard error
};

// A sweep ready to run: the scenario read once, the point's values are set in memory.
struct Sweep {
  std::filesystem::path folder;  // of the scenario file
  Value source;                  // with --set applied and files inlined
  SweepHeader header;
};
// UserError for what no point could run with: scenario unreadable, keys given twice, …
[[nodiscard]] Sweep prepare_sweep(const SweepRequest& request, const SweepSettings& settings, const LoadedData& data);

// The scenario of a point. UserError where a value cannot be set.
[[nodiscard]] Value point_source(const Sweep& sweep, std::size_t point);

// Runs all points (of the shard; with ranks, together with them) and writes the output. UserError when a signal stops
// it: the message says how to go on.
void run_sweep(const Sweep& sweep, const SweepSettings& settings, const LoadedData& data, const std::string& output);

}  // namespace podsim
