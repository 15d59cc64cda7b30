// The host's side of a call: one process per PopDist instance starts each run on the replicas that it feeds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/engine/ipu.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/program/program.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

class HostStreams;

class HostCalls {
 public:
  HostCalls(const Topology& topology, const Program& program, Kernel& kernel, HostStreams& streams);

  void spawn(std::int64_t calls);  // the processes; each serves so many runs

  struct Times {
    double replica_met = 0;  // all IPUs of the replica had ended their run …
    double met = 0;          // … and all of the instance
    double prepared = 0;     // the host had the run's data, where it prepares them between calls
    double evaluated = 0;    // the second graph's runs, where it is its turn, were over
    double left = 0;
  };
  [[nodiscard]] Times call(Ipu& ipu);
  // Whether the second graph has a turn after the last run, too: all IPUs then meet at one more call.
  [[nodiscard]] bool closes() const { return closes_; }

  struct Instance {
    Process process;
    int host = 0;
    int first_replica = 0, replicas = 0;
    std::size_t arrived = 0;
    double latest = 0;
    std::vector<double> latest_of_replica, met_of_replica;
    Times times;
    std::int64_t done = 0, total = 0;  // calls
    std::vector<Process*> waiting, waking;
  };
  [[nodiscard]] std::vector<std::unique_ptr<Instance>>& instances() { return instances_; }

 private:
  void serve(Instance& instance);
  [[nodiscard]] bool second_graph_before(const Instance& instance) const;

  const Topology& topology_;
  const Program& program_;
  Kernel& kernel_;
  HostStreams& streams_;
  std::vector<std::unique_ptr<Instance>> instances_;  // those that feed replicas
  std::vector<Instance*> of_replica_;
  bool closes_ = false;
};

// Blocks of replicas per instance, and of instances per host, in order.
[[nodiscard]] int instance_of(const Program& program, int replica);
[[nodiscard]] int host_of(const Program& program, int hosts, int instance);

}  // namespace podsim::engine
