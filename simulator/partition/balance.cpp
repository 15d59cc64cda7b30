// The automatic split: contiguous blocks over a wanted number of IPUs, the costliest IPU as cheap as possible.
#include <algorithm>
#include <limits>

#include "simulator/core/error.hpp"
#include "simulator/partition/assignment.hpp"

namespace podsim {

namespace {

// Without a cost function: given times of profiled operators, else floating-point operations and elements moved.
double default_cost(const Operator& op) {
  if (const auto* times = std::get_if<ProfiledTimes>(&op.shape)) {
    return times->forward_seconds + times->backward_seconds + times->recompute_seconds;
  }
  return op.forward_amp_flops() + static_cast<double>(op.output_elements());
}

std::vector<double> block_costs(const WorkloadGraph& graph, const PartitionRequest& request) {
  std::vector<double> costs(graph.blocks.size(), 0);
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph.graph))) {
    const Operator& op = graph.graph[vertex];
    if (op.kind == OperatorKind::Input) continue;
    costs[static_cast<std::size_t>(op.block)] += request.operator_cost ? request.operator_cost(op) : default_cost(op);
  }
  return costs;
}

struct Best {
  double maximum = std::numeric_limits<double>::infinity();
  double squares = std::numeric_limits<double>::infinity();  // ties: the more even split
  std::size_t begin = 0;                                     // of the last part

  [[nodiscard]] bool better_than(const Best& other) const {
    return maximum < other.maximum || (maximum == other.maximum && squares < other.squares);
  }
};

}  // namespace

std::vector<int> balance(const std::vector<double>& costs, int parts, double first_extra) {
  const std::size_t count = costs.size();
  const std::size_t wanted = static_cast<std::size_t>(parts);
  if (parts < 1 || wanted > count) throw InternalError("balance: more parts than entries");
  std::vector<double> sum(count + 1, 0);
  for (std::size_t index = 0; index < count; ++index) sum[index + 1] = sum[index] + costs[index];
  std::vector<std::vector<Best>> best(wanted + 1, std::vector<Best>(count + 1));
  best[0][0] = {0, 0, 0};
  for (std::size_t part = 1; part <= wanted; ++part) {
    for (std::size_t end = part; end <= count; ++end) {
      for (std::size_t begin = part - 1; begin < end; ++begin) {
        const Best& before = best[part - 1][begin];
        const double cost = sum[end] - sum[begin] + (part == 1 ? first_extra : 0);
        const Best candidate{std::max(before.maximum, cost), before.squares + cost * cost, begin};
        if (candidate.better_than(best[part][end])) best[part][end] = candidate;
      }
    }
  }
  std::vector<int> sizes(wanted);
  std::size_t end = count;
  for (std::size_t part = wanted; part >= 1; --part) {
    const std::size_t begin = best[part][end].begin;
    sizes[part - 1] = static_cast<int>(end - begin);
    end = begin;
  }
  return sizes;
}

Assignment assign_balanced(const WorkloadGraph& graph, const PartitionRequest& request) {
  const std::vector<double> costs = block_costs(graph, request);
  std::vector<int> body, head;
  std::vector<double> body_costs;
  double head_cost = 0;
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    const bool tied = graph.head_with_embedding && graph.blocks[index].role == BlockRole::Head;
    (tied ? head : body).push_back(static_cast<int>(index));
    if (tied)
      head_cost += costs[index];
    else
      body_costs.push_back(costs[index]);
  }
  if (request.pipeline_depth > static_cast<int>(body.size())) {
    throw UserError(request.where,
                    "pipeline_depth " + std::to_string(request.pipeline_depth) + " is more than the " +
                        std::to_string(body.size()) + " blocks that can be split",
                    "use a smaller depth, or a workload with more blocks");
  }
  Assignment assignment;
  std::size_t next = 0;
  for (const int size : balance(body_costs, request.pipeline_depth, head_cost)) {
    StageSlot slot{{}, static_cast<int>(assignment.size())};
    for (int taken = 0; taken < size; ++taken) slot.blocks.push_back(body[next++]);
    assignment.push_back(std::move(slot));
  }
  if (head.empty()) return assignment;
  if (assignment.size() == 1) {
    assignment.front().blocks.insert(assignment.front().blocks.end(), head.begin(), head.end());
  } else {
    assignment.push_back({std::move(head), 0});
  }
  return assignment;
}

}  // namespace podsim
