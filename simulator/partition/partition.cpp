// From an assignment of blocks to the staged model: operators, host data, weights, and the bytes between stages.
#include "simulator/partition/partition.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "simulator/core/error.hpp"
#include "simulator/partition/assignment.hpp"
#include "workloads/domain_sharding.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

Assignment assign(const WorkloadGraph& graph, const PartitionRequest& request) {
  if (!request.stages.empty()) return assign_explicit(graph, request);
  const bool annotated =
      std::any_of(graph.blocks.begin(), graph.blocks.end(), [](const Block& block) { return block.ipu >= 0; });
  if (annotated && (!request.layers_per_ipu.empty() || request.pipeline_depth > 0)) {
    throw UserError(request.where,
                    std::string("the blocks have IPUs of their own (\"ipu\"), but ") +
                        (request.layers_per_ipu.empty() ? "pipeline_depth" : "layers_per_ipu") + " is given as well",
                    "remove one of them");
  }
  if (!request.layers_per_ipu.empty()) return assign_by_layers(graph, request);
  if (request.pipeline_depth > 0) return assign_balanced(graph, request);
  if (annotated) return assign_annotated(graph, request);
  return is_profiled(graph) ? assign_stage_per_block(graph) : assign_one_stage(graph);
}

// IPUs of a replica. Real systems hand out IPUs in powers of two (PopTorch); stages with given times need none.
int count_ipus(const Assignment& assignment, const PartitionRequest& request, bool profiled, int ipus_per_stage) {
  int used = 0;
  for (const StageSlot& slot : assignment) used = std::max(used, slot.ipu + 1);
  const int given = request.ipus_per_replica;
  if (given > 0 && used > given) {
    throw UserError(
        request.where,
        "the split uses " + std::to_string(used) + " IPUs, but ipus_per_replica is " + std::to_string(given),
        "raise ipus_per_replica, or put the model on fewer IPUs");
  }
  if (!std::has_single_bit(static_cast<unsigned>(ipus_per_stage))) {
    throw UserError(request.where,
                    std::to_string(ipus_per_stage) +
                        " IPUs cannot share a stage: the number must be a power of 2, as that of a replica's IPUs",
                    "set tensor_parallel or domain_sharding to " +
                        std::to_string(std::bit_floor(static_cast<unsigned>(ipus_per_stage))));
  }
  const int wanted = (given > 0 ? given : used) * ipus_per_stage;
  if (profiled || std::has_single_bit(static_cast<unsigned>(wanted))) return wanted;
  const int rounded = static_cast<int>(std::bit_ceil(static_cast<unsigned>(wanted)));
  if (request.round_to_power_of_two) return rounded;
  throw UserError(request.where,
                  "a replica of " + std::to_string(wanted) + " IPUs is not possible: the number must be a power of 2" +
                      (ipus_per_stage > 1 ? ", and " + std::to_string(ipus_per_stage) + " IPUs share each stage" : ""),
                  "split over " + std::to_string(rounded / 2) + " or " + std::to_string(rounded) +
                      " IPUs, or set auto_round_num_ipus to reserve " + std::to_string(rounded) +
                      " and leave the rest idle");
}

// Builds the staged model; holds what its steps share.
class Staging {
 public:
  Staging(const WorkloadGraph& graph, const PartitionRequest& request, const Assignment& assignment)
      : graph_(graph), request_(request), stage_of_block_(graph.blocks.size(), -1) {
    model_.profiled = is_profiled(graph);
    group_layers();
    for (const StageSlot& slot : assignment) add_stage(slot);
  }

  StagedModel build() {
    for (const Vertex vertex : graph_.topological_order()) place(vertex);
    check_tied_weights();
    for (const Vertex vertex : boost::make_iterator_range(boost::vertices(graph_.graph))) add_traffic(vertex);
    check_preprocessing();
    return std::move(model_);
  }

 private:
  // Blocks of one layer count as one from here on, so that a checkpoint at every layer is not one at every half layer.
  void group_layers() {
    const std::vector<int> numbers = layer_numbers(graph_);
    for (std::size_t index = 0; index < numbers.size(); ++index) {
      const bool continues = index > 0 && numbers[index] >= 0 && numbers[index] == numbers[index - 1];
      first_block_of_layer_.push_back(continues ? first_block_of_layer_.back() : static_cast<int>(index));
    }
  }

