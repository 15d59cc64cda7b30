// Meeting, the decision between computing and simulating, and the steps as flows.
#include "simulator/engine/collectives.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace podsim::engine {

Collectives::Collectives(const Topology& topology, const Program& program, Kernel& kernel, bool closed_form)
    : topology_(topology),
      program_(program),
      kernel_(kernel),
      closed_form_(closed_form),
      group_of_replica_(program.collectives.size(), std::vector<int>(static_cast<std::size_t>(program.replicas), -1)) {
  for (CollectiveGroup& planned : collective_groups(topology, program)) {
    const int number = static_cast<int>(groups_.size());
    for (const int rank : planned.ranks) {
      const auto replica = static_cast<std::size_t>(rank / program.ipus_per_replica);
      group_of_replica_[static_cast<std::size_t>(planned.collective)][replica] = number;
    }
    groups_.push_back({.plan = std::move(planned)});
  }
}

void Collectives::register_links(LinkUsers& users) const {
  for (std::size_t number = 0; number < groups_.size(); ++number) {
    for (const CollectiveGroup::Step& step : groups_[number].plan.steps) {
      for (const FlowRequest& flow : step.flows) {
        users.add(*flow.route, {LinkUser::Kind::Collective, static_cast<int>(number)});
      }
    }
  }
}

bool Collectives::has_member_in(int group, int replica) const {
  const CollectiveGroup& plan = groups_[static_cast<std::size_t>(group)].plan;
  return group_of_replica_[static_cast<std::size_t>(plan.collective)][static_cast<std::size_t>(replica)] == group;
}

Collectives::Result Collectives::join(Ipu& ipu) {
  const auto collective = static_cast<std::size_t>(ipu.cursor.op().index);
  const int number = group_of_replica_[collective][static_cast<std::size_t>(ipu.replica)];
  Group& group = groups_[static_cast<std::size_t>(number)];
  group.latest = std::max(group.latest, ipu.timeline.time());
  if (++group.arrived < group.plan.ranks.size()) {
    group.waiting.push_back(&ipu.process);
    kernel_.block(ipu.process, kCollectiveMeeting);
  } else {
    conduct(group, ipu.process);
  }
  const bool halo = program_.collectives[collective].kind == CollectiveKind::HaloExchange;
  return {group.times, group.plan.between_replicas, halo ? State::Exchange : State::AllReduce};
}

void Collectives::conduct(Group& group, Process& conductor) {
  const double met = group.latest;
  double left = met;
  kernel_.sleep_until(conductor, met, kCollectiveStart);
  if (!group.plan.steps.empty()) {
    ++group.executions;
    decide(group, conductor);
    if (group.computed_seconds >= 0) {
      left = met + group.computed_seconds;
      kernel_.sleep_until(conductor, left, kCollectiveEnd);
    } else {
      left = run_flows(group, conductor, met);
    }
  }
  group.times = {met, met, left};
  group.arrived = 0;
  group.latest = 0;
  group.waking.swap(group.waiting);
  group.waiting.clear();
  kernel_.wake_all(group.waking);
}

// Groups that are ready at the same instant are decided together, by the first of them, once no more come.
void Collectives::decide(Group& group, Process& conductor) {
  group.conductor = &conductor;
  starting_.push_back(static_cast<int>(&group - groups_.data()));
  if (starting_.size() > 1) {
    kernel_.block(conductor, kCollectiveDecision);
    return;
  }
  if (closed_form_) {
    for (std::size_t seen = 0; seen != starting_.size();) {
      seen = starting_.size();
      for (int turn = 0; turn < 3; ++turn) kernel_.yield();
    }
  }
  std::vector<int> together = std::exchange(starting_, {});
  std::vector<Process*> conductors;
  for (std::size_t i = 1; i < together.size(); ++i) {
    conductors.push_back(groups_[static_cast<std::size_t>(together[i])].conductor);
  }
  compute(std::move(together));
  kernel_.wake_all(conductors);
}

void Collectives::compute(std::vector<int> groups) {
  std::sort(groups.begin(), groups.end());
  auto known = known_.find(groups);
  if (known == known_.end()) known = known_.emplace(groups, computed_seconds(groups)).first;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups_[static_cast<std::size_t>(groups[i])].computed_seconds = known->second[i];
  }
}

