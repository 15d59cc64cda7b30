// What a trace file holds beside the trace: tables of tiles and memory, and the record of the scenario. Plain
// columns, filled in by the caller, since this module knows nothing of chips and scenarios.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/core/state.hpp"

namespace podsim {

// The work that a superstep belongs to: its names are kTilePassNames.
enum class TilePass : std::uint8_t { Forward, BackwardInput, BackwardWeights, WeightUpdate };
inline constexpr std::array<std::string_view, 4> kTilePassNames = {"forward", "backward_input", "backward_weights",
                                                                   "weight_update"};
// What the tiles do in a superstep.
enum class TileActivity : std::uint8_t { Compute, Exchange, ComputeAndExchange };
inline constexpr std::array<std::string_view, 3> kTileActivityNames = {"compute", "exchange", "compute_and_exchange"};

// The supersteps of the program's stages on the tiles. Equal supersteps are listed once; `use` says where they run.
struct TileTable {
  int tiles = 0;  // per IPU
  double clock_hertz = 0;
  std::vector<std::string> names;          // of the supersteps: "pass/operator/phase", operator of the first use
  std::vector<std::string> phases;         // per superstep: "matmul/compute", "gather/indices", …
  std::vector<TilePass> passes;            // per superstep
  std::vector<TileActivity> activities;    // per superstep
  std::vector<double> sync_cycles;         // per superstep
  std::vector<double> exchange_cycles;     // per superstep, the fixed part included
  std::vector<float> compute_cycles;       // supersteps x tiles, row by row
  std::vector<float> bytes_in, bytes_out;  // supersteps x tiles, exchanged on chip
  std::vector<std::int32_t> use_ipu;       // within the replica
  std::vector<std::int32_t> use_stage;
  std::vector<State> use_state;             // Forward, Backward, WeightUpdate
  std::vector<std::int32_t> use_superstep;  // index of the superstep
  std::vector<double> use_count;            // executions per pass of the stage
  std::vector<std::string> operators;       // that run supersteps, in order of their first use; weights for updates
  std::vector<std::int32_t> use_operator;   // index into operators
};

// Bytes on the tiles of the IPUs of one replica (the replicas are alike), and over the steps of their programs.
struct MemoryTable {
  int ipus = 0;   // of a replica
  int tiles = 0;  // per IPU
  std::vector<std::string> categories;
  std::vector<std::uint8_t> always_live;  // per category: 1, or 0 (then at the peak)
  std::vector<double> bytes;              // ipus x categories x tiles, row by row
  std::vector<double> limit_bytes;        // per IPU, of one tile
  std::vector<double> peak_tile_bytes;    // per IPU
  std::vector<double> always_live_bytes;  // per IPU, on the peak tile
  std::vector<std::int32_t> peak_tile;    // per IPU
  std::vector<std::int32_t> step_ipu;     // liveness: steps in program order, IPU by IPU
  std::vector<std::string> step_names;
  std::vector<double> step_bytes;        // not always live, on the fullest tile
  std::vector<double> step_total_bytes;  // not always live, over all tiles
};

struct ScenarioRecord {
  std::string text;                                           // as given, comments included
  std::string resolved;                                       // JSON, every default filled in
  std::string program;                                        // the program as text; may be empty
  std::vector<std::pair<std::string, std::string>> versions;  // {"podsim", "0.1.0"}, {"SimGrid", …}
  std::vector<std::pair<std::string, std::string>> settings;  // of the simulation core: {"network/model", "CM02"}
};

}  // namespace podsim
