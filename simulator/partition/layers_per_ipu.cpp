// layers_per_ipu, as IPUConfig has it: counts of layers, the embedding before the first layers, the head behind the
// last ones or, where its weights are tied to the embedding, back on the first IPU as a stage of its own (device
// mapping [0, 1, 2, 3, 0] of the published BERT pipelines).
#include <algorithm>
#include <numeric>

#include "simulator/core/error.hpp"
#include "simulator/partition/assignment.hpp"

namespace podsim {

namespace {

std::string text_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
  return text + "]";
}

// Blocks of each IPU but for a tied head: embeddings first, then the IPU's layers, then what follows the layers.
std::vector<StageSlot> body_slots(const WorkloadGraph& graph, const std::vector<std::int64_t>& layers_per_ipu) {
  const std::vector<int> numbers = layer_numbers(graph);
  std::vector<StageSlot> slots;
  for (std::size_t ipu = 0; ipu < layers_per_ipu.size(); ++ipu) slots.push_back({{}, static_cast<int>(ipu)});
  std::vector<std::int64_t> last_layer(layers_per_ipu.size());  // one behind the last layer of each IPU
  std::partial_sum(layers_per_ipu.begin(), layers_per_ipu.end(), last_layer.begin());
  std::size_t ipu = 0;
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    const Block& block = graph.blocks[index];
    if (block.role == BlockRole::Head) {
      if (graph.head_with_embedding) continue;
      ipu = layers_per_ipu.size() - 1;
    } else if (block.role == BlockRole::Layer) {
      while (numbers[index] >= last_layer[ipu]) ++ipu;
    }
    slots[ipu].blocks.push_back(static_cast<int>(index));
  }
  return slots;
}

}  // namespace

std::vector<std::int64_t> resolve_layers(const std::vector<std::int64_t>& layers_per_ipu, std::int64_t layers,
                                         const PartitionRequest& request) {
  std::vector<std::int64_t> resolved = layers_per_ipu;
  if (resolved == std::vector<std::int64_t>{-1} && request.ipus_per_replica > 1) {
    resolved.assign(static_cast<std::size_t>(request.ipus_per_replica), -1);
  }
  std::int64_t given = 0, wildcards = 0;
  for (const std::int64_t count : resolved) {
    if (count < -1) {
      throw UserError(request.where,
                      "layers_per_ipu " + text_of(layers_per_ipu) + " has the entry " + std::to_string(count),
                      "give counts of layers, or -1 for a share of the rest");
    }
    if (count == -1)
      ++wildcards;
    else
      given += count;
  }
  const bool fits = wildcards > 0 ? given <= layers : given == layers;
  if (!fits) {
    throw UserError(request.where,
                    "layers_per_ipu " + text_of(layers_per_ipu) + " has " + std::to_string(given) +
                        " layers, but the model has " + std::to_string(layers),
                    "make the entries add up to " + std::to_string(layers) + ", or use -1 for the rest");
  }
  std::int64_t remaining = layers - given;
  for (std::int64_t& count : resolved) {
    if (count != -1) continue;
    count = remaining / wildcards;
    remaining -= count;
    --wildcards;
  }
  return resolved;
}

Assignment assign_by_layers(const WorkloadGraph& graph, const PartitionRequest& request) {
  const std::vector<int> numbers = layer_numbers(graph);
  const std::int64_t layers = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()) + 1;
  Assignment assignment = body_slots(graph, resolve_layers(request.layers_per_ipu, layers, request));
  for (const StageSlot& slot : assignment) {
    if (!slot.blocks.empty()) continue;
    throw UserError(request.where,
                    "layers_per_ipu " + text_of(request.layers_per_ipu) + " leaves IPU " + std::to_string(slot.ipu) +
                        " without work",
                    "drop its entry; 0 is for an IPU that holds the embedding or the head alone");
  }
  if (!graph.head_with_embedding) return assignment;
  StageSlot head;
  for (std::size_t index = 0; index < graph.blocks.size(); ++index) {
    if (graph.blocks[index].role == BlockRole::Head) head.blocks.push_back(static_cast<int>(index));
  }
  if (assignment.size() == 1) {
    StageSlot& only = assignment.front();
    only.blocks.insert(only.blocks.end(), head.blocks.begin(), head.blocks.end());
  } else if (!head.blocks.empty()) {
    assignment.push_back(std::move(head));
  }
  return assignment;
}

}  // namespace podsim
