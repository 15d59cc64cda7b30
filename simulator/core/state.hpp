// The states of an IPU's timeline: disjoint, and together they cover [0, makespan].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace podsim {

enum class State : std::uint8_t {
  Forward,          // forward pass of a stage (on-chip compute, sync and exchange)
  Backward,         // backward pass
  Recompute,        // forward again, before a backward pass
  Exchange,         // inter-IPU copies, halo exchanges included
  AllReduce,        // collectives between replicas or the IPUs of a stage (all-reduce, reduce-scatter, all-gather)
  WeightUpdate,     // optimiser
  RemoteMemory,     // load from or store to streaming memory
  HostInputStall,   // the host has not got the input ready
  HostTransfer,     // host data on its way over PCIe
  HostCall,         // the host's overhead around one run of the program
  RampUp,           // waiting, before the IPU's first work since the last drain
  RampDown,         // waiting, after the IPU's last work before the drain ends
  Imbalance,        // waiting in a slot for a slower IPU of the replica
  Sync,             // waiting for other replicas, and synchronisation itself
  HostOutputStall,  // the host has not taken earlier results
  SecondGraph,      // another executable has the IPUs (evaluation between epochs, for example)
};

inline constexpr std::size_t kStateCount = 16;

// The names used in summaries and traces, in the order of State.
inline constexpr std::array<std::string_view, kStateCount> kStateNames = {
    "forward",           "backward",      "recompute", "exchange", "all_reduce", "weight_update", "remote_memory",
    "host_input_stall",  "host_transfer", "host_call", "ramp_up",  "ramp_down",  "imbalance",     "sync",
    "host_output_stall", "second_graph"};

[[nodiscard]] constexpr std::size_t index_of(State state) { return static_cast<std::size_t>(state); }
[[nodiscard]] constexpr std::string_view name_of(State state) { return kStateNames[index_of(state)]; }

// Seconds (or any other quantity) per state.
using PerState = std::array<double, kStateCount>;

}  // namespace podsim
