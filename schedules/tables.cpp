// Fills the tables of a program.
#include "schedules/tables.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// The model's stages with only those weights that have at least (or, `smaller`, fewer than) so many elements.
StagedModel with_weights(const StagedModel& model, std::int64_t elements, bool smaller) {
  StagedModel result;
  result.profiled = model.profiled;
  result.optimizer = model.optimizer;
  for (const Stage& stage : model.stages) {
    result.stages.emplace_back();
    for (const Weight& weight : stage.weights) {
      if ((weight.elements < elements) == smaller) result.stages.back().weights.push_back(weight);
    }
  }
  return result;
}

constexpr std::array<const char*, 4> kVariableNames = {"activations", "weights", "accumulators", "optimizer_state"};

}  // namespace

Tables::Tables(const StagedModel& model, const Execution& execution, const Scheme& scheme, Program& program)
    : model_(model), execution_(execution), scheme_(scheme), program_(program) {
  check_locations();
  read_sharding();
  add_transfers();
  add_streams();
  add_buffers();
  add_collectives();
  add_collectives_within_stages();
}

int Tables::buffer(Variable variable, int stage) const {
  const auto found = buffers_.find({variable, stage});
  return found == buffers_.end() ? -1 : found->second;
}

int Tables::weight_gather(int stage) const { return weight_gathers_[static_cast<std::size_t>(stage)]; }

int Tables::accumulator_scatter(int stage) const { return accumulator_scatters_[static_cast<std::size_t>(stage)]; }

const std::vector<int>& Tables::within_stage(int stage, Pass pass) const {
  static const std::vector<int> none;
  const auto found = within_stages_.find({stage, pass});
  return found == within_stages_.end() ? none : found->second;
}

void Tables::check_locations() const {
  if (execution_.activations.sharded) {
    throw UserError(scheme_.where, "activations cannot be sharded: they differ from replica to replica",
                    "shard weights, accumulators or optimizer_state");
  }
  if (execution_.mode == Mode::Training) return;
  const std::array<const VariableLocation*, 4> locations = {&execution_.activations, &execution_.weights,
                                                            &execution_.accumulators, &execution_.optimizer_state};
  for (std::size_t i = 0; i < locations.size(); ++i) {
    const bool of_weights = static_cast<Variable>(i) == Variable::Weights;
    if (!of_weights && (locations[i]->off_chip || locations[i]->sharded)) {
      throw UserError(scheme_.where,
                      std::string("inference keeps no ") + kVariableNames[i] + ", so they have no location",
                      "leave the location out, or train");
    }
  }
}

void Tables::read_sharding() {
  const std::array<const VariableLocation*, 3> locations = {&execution_.weights, &execution_.accumulators,
                                                            &execution_.optimizer_state};
  sharding_.weights = execution_.weights.sharded;
  sharding_.accumulators = execution_.accumulators.sharded;
  sharding_.optimizer_state = execution_.optimizer_state.sharded;
  const VariableLocation* first = nullptr;
  for (const VariableLocation* location : locations) {
    if (!location->sharded) continue;
    if (first == nullptr) first = location;
    if (location->sharding_domain != first->sharding_domain || location->minimum_elements != first->minimum_elements) {
      throw UserError(scheme_.where,
                      "sharded tensors have different sharding domains (" + std::to_string(first->sharding_domain) +
                          " and " + std::to_string(location->sharding_domain) + " replicas) or minimum elements (" +
                          std::to_string(first->minimum_elements) + " and " +
                          std::to_string(location->minimum_elements) + ")",
                      "give weights, accumulators and optimizer_state the same ones");
    }
  }
  if (first == nullptr) return;
  const int replicas = execution_.replicas;
  sharding_.domain = first->sharding_domain == 0 ? replicas : first->sharding_domain;
  sharding_.minimum_elements = first->minimum_elements;
  if (sharding_.domain < 1 || replicas % sharding_.domain != 0) {
    throw UserError(scheme_.where,
                    "sharding domain of " + std::to_string(sharding_.domain) + " replicas does not divide " +
                        std::to_string(replicas) + " replicas",
                    "choose a divisor of the number of replicas, or 0 for all");
  }
  sharding_.groups = replicas / sharding_.domain;
}

