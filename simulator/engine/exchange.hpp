// The lockstep of a replica: its IPUs meet, copy in one global exchange, and leave together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/engine/ipu.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/engine/link_users.hpp"
#include "simulator/program/program.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

// When all of the replica and all at all had arrived, and when all left.
struct MeetingTimes {
  double replica_met = 0;
  double met = 0;
  double left = 0;
};

class Exchanges {
 public:
  // `closed_form`: exchanges that are alone on their links are computed.
  Exchanges(const Topology& topology, const Program& program, Kernel& kernel, bool closed_form);

  // Registers the links of all exchanges; UserError where there is no route.
  void register_links(LinkUsers& users) const;
  // `blocked(group, replica)`: whether a collective's group cannot run during an exchange of the replica.
  void set_link_users(const LinkUsers& users, std::function<bool(int group, int replica)> blocked);

  // The IPU arrives at its own clock's time (which may be ahead), and leaves with the others.
  MeetingTimes meet(Ipu& ipu);
  // Synchronisations without copies: of the IPUs of equal parity in the replica (a ladder's rail), and of all IPUs.
  MeetingTimes meet_ladder(Ipu& ipu);
  MeetingTimes meet_world(Ipu& ipu);

  // One combination of exchange operations that met, of one replica.
  struct Pattern {
    std::vector<const Exchange*> exchanges;  // by local IPU
    std::vector<FlowRequest> flows;
    double overhead_seconds = 0;  // fixed cost and latency
    double flow_seconds = 0;      // where computed
    bool computed = false;
    std::int64_t executions = 0;
  };
  [[nodiscard]] const std::vector<Pattern*>& patterns() const { return patterns_; }

  // What has met so far; part of the state that fast-forward compares.
  struct Meeting {
    Phase phase = kMeeting;  // of those that wait
    std::size_t size = 0;
    std::size_t arrived = 0;
    double latest = 0;
    std::vector<double> latest_of_replica, met_of_replica;  // of a meeting of all replicas
    MeetingTimes times;                                     // of the last one
    std::vector<Process*> waiting;
    std::vector<Process*> waking;            // those of the last one: while they wake, others arrive again
    std::vector<const Exchange*> exchanges;  // by local IPU
    Pattern* last = nullptr;
  };

  [[nodiscard]] const std::vector<Meeting>& meetings() const { return meetings_; }
  [[nodiscard]] const std::vector<Meeting>& ladders() const { return ladders_; }
  [[nodiscard]] const Meeting& world() const { return world_; }

 private:
  MeetingTimes meet_without_copies(Meeting& meeting, Ipu& ipu);
  bool arrive(Meeting& meeting, Ipu& ipu);
  void leave(Meeting& meeting, double met, double left);
  double copy(Pattern& pattern, Ipu& ipu, double met);
  Pattern& pattern_of(Meeting& meeting, int replica);
  std::unique_ptr<Pattern> make_pattern(const Meeting& meeting, int replica) const;
  [[nodiscard]] bool alone(const std::vector<FlowRequest>& flows, int replica) const;
  [[nodiscard]] const Route& route(const Transfer& transfer, int replica) const;

  const Topology& topology_;
  const Program& program_;
  Kernel& kernel_;
  bool closed_form_;
  double fixed_seconds_;
  const LinkUsers* users_ = nullptr;
  std::function<bool(int group, int replica)> blocked_;
  std::vector<Meeting> meetings_;  // by replica
  std::vector<Meeting> ladders_;   // by replica and parity
  Meeting world_;
  std::vector<std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<Pattern>>>> known_;  // by replica, hash
  std::vector<Pattern*> patterns_;  // all, in the order of their first use
};

}  // namespace podsim::engine