  void add_stage(const StageSlot& slot) {
    Stage stage;
    stage.index = static_cast<int>(model_.stages.size());
    stage.ipu = slot.ipu * graph_.ipus_per_stage;
    for (const int block : slot.blocks) {
      stage.blocks.push_back(graph_.blocks[static_cast<std::size_t>(block)].name);
      stage_of_block_[static_cast<std::size_t>(block)] = stage.index;
    }
    if (stage.index > 0) model_.edges.push_back({stage.index - 1, stage.index, 0, 0});
    model_.stages.push_back(std::move(stage));
  }

  [[nodiscard]] Stage& stage(int index) { return model_.stages[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int stage_of(Vertex vertex) const {
    return stage_of_block_[static_cast<std::size_t>(graph_.graph[vertex].block)];
  }

  // Where a vertex' data comes into being: host data arrives at the first stage that reads it.
  [[nodiscard]] int home_of(Vertex vertex) const {
    if (graph_.graph[vertex].kind != OperatorKind::Input) return stage_of(vertex);
    int home = static_cast<int>(model_.stages.size());
    for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, graph_.graph))) {
      home = std::min(home, stage_of(boost::target(edge, graph_.graph)));
    }
    return home;
  }

  void place(Vertex vertex) {
    const Operator& op = graph_.graph[vertex];
    if (op.kind == OperatorKind::Input) {
      place_input(op, stage(home_of(vertex)));
      return;
    }
    Stage& home = stage(stage_of(vertex));
    home.operators.push_back(op);
    home.operators.back().block = first_block_of_layer_[static_cast<std::size_t>(op.block)];
    if (op.result) {
      for (const Tensor& tensor : op.outputs) {
        home.host_results.push_back(
            {tensor.name, tensor.elements(), static_cast<double>(tensor.bytes()), false, op.divided});
      }
    }
    for (const Weight& weight : op.weights) {
      owner_stage_[weight.name] = home.index;
      if (weight.tied_to.empty()) home.weights.push_back(weight);
    }
  }

  // Floating-point samples are transferred in the host's type; indices and labels keep theirs.
  void place_input(const Operator& op, Stage& home) {
    for (const Tensor& tensor : op.outputs) {
      const bool floating = tensor.type != ElementType::Int32 && op.input_role == InputRole::Sample && !model_.profiled;
      const double width = floating && request_.input_bytes_per_element > 0
                               ? request_.input_bytes_per_element
                               : static_cast<double>(bytes_of(tensor.type));
      const double bytes = static_cast<double>(tensor.elements()) * width;
      const bool label = op.input_role == InputRole::Label;
      home.host_inputs.push_back({tensor.name, tensor.elements(), bytes, label, false, floating});
      if (request_.training) home.stash_bytes += bytes;
      if (floating && request_.preprocess_operations > 0) add_preprocessing(op, tensor, width, home);
    }
  }

  // Samples arrive as they are stored; the stage that reads them converts and normalises them.
  void add_preprocessing(const Operator& input, const Tensor& tensor, double width, Stage& home) {
    Operator op;
    op.name = tensor.name + "/preprocess";
    op.kind = OperatorKind::Elementwise;
    op.inputs = {tensor};
    op.inputs.front().type = width <= 1 ? ElementType::Int8 : width <= 2 ? ElementType::Float16 : ElementType::Float32;
    op.outputs = {tensor};
    op.block = first_block_of_layer_[static_cast<std::size_t>(input.block)];
    op.operations_per_element = request_.preprocess_operations;
    op.differentiable = false;
    home.operators.push_back(std::move(op));
  }

  void check_preprocessing() const {
    if (!(request_.preprocess_operations > 0)) return;
    for (const Stage& each : model_.stages) {
      for (const Operator& op : each.operators) {
        if (op.name.ends_with("/preprocess")) return;
      }
    }
    throw UserError(request_.where, "the model reads no floating-point samples that an IPU could prepare",
                    "set preprocess_on to host");
  }

  // A tied weight is stored once, so its uses must share an IPU.
  void check_tied_weights() const {
    for (const Stage& user : model_.stages) {
      for (const Operator& op : user.operators) {
        for (const Weight& weight : op.weights) {
          if (weight.tied_to.empty()) continue;
          const Stage& owner = model_.stages[static_cast<std::size_t>(owner_stage_.at(weight.tied_to))];
          if (owner.ipu == user.ipu) continue;
          throw UserError(request_.where,
                          "weight \"" + weight.name + "\" is tied to \"" + weight.tied_to +
                              "\", but they are on IPUs " + std::to_string(user.ipu) + " and " +
                              std::to_string(owner.ipu),
                          "put the stage of block \"" + graph_.blocks[static_cast<std::size_t>(op.block)].name +
                              "\" on IPU " + std::to_string(owner.ipu));
        }
      }
    }
  }

  // A tensor crosses every boundary between its home and its last reader; its gradient comes back the same way.
  void add_traffic(Vertex vertex) {
    const Operator& op = graph_.graph[vertex];
    const int home = home_of(vertex);
    for (int output = 0; output < static_cast<int>(op.outputs.size()); ++output) {
      const double bytes = static_cast<double>(op.outputs[static_cast<std::size_t>(output)].bytes());
      std::vector<int> readers;
      for (const auto edge : boost::make_iterator_range(boost::out_edges(vertex, graph_.graph))) {
        if (graph_.graph[edge].output == output) readers.push_back(stage_of(boost::target(edge, graph_.graph)));
      }
      std::sort(readers.begin(), readers.end());
      readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
      for (const int reader : readers) {
        if (reader > home && request_.training) stage(reader).stash_bytes += bytes;
      }
      for (int next = home + 1; !readers.empty() && next <= readers.back(); ++next) {
        StageEdge& edge = model_.edges[static_cast<std::size_t>(next - 1)];
        edge.activation_bytes += bytes;
        if (request_.training && op.differentiable && op.kind != OperatorKind::Input) edge.gradient_bytes += bytes;
        stage(next).activation_in_bytes += bytes;
      }
    }
  }

  const WorkloadGraph& graph_;
  const PartitionRequest& request_;
  std::vector<int> stage_of_block_;
  std::vector<int> first_block_of_layer_;
  std::map<std::string, int> owner_stage_;  // of each weight
  StagedModel model_;
};