void Tables::add_transfers() {
  const bool training = execution_.mode == Mode::Training;
  for (const bool gradient : {false, true}) {
    if (gradient && !training) continue;
    for (const StageEdge& edge : model_.edges) {
      const int low = scheme_.ipu_of_stage[static_cast<std::size_t>(edge.from_stage)];
      const int high = scheme_.ipu_of_stage[static_cast<std::size_t>(edge.to_stage)];
      const double bytes = gradient ? edge.gradient_bytes : edge.activation_bytes;
      if (low == high || bytes <= 0) continue;
      if (gradient) {
        program_.transfers.push_back({high, low, edge.to_stage, edge.from_stage, true, bytes});
      } else {
        program_.transfers.push_back({low, high, edge.from_stage, edge.to_stage, false, bytes});
      }
    }
  }
}

void Tables::add_streams() {
  for (const bool input : {true, false}) {
    for (const Stage& stage : model_.stages) {
      for (const HostTensor& tensor : input ? stage.host_inputs : stage.host_results) {
        if (tensor.bytes <= 0 && !input) continue;  // an input without bytes still has to be prepared
        program_.streams.push_back({scheme_.ipu_of_stage[static_cast<std::size_t>(stage.index)], stage.index, input,
                                    tensor.label, tensor.bytes, tensor.name});
        streams_everywhere_.push_back(input || tensor.divided);
      }
    }
  }
}

void Tables::add_buffer(Variable variable, int stage, double bytes, double sharded_bytes) {
  const double held = bytes - sharded_bytes + sharded_bytes / sharding_.domain;
  if (held <= 0) return;
  buffers_[{variable, stage}] = static_cast<int>(program_.buffers.size());
  program_.buffers.push_back(
      {scheme_.ipu_of_stage[static_cast<std::size_t>(stage)], held,
       std::string(kVariableNames[static_cast<std::size_t>(variable)]) + "/" + std::to_string(stage), stage, variable});
}

// A stage's stash counts as one tensor of fp16 elements against `minimum_elements`.
void Tables::add_buffers() {
  const StagedModel sharded = with_weights(model_, sharding_.minimum_elements, false);
  const auto off_chip = [&](const VariableLocation& location, Variable variable, auto bytes_of_stage) {
    if (!location.off_chip) return;
    const StagedModel moved = with_weights(model_, location.minimum_elements, false);
    for (int stage = 0; stage < program_.stages; ++stage) {
      const double bytes = bytes_of_stage(moved, stage);
      const double divided = location.sharded ? std::min(bytes, bytes_of_stage(sharded, stage)) : 0;
      add_buffer(variable, stage, bytes, divided);
    }
  };
  if (execution_.activations.off_chip) {
    for (const Stage& stage : model_.stages) {
      const double elements = stage.stash_bytes / static_cast<double>(bytes_of(ElementType::Float16));
      if (elements < static_cast<double>(execution_.activations.minimum_elements)) continue;
      add_buffer(Variable::Activations, stage.index, stage.stash_bytes, 0);
    }
  }
  off_chip(execution_.weights, Variable::Weights,
           [](const StagedModel& model, int stage) { return model.weight_bytes(stage); });
  off_chip(execution_.accumulators, Variable::Accumulators,
           [](const StagedModel& model, int stage) { return model.gradient_bytes(stage); });
  off_chip(execution_.optimizer_state, Variable::OptimizerState,
           [](const StagedModel& model, int stage) { return model.optimizer_state_bytes(stage); });
}

int Tables::add_collective(CollectiveKind kind, int stage, double bytes, const char* name, int group_size,
                           bool orthogonal) {
  if (bytes <= 0 || execution_.replicas == 1 || (group_size == 1 && !orthogonal)) return -1;
  CollectiveOperation operation;
  operation.kind = kind;
  operation.ipu = scheme_.ipu_of_stage[static_cast<std::size_t>(stage)];
  operation.group_size = group_size == execution_.replicas ? 0 : group_size;
  operation.orthogonal = orthogonal;
  operation.bytes = bytes;
  operation.name = std::string(name) + "/" + std::to_string(stage);
  program_.collectives.push_back(operation);
  return static_cast<int>(program_.collectives.size()) - 1;
}

