// Collectives: the members of a group meet, run its steps on the links, and leave together.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "simulator/engine/collective_groups.hpp"
#include "simulator/engine/exchange.hpp"
#include "simulator/engine/ipu.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/engine/link_users.hpp"

namespace podsim::engine {

class Collectives {
 public:
  // `closed_form`: collectives that share their links with nothing but those that start with them are computed.
  Collectives(const Topology& topology, const Program& program, Kernel& kernel, bool closed_form);

  void register_links(LinkUsers& users) const;
  void set_link_users(const LinkUsers& users) { users_ = &users; }
  // Whether a group cannot run while all IPUs of a replica do something else.
  [[nodiscard]] bool has_member_in(int group, int replica) const;

  struct Result {
    MeetingTimes times;
    bool between_replicas = true;
    State state = State::AllReduce;  // of the IPUs meanwhile
  };
  Result join(Ipu& ipu);

  struct Group {
    CollectiveGroup plan;
    std::size_t arrived = 0;
    double latest = 0;
    double computed_seconds = -1;  // negative: as flows
    std::size_t step = 0;          // of a run as flows …
    std::int64_t repetition = 0;   // … and how often it has run
    MeetingTimes times{};
    std::vector<Process*> waiting{}, waking{};
    Process* conductor = nullptr;
    std::int64_t executions = 0;
  };
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  [[nodiscard]] std::vector<Group>& groups() { return groups_; }
  [[nodiscard]] const std::vector<int>& starting() const { return starting_; }

 private:
  void conduct(Group& group, Process& conductor);
  void decide(Group& group, Process& conductor);
  void compute(std::vector<int> groups);
  [[nodiscard]] std::vector<double> computed_seconds(const std::vector<int>& groups) const;
  [[nodiscard]] std::vector<std::vector<int>> apart(const std::vector<int>& groups) const;
  [[nodiscard]] bool alone(const std::vector<int>& groups) const;
  double run_flows(Group& group, Process& conductor, double start);

  const Topology& topology_;
  const Program& program_;
  Kernel& kernel_;
  bool closed_form_;
  const LinkUsers* users_ = nullptr;
  std::vector<Group> groups_;
  std::vector<std::vector<int>> group_of_replica_;         // by collective, replica
  std::vector<int> starting_;                              // at this instant, not yet decided
  std::map<std::vector<int>, std::vector<double>> known_;  // seconds by set of groups; empty: as flows
};

}  // namespace podsim::engine