void add_collectives(const std::vector<StageCollective>& added, std::vector<StageCollective>& all) {
  for (const StageCollective& each : added) {
    const auto equal = std::find_if(all.begin(), all.end(), [&](const StageCollective& other) {
      return other.kind == each.kind && other.bytes == each.bytes;
    });
    if (equal == all.end()) {
      all.push_back(each);
    } else {
      equal->count += each.count;
    }
  }
}

void add_collectives(Stage& stage, const PartitionRequest& request) {
  for (const Operator& op : stage.operators) {
    add_collectives(op.forward_collectives, stage.forward_collectives);
    if (request.training) add_collectives(op.backward_collectives, stage.backward_collectives);
  }
  if (!request.training) return;
  for (const bool partial : {false, true}) {
    for (const std::size_t i : recomputed_operators(stage.operators, request.recomputation, partial)) {
      add_collectives(stage.operators[i].forward_collectives,
                      partial ? stage.partial_recompute_collectives : stage.recompute_collectives);
    }
  }
}

StagedModel stages_of(const WorkloadGraph& graph, const PartitionRequest& request) {
  const Assignment assignment = assign(graph, request);
  StagedModel model = Staging(graph, request, assignment).build();
  const int ipus = count_ipus(assignment, request, model.profiled, graph.ipus_per_stage);
  for (Stage& stage : model.stages) add_collectives(stage, request);
  model.model = graph.model;
  model.ipus_per_replica = ipus;
  model.ipus_per_stage = graph.ipus_per_stage;
  model.samples_per_micro_batch = graph.samples_per_micro_batch;
  model.sample_name = graph.sample_name;
  model.optimizer = request.optimizer;
  return model;
}

}  // namespace

StagedModel partition(const WorkloadGraph& graph, const PartitionRequest& request) {
  graph.validate();
  if (graph.ipus_per_stage == 1) return stages_of(graph, request);
  return stages_of(graph.shares_domain ? domain_share(graph, request.training) : tensor_share(graph), request);
}

}  // namespace podsim