// Replicated tensor sharding: reduce-scatter inside a group of replicas, all-reduce of the shards between equal
// positions of the groups, all-gather of the updated weights inside the group (PopART tensor locations).
void Tables::add_collectives() {
  const auto stages = static_cast<std::size_t>(program_.stages);
  weight_gathers_.assign(stages, -1);
  accumulator_scatters_.assign(stages, -1);
  reductions_.resize(stages);
  const bool training = execution_.mode == Mode::Training;
  const std::int64_t minimum = sharding_.any() ? sharding_.minimum_elements : std::numeric_limits<std::int64_t>::max();
  const StagedModel divided = with_weights(model_, minimum, false);
  const StagedModel whole = with_weights(model_, minimum, true);
  const int domain = sharding_.domain;
  for (int stage = 0; stage < program_.stages; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    const double weights = divided.weight_bytes(stage), gradients = divided.gradient_bytes(stage);
    if (sharding_.weights) {
      weight_gathers_[index] = add_collective(CollectiveKind::AllGather, stage, weights, "weights", domain, false);
    }
    if (!training) continue;
    const auto add = [](std::vector<int>& list, int collective) {
      if (collective >= 0) list.push_back(collective);
    };
    std::vector<int>& before = reductions_[index].before_update;
    add(before, add_collective(CollectiveKind::AllReduce, stage, whole.gradient_bytes(stage), "gradients",
                               execution_.replicas, false));
    const int scatter =
        add_collective(CollectiveKind::ReduceScatter, stage, gradients, "gradient_shards", domain, false);
    if (sharding_.accumulators) {
      accumulator_scatters_[index] = scatter;
    } else {
      add(before, scatter);
    }
    if (sharding_.groups > 1) {
      add(before,
          add_collective(CollectiveKind::AllReduce, stage, gradients / domain, "gradient_groups", domain, true));
    }
    if (!sharding_.weights) {
      add(reductions_[index].after_update,
          add_collective(CollectiveKind::AllGather, stage, weights, "updated_weights", domain, false));
    }
  }
}

void Tables::add_collectives_within_stages() {
  for (const Stage& stage : model_.stages) {
    const auto add = [&](Pass pass, const std::vector<StageCollective>& collectives) {
      for (const StageCollective& each : collectives) {
        within_stages_[{stage.index, pass}].push_back(add_within_stage(stage.index, each, std::string(name_of(pass))));
      }
    };
    add(Pass::Forward, stage.forward_collectives);
    if (execution_.mode == Mode::Inference) continue;
    if (execution_.recompute) {
      add(Pass::Recompute, stage.recompute_collectives);
      add(Pass::RecomputePartial, stage.partial_recompute_collectives);
    }
    add(Pass::Backward, stage.backward_collectives);
    within_stages_[{stage.index, Pass::BackwardInput}] = within_stages_[{stage.index, Pass::Backward}];
    add_partial_gradients(stage.index);
  }
}

int Tables::add_within_stage(int stage, const StageCollective& collective, const std::string& name) {
  CollectiveOperation operation;
  operation.kind = collective.kind;
  operation.ipus = {scheme_.ipu_of_stage[static_cast<std::size_t>(stage)]};
  operation.bytes = collective.bytes;
  operation.count = collective.count;
  operation.name = name + "/" + std::to_string(stage);
  program_.collectives.push_back(std::move(operation));
  return static_cast<int>(program_.collectives.size()) - 1;
}

// Gradients that are parts on each IPU of the stage are added up once, before those of the replicas; of sharded
// accumulators, each replica has its part.
void Tables::add_partial_gradients(int stage) {
  double bytes = model_.partial_gradient_bytes(stage);
  if (bytes <= 0) return;
  if (sharding_.accumulators) {
    const double divided = with_weights(model_, sharding_.minimum_elements, false).partial_gradient_bytes(stage);
    bytes -= divided - divided / sharding_.domain;
  }
  std::vector<int>& before = reductions_[static_cast<std::size_t>(stage)].before_update;
  before.insert(before.begin(), add_within_stage(stage, {CollectiveKind::AllReduce, bytes, 1}, "partial_gradients"));
}

}  // namespace podsim
