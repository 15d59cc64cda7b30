// A host stream of one replica: its buffer in streaming memory, the process that fills or empties it from the host's
// side, and the one that moves data beside compute where IO tiles do that.
#pragma once

#include <cstdint>
#include <deque>

#include "simulator/engine/kernel.hpp"
#include "simulator/program/program.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

struct Channel {
  const HostStream* stream = nullptr;
  int index = 0;  // into Program::streams
  int replica = 0;
  int host = 0;
  const Route* host_side = nullptr;  // host to streaming memory or back; null: the buffer is in the host's memory
  const Route* ipu_side = nullptr;   // streaming memory (or host) to IPU or back
  int depth = 1;                     // micro-batches of buffer
  bool on_request = false;           // inputs: nothing is fetched ahead

  // The host's side.
  Process process;
  std::int64_t done = 0, total = 0;  // micro-batches
  int requests = 0;                  // on_request: asked for, not yet served
  bool loads_samples = false;        // inputs: a loader prepares them
  std::deque<double> prepared;       // inputs: when each sample in the host's memory is ready, oldest first
  bool limited = false;              // inputs: only `credits` more micro-batches of this host call may be fetched
  std::int64_t credits = 0;

  // The buffer.
  int taken = 0;                // slots that are in use, a transfer under way included
  int filled = 0;               // slots with data
  double transfer_start = 0;    // host's side: of the transfer under way …
  double arrival_start = 0;     // … and of the last one that ended
  Process* consumer = nullptr;  // waits for data (input) or room (output)

  // Beside compute.
  Process mover;
  std::int64_t moved = 0, to_move = 0;  // micro-batches
  int pending = 0;                      // started by the IPU, not yet ended
  double wait_start = 0;       // when what the mover waited for last came under way (input) or was there (output)
  Process* settler = nullptr;  // the IPU that waits for the end
};

}  // namespace podsim::engine
