// Members and plans of the groups, and the closed form.
#include "simulator/engine/collective_groups.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/engine/fluid.hpp"

namespace podsim::engine {
namespace {

constexpr double kSameSeconds = 1e-12;  // relative difference of sums in another order

// The sets of replicas whose copies of an IPU meet.
std::vector<std::vector<int>> replica_groups(const CollectiveOperation& operation, int replicas) {
  const int size = operation.group_size > 0 ? std::min(operation.group_size, replicas) : replicas;
  const int groups = (replicas + size - 1) / size;
  std::vector<std::vector<int>> members(static_cast<std::size_t>(operation.orthogonal ? size : groups));
  for (int replica = 0; replica < replicas; ++replica) {
    members[static_cast<std::size_t>(operation.orthogonal ? replica % size : replica / size)].push_back(replica);
  }
  return members;
}

std::vector<CollectiveGroup> groups_of(const Program& program, int index) {
  const CollectiveOperation& operation = program.collectives[static_cast<std::size_t>(index)];
  std::vector<CollectiveGroup> groups;
  if (!operation.ipus.empty()) {
    for (int replica = 0; replica < program.replicas; ++replica) {
      CollectiveGroup group{.collective = index, .between_replicas = false};
      for (const int ipu : operation.ipus) group.ranks.push_back(replica * program.ipus_per_replica + ipu);
      groups.push_back(std::move(group));
    }
    return groups;
  }
  for (const std::vector<int>& members : replica_groups(operation, program.replicas)) {
    CollectiveGroup group{.collective = index};
    for (const int replica : members) group.ranks.push_back(replica * program.ipus_per_replica + operation.ipu);
    groups.push_back(std::move(group));
  }
  return groups;
}

void plan(const Topology& topology, const Program& program, CollectiveGroup& group) {
  const CollectiveOperation& operation = program.collectives[static_cast<std::size_t>(group.collective)];
  if (group.ranks.size() < 2 || !(operation.bytes > 0)) return;
  CollectiveRequest request;
  request.kind = operation.kind;
  request.ranks = group.ranks;
  request.bytes = operation.bytes;
  // Neighbours inside a replica have their links to themselves, as replicas of one IPU have.
  request.ipus_per_replica = operation.ipus.empty() ? program.ipus_per_replica : 1;
  request.algorithm = operation.algorithm;
  for (const CollectiveSteps& planned : plan_collective(topology, request).steps) {
    CollectiveGroup::Step& step = group.steps.emplace_back();
    step.repeat = planned.repeat * operation.count;
    step.overhead_seconds = topology.parameters().get("collective_step_fixed_seconds") + planned.added_seconds;
    for (const Flow& flow : planned.flows) {
      if (!(flow.bytes > 0)) continue;
      step.flows.push_back(
          {&topology.route(topology.ipu_vertex(flow.from_ipu), topology.ipu_vertex(flow.to_ipu)), flow.bytes});
    }
  }
}

bool same_shape(const CollectiveGroup& left, const CollectiveGroup& right) {
  return std::equal(left.steps.begin(), left.steps.end(), right.steps.begin(), right.steps.end(),
                    [](const auto& one, const auto& other) {
                      return one.repeat == other.repeat && one.overhead_seconds == other.overhead_seconds;
                    });
}

// Seconds of one step of all groups side by side, or a negative number where one ends before another.
double step_seconds(const Topology& topology, std::span<const CollectiveGroup* const> groups, std::size_t step) {
  std::vector<FlowRequest> flows;
  for (const CollectiveGroup* group : groups) {
    flows.insert(flows.end(), group->steps[step].flows.begin(), group->steps[step].flows.end());
  }
  const std::vector<double> ends = flow_end_seconds(topology, flows);
  const double last = ends.empty() ? 0.0 : *std::max_element(ends.begin(), ends.end());
  auto first = ends.begin();
  for (const CollectiveGroup* group : groups) {
    const auto behind = first + static_cast<std::ptrdiff_t>(group->steps[step].flows.size());
    const double end = first == behind ? 0.0 : *std::max_element(first, behind);
    if (last - end > kSameSeconds * last) return -1;
    first = behind;
  }
  return last;
}

}  // namespace

std::vector<CollectiveGroup> collective_groups(const Topology& topology, const Program& program) {
  std::vector<CollectiveGroup> all;
  for (int index = 0; index < static_cast<int>(program.collectives.size()); ++index) {
    for (CollectiveGroup& group : groups_of(program, index)) {
      plan(topology, program, group);
      all.push_back(std::move(group));
    }
  }
  return all;
}

std::vector<double> lockstep_seconds(const Topology& topology, std::span<const CollectiveGroup* const> groups) {
  for (const CollectiveGroup* group : groups) {
    if (!same_shape(*group, *groups.front())) return {};
  }
  double seconds = 0;
  for (std::size_t step = 0; step < groups.front()->steps.size(); ++step) {
    const double transfer = step_seconds(topology, groups, step);
    if (transfer < 0) return {};
    const CollectiveGroup::Step& first = groups.front()->steps[step];
    seconds += static_cast<double>(first.repeat) * (first.overhead_seconds + transfer);
  }
  return std::vector<double>(groups.size(), seconds);
}

}  // namespace podsim::engine