std::vector<double> Collectives::computed_seconds(const std::vector<int>& groups) const {
  std::vector<double> seconds(groups.size(), -1);
  if (!closed_form_ || !alone(groups)) return seconds;
  for (const std::vector<int>& part : apart(groups)) {
    std::vector<const CollectiveGroup*> plans;
    for (const int position : part) {
      plans.push_back(&groups_[static_cast<std::size_t>(groups[static_cast<std::size_t>(position)])].plan);
    }
    const std::vector<double> computed = lockstep_seconds(topology_, plans);
    for (std::size_t i = 0; i < computed.size(); ++i) seconds[static_cast<std::size_t>(part[i])] = computed[i];
  }
  return seconds;
}

// The groups (as positions in `groups`) in parts that have no link in common.
std::vector<std::vector<int>> Collectives::apart(const std::vector<int>& groups) const {
  std::vector<int> parent(groups.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](int position) {
    while (parent[static_cast<std::size_t>(position)] != position)
      position = parent[static_cast<std::size_t>(position)];
    return position;
  };
  std::unordered_map<int, int> first_user;  // of a link
  for (int position = 0; position < static_cast<int>(groups.size()); ++position) {
    const Group& group = groups_[static_cast<std::size_t>(groups[static_cast<std::size_t>(position)])];
    for (const CollectiveGroup::Step& step : group.plan.steps) {
      for (const FlowRequest& flow : step.flows) {
        for (const int link : flow.route->links) {
          const int other = root(first_user.emplace(link, position).first->second);
          parent[static_cast<std::size_t>(root(position))] = other;
        }
      }
    }
  }
  std::map<int, std::vector<int>> parts;
  for (int position = 0; position < static_cast<int>(groups.size()); ++position) {
    parts[root(position)].push_back(position);
  }
  std::vector<std::vector<int>> result;
  for (auto& [first, part] : parts) result.push_back(std::move(part));
  return result;
}

// Whether nothing that could run at the same time uses a link of the groups: what else uses it has a member among them,
// which waits.
bool Collectives::alone(const std::vector<int>& groups) const {
  std::vector<bool> busy(static_cast<std::size_t>(program_.replicas * program_.ipus_per_replica), false);
  std::vector<bool> busy_replica(static_cast<std::size_t>(program_.replicas), false);
  for (const int group : groups) {
    for (const int rank : groups_[static_cast<std::size_t>(group)].plan.ranks) {
      busy[static_cast<std::size_t>(rank)] = true;
      busy_replica[static_cast<std::size_t>(rank / program_.ipus_per_replica)] = true;
    }
  }
  std::vector<signed char> harmless_group(groups_.size(), -1);
  const auto harmless = [&](const LinkUser& user) {
    if (user.kind == LinkUser::Kind::Memory) return false;
    const auto number = static_cast<std::size_t>(user.number);
    if (user.kind == LinkUser::Kind::Exchange) return static_cast<bool>(busy_replica[number]);
    if (harmless_group[number] < 0) {
      const std::vector<int>& ranks = groups_[number].plan.ranks;
      harmless_group[number] =
          std::any_of(ranks.begin(), ranks.end(), [&busy](int rank) { return busy[static_cast<std::size_t>(rank)]; });
    }
    return harmless_group[number] == 1;
  };
  for (const int group : groups) {
    for (const CollectiveGroup::Step& step : groups_[static_cast<std::size_t>(group)].plan.steps) {
      for (const FlowRequest& flow : step.flows) {
        if (!users_->all_users(*flow.route, harmless)) return false;
      }
    }
  }
  return true;
}

double Collectives::run_flows(Group& group, Process& conductor, double start) {
  double time = start;
  for (group.step = 0; group.step < group.plan.steps.size(); ++group.step) {
    const CollectiveGroup::Step& step = group.plan.steps[group.step];
    for (group.repetition = 0; group.repetition < step.repeat; ++group.repetition) {
      time += step.overhead_seconds;
      kernel_.sleep_until(conductor, time, kCollectiveStep);
      kernel_.start_flows(step.flows, conductor.flows);
      kernel_.finish_flows(conductor, kCollectiveFlows);
      time = std::max(time, kernel_.now());
    }
  }
  return time;
}

}  // namespace podsim::engine
