// The little of SimGrid that the engine needs, behind a header without SimGrid: processes that sleep, block and wake
// each other, and flows of bytes that share directed links.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/engine/platform.hpp"
#include "topology/topology.hpp"

namespace simgrid::s4u {
class Actor;
}

namespace podsim::engine {

enum class Wait : std::uint8_t { None, Sleep, Blocked, Flows };

using FlowId = std::int32_t;

// What a process waits for, readable by others: its `phase` says where in its own code, for its owner.
struct Process {
  Wait wait = Wait::None;
  int phase = 0;
  double until = 0;           // end of the sleep
  bool woken = false;         // wake() was called, the process has not run yet
  std::vector<FlowId> flows;  // that it waits for, in order; those behind it have ended
  double blocked_at = 0;
  simgrid::s4u::Actor* actor = nullptr;
};

struct FlowRequest {
  const Route* route = nullptr;
  double bytes = 0;  // > 0
};

// Makes SimGrid's engine, which then lives as long as the process; kernels of processes forked from this one use it.
void start_simgrid();

class Kernel {
 public:
  // `platform`: of this topology; it outlives the kernel. Null: start() makes one.
  explicit Kernel(const Topology& topology, Platform* platform = nullptr);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Before all below. Once per process, ever: InternalError for a second kernel that starts.
  void start();
  // Before run(). `process` outlives the kernel's run. An exception that leaves a body ends all processes; run()
  // throws it again.
  void spawn(Process& process, int vertex, const std::string& name, std::function<void()> body);
  // Returns when all processes have ended or none of them can go on (then false).
  [[nodiscard]] bool run();

  [[nodiscard]] double now() const;
  [[nodiscard]] std::int64_t activities() const { return activities_; }

  // All below are called by the running process `self`.
  void sleep_until(Process& self, double time, int phase);
  void block(Process& self, int phase);  // until another process wakes it
  void yield();                          // lets the others that are ready at this instant run first
  void wake(Process& other);
  void wake_all(std::span<Process* const> others);
  [[nodiscard]] FlowId start_flow(const FlowRequest& request);
  void start_flows(std::span<const FlowRequest> requests, std::vector<FlowId>& flows);
  // Waits for a flow and forgets it; the time at which it ended.
  double finish_flow(Process& self, FlowId flow, int phase);
  void finish_flows(Process& self, int phase);  // all of self.flows
  [[nodiscard]] double remaining_bytes(FlowId flow) const;

 private:
  struct SimGrid;
  const Topology& topology_;
  Platform* platform_;
  std::unique_ptr<SimGrid> simgrid_;
  std::int64_t activities_ = 0;
};

}  // namespace podsim::engine
