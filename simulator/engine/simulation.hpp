// All parts of one run, put together.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "simulator/engine/collectives.hpp"
#include "simulator/engine/exchange.hpp"
#include "simulator/engine/fast_forward.hpp"
#include "simulator/engine/host_calls.hpp"
#include "simulator/engine/host_streams.hpp"
#include "simulator/engine/interpreter.hpp"
#include "simulator/engine/ipu.hpp"
#include "simulator/engine/link_users.hpp"
#include "simulator/engine/remote_memory.hpp"
#include "simulator/engine/run.hpp"

namespace podsim::engine {

class Simulation {
 public:
  // UserError where the program does not fit the topology.
  Simulation(const Topology& topology, const Program& program, RunSettings settings, Platform* platform = nullptr);

  [[nodiscard]] Trace run();  // once per process

 private:
  void spawn_ipus();
  void report_progress(const Ipu& ipu);
  [[nodiscard]] Trace collect();
  [[nodiscard]] std::vector<LinkUse> link_uses() const;

  const Topology& topology_;
  const Program& program_;
  RunSettings settings_;
  std::vector<Code> codes_;  // by local IPU
  Kernel kernel_;
  LinkUsers link_users_;
  Exchanges exchanges_;
  Collectives collectives_;
  RemoteMemory memory_;
  HostStreams streams_;
  HostCalls calls_;
  Machinery parts_;
  Interpreter interpreter_;
  std::deque<Ipu> ipus_;  // by index in the pod
  std::optional<FastForward> fast_forward_;
  double reported_share_ = 0;
};

// What keeps the first few unfinished IPUs waiting, for people.
[[nodiscard]] std::string describe_deadlock(const std::deque<Ipu>& ipus, const Program& program);

}  // namespace podsim::engine
