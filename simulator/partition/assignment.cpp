// Explicit stages, annotated blocks, and everything on one IPU.
#include "simulator/partition/assignment.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"

namespace podsim {

namespace {

std::vector<std::string> block_names(const WorkloadGraph& graph) {
  std::vector<std::string> names;
  for (const Block& block : graph.blocks) names.push_back(block.name);
  return names;
}

// The blocks that a name of a stage stands for: the block itself, or all blocks below a path ("encoder/3" has
// "encoder/3/attention" and "encoder/3/ffn").
std::vector<int> blocks_named(const WorkloadGraph& graph, const std::string& name, const std::string& where) {
  std::vector<int> found;
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    const std::string& block = graph.blocks[index].name;
    if (block == name || block.starts_with(name + "/")) found.push_back(static_cast<int>(index));
  }
  if (!found.empty()) return found;
  const std::vector<std::string> names = block_names(graph);
  const std::string nearest = nearest_name(name, names);
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw UserError(
      where, "unknown block \"" + name + "\"",
      nearest.empty() ? "the blocks are " + list : "did you mean \"" + nearest + "\"? The blocks are " + list);
}

// "first..last" stands for all blocks from the first one of `first` to the last one of `last`.
std::vector<int> blocks_in(const WorkloadGraph& graph, const std::string& text, const std::string& where) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) return blocks_named(graph, text, where);
  const int first = blocks_named(graph, text.substr(0, dots), where).front();
  const int last = blocks_named(graph, text.substr(dots + 2), where).back();
  if (last < first) {
    throw UserError(where, "the range \"" + text + "\" runs backwards", "name the earlier block first");
  }
  std::vector<int> blocks;
  for (int block = first; block <= last; ++block) blocks.push_back(block);
  return blocks;
}

void require_all_blocks(const WorkloadGraph& graph, const std::vector<bool>& used, const std::string& where) {
  for (std::size_t index = 0; index < used.size(); ++index) {
    if (used[index]) continue;
    throw UserError(where, "block \"" + graph.blocks[index].name + "\" is in no stage",
                    "put every block into one of the stages");
  }
}

}  // namespace

Assignment assign_explicit(const WorkloadGraph& graph, const PartitionRequest& request) {
  Assignment assignment;
  std::vector<bool> used(graph.blocks.size(), false);
  int previous = -1;
  for (const StageAnnotation& stage : request.stages) {
    StageSlot slot;
    slot.ipu = stage.ipu;
    if (stage.ipu < 0) {
      throw UserError(stage.where, "a stage on IPU " + std::to_string(stage.ipu), "IPUs count from 0");
    }
    for (const std::string& text : stage.blocks) {
      for (const int block : blocks_in(graph, text, stage.where)) {
        const std::string& name = graph.blocks[static_cast<std::size_t>(block)].name;
        if (used[static_cast<std::size_t>(block)]) {
          throw UserError(stage.where, "block \"" + name + "\" is in a stage twice", "name each block once");
        }
        if (block < previous) {
          throw UserError(stage.where,
                          "block \"" + name + "\" comes after \"" +
                              graph.blocks[static_cast<std::size_t>(previous)].name + "\", but runs before it",
                          "list stages and blocks in order of execution");
        }
        used[static_cast<std::size_t>(block)] = true;
        previous = block;
        slot.blocks.push_back(block);
      }
    }
    if (slot.blocks.empty()) throw UserError(stage.where, "a stage without blocks", "name at least one block");
    assignment.push_back(std::move(slot));
  }
  require_all_blocks(graph, used, request.where);
  return assignment;
}

Assignment assign_annotated(const WorkloadGraph& graph, const PartitionRequest& request) {
  const bool one_stage_per_block = is_profiled(graph);
  Assignment assignment;
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    const Block& block = graph.blocks[index];
    if (block.ipu < 0) {
      throw UserError(request.where, "block \"" + block.name + "\" has no ipu, but others have one",
                      "give an ipu to every block, or to none");
    }
    if (one_stage_per_block || assignment.empty() || assignment.back().ipu != block.ipu) {
      assignment.push_back({{}, block.ipu});
    }
    assignment.back().blocks.push_back(static_cast<int>(index));
  }
  return assignment;
}

Assignment assign_one_stage(const WorkloadGraph& graph) {
  Assignment assignment(1);
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    assignment.front().blocks.push_back(static_cast<int>(index));
  }
  return assignment;
}

Assignment assign_stage_per_block(const WorkloadGraph& graph) {
  Assignment assignment;
  for (int block = 0; block < static_cast<int>(graph.blocks.size()); ++block) assignment.push_back({{block}, block});
  return assignment;
}

std::vector<int> layer_numbers(const WorkloadGraph& graph) {
  std::vector<int> numbers;
  int count = 0;
  const Block* previous = nullptr;
  for (const Block& block : graph.blocks) {
    if (block.role != BlockRole::Layer) {
      numbers.push_back(-1);
      previous = nullptr;
      continue;
    }
    const bool continues = previous != nullptr && block.layer >= 0 && previous->layer == block.layer;
    numbers.push_back(continues ? count - 1 : count++);
    previous = &block;
  }
  return numbers;
}

bool is_profiled(const WorkloadGraph& graph) {
  const Operator* profiled = nullptr;
  const Operator* other = nullptr;
  for (const auto vertex : boost::make_iterator_range(boost::vertices(graph.graph))) {
    const Operator& op = graph.graph[vertex];
    if (op.kind == OperatorKind::Profiled)
      profiled = &op;
    else if (op.kind != OperatorKind::Input)
      other = &op;
  }
  if (profiled != nullptr && other != nullptr) {
    throw UserError("workload " + graph.model,
                    "operator \"" + profiled->name + "\" has given times, but \"" + other->name + "\" has not",
                    "give times to all operators, or to none");
  }
  return profiled != nullptr;
}

}  // namespace podsim
