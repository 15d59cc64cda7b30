// One IPU while it executes its program.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/code.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/engine/timeline.hpp"

namespace podsim::engine {

struct Ipu {
  Ipu(int replica_number, int local_number, int index_in_pod, const Code& code, bool record)
      : replica(replica_number), local(local_number), index(index_in_pod), cursor(code), timeline(record) {}

  int replica = 0;
  int local = 0;  // in the replica
  int index = 0;  // in the pod
  Cursor cursor;
  Timeline timeline;  // its clock may be ahead of the kernel's, never behind for long
  Process process;

  struct Background {  // an overlapped load or store
    FlowId flow = 0;
    double latency_seconds = 0;
  };
  std::vector<Background> background;
  double background_end = 0;  // of those that were looked at already

  bool worked = false;           // ran a pass since the last drain
  std::int64_t exchanges = 0;    // since the last drain
  std::int64_t updates = 0;      // finished
  std::int64_t calls = 0;        // host calls started
  std::int32_t last_stage = -1;  // of the last Run, for messages
  std::int64_t last_micro_batch = -1;
  bool finished = false;
};

// Where a process stands in its own code; part of what must recur before a period may be skipped.
enum Phase : int {
  kStart,
  kMeeting,  // waits for the other IPUs of an exchange or a synchronisation
  kLadderMeeting,
  kWorldMeeting,
  kMeetingStart,   // until all have arrived
  kExchangeStart,  // overhead and latency before the copies
  kExchangeFlows,
  kExchangeEnd,  // a computed exchange
  kCollectiveMeeting,
  kCollectiveStart,
  kCollectiveDecision,
  kCollectiveStep,  // fixed cost of a step
  kCollectiveFlows,
  kCollectiveEnd,  // a computed collective
  kOwnWork,        // until the IPU's own clock
  kRemoteLatency,
  kRemoteFlow,
  kRemoteWait,
  kHostCall,
  kHostCallStart,
  kHostCallOverhead,
  kHostPreparation,
  kInputData,  // waits for input in streaming memory
  kInputFlow,
  kOutputSpace,
  kOutputFlow,
  kSettling,  // waits for what moves beside compute
  kMoverStart,
  kStreamSpace,     // host stream: waits for room in its buffer, …
  kStreamRequest,   // … for the IPU's request, …
  kStreamSample,    // … for the loader, …
  kStreamReady,     // … until the sample is prepared, …
  kStreamCallback,  // … for the callback, …
  kStreamFlow,      // … for the transfer
  kStreamOutput,    // … for an output
  kLoaderSpace,
  kLoaderWorker,
};

}  // namespace podsim::engine
