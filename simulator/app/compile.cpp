// The stages of the flow in order; each is a pure function of the one before.
#include "simulator/app/compile.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "simulator/app/host_plan.hpp"
#include "simulator/app/io_tiles.hpp"
#include "simulator/app/option_uses.hpp"
#include "simulator/app/startup.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/program/analysis.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

namespace {

// One Lowering for each memory proportion, shared by the IPUs that have it.
std::vector<std::shared_ptr<Lowering>> find_lowerings(const Scenario& scenario, const Chip& chip,
                                                      const StagedModel& model, CompileCache& cache) {
  const int ipus = model.ipus_per_replica / model.ipus_per_stage;
  const std::vector<double>& proportions = scenario.available_memory_proportion;
  if (proportions.size() != 1 && proportions.size() != static_cast<std::size_t>(ipus)) {
    throw UserError(scenario.ipu_config.where,
                    std::to_string(proportions.size()) + " values of matmul_proportion for " + std::to_string(ipus) +
                        (model.ipus_per_stage > 1 ? " groups of IPUs of a replica" : " IPUs of a replica"),
                    "give one number, or one for each of them");
  }
  std::map<double, std::shared_ptr<Lowering>> found;
  std::vector<std::shared_ptr<Lowering>> lowerings;
  for (int ipu = 0; ipu < ipus; ++ipu) {
    const double proportion = proportions[proportions.size() == 1 ? 0 : static_cast<std::size_t>(ipu)];
    auto& lowering = found[proportion];
    if (lowering == nullptr) {
      LoweringOptions options = scenario.lowering;
      options.available_memory_proportion = proportion;
      lowering = cache.lowering(chip, options);
    }
    lowerings.insert(lowerings.end(), static_cast<std::size_t>(model.ipus_per_stage), lowering);
  }
  return lowerings;
}

PartitionRequest partition_request(const Scenario& scenario, const Chip& chip, CompileCache& cache) {
  PartitionRequest request = scenario.partition;
  request.recomputation = scenario.recomputation;
  if (request.pipeline_depth == 0) return request;
  LoweringOptions options = scenario.lowering;
  options.available_memory_proportion = scenario.available_memory_proportion.front();
  const auto lowering = cache.lowering(chip, options);
  const bool training = request.training;
  request.operator_cost = [lowering, training](const Operator& op) {
    double cycles = 0;
    for (const WorkKind work : {WorkKind::Forward, WorkKind::BackwardInput, WorkKind::BackwardWeights}) {
      if (work != WorkKind::Forward && !training) continue;
      if (const auto lowered = lowering->lower(op, work)) cycles += lowered->cycles();
    }
    return cycles / lowering->chip().clock_hz;
  };
  return request;
}

StageWork stage_work(const Scenario& scenario, const StagedModel& model, const Stage& stage) {
  StageWork work;
  work.operators = &stage.operators;
  work.weights = &stage.weights;
  work.training = scenario.workload_request.training;
  work.first_stage = stage.index == 0;
  work.optimizer = &model.optimizer;
  work.optimizer_shards = shards_of(scenario.execution.optimizer_state, scenario.execution.replicas);
  work.shard_minimum_elements = scenario.execution.optimizer_state.minimum_elements;
  return work;
}

StageCode to_code(int stage, Pass pass, const PassCycles& cycles, double clock_hz) {
  return {stage,
          pass,
          cycles.total() / clock_hz,
          cycles.compute / clock_hz,
          cycles.sync / clock_hz,
          cycles.exchange / clock_hz,
          cycles.amp_flops};
}

PassCycles operator+(const PassCycles& left, const PassCycles& right) {
  return {left.compute + right.compute, left.sync + right.sync, left.exchange + right.exchange,
          left.amp_flops + right.amp_flops};
}

void lower_stages(Compilation& compilation, const Scenario& scenario, const Chip& chip, CompileCache& cache) {
  compilation.lowerings = find_lowerings(scenario, chip, compilation.model, cache);
  for (const Stage& stage : compilation.model.stages) {
    Lowering& lowering = *compilation.lowerings[static_cast<std::size_t>(stage.ipu)];
    compilation.lowered.push_back(lowering.lower(stage_work(scenario, compilation.model, stage)));
    const LoweredStage& lowered = compilation.lowered.back();
    const auto add = [&](Pass pass, const PassCycles& cycles) {
      compilation.program.codes.push_back(to_code(stage.index, pass, cycles, chip.clock_hz));
    };
    add(Pass::Forward, forward_cycles(lowered));
    if (!scenario.workload_request.training) continue;
    add(Pass::Recompute, recompute_cycles(lowered, stage.operators, scenario.recomputation, false));
    add(Pass::RecomputePartial, recompute_cycles(lowered, stage.operators, scenario.recomputation, true));
    add(Pass::Backward, backward_input_cycles(lowered) + backward_weights_cycles(lowered));
    add(Pass::BackwardInput, backward_input_cycles(lowered));
    add(Pass::BackwardWeights, backward_weights_cycles(lowered));
    add(Pass::WeightUpdate, weight_update_cycles(lowered));
  }
  compilation.program.peak_flops_per_ipu =
      chip.peak_flops(scenario.workload_request.precision, scenario.lowering.partials);
}

// stage_times: the user's seconds. A backward pass that a schedule splits has two equal halves (one matmul each for
// the gradients of inputs and of weights).
void profiled_codes(Compilation& compilation) {
  for (const Stage& stage : compilation.model.stages) {
    ProfiledTimes times;
    for (const Operator& op : stage.operators) {
      const auto* given = std::get_if<ProfiledTimes>(&op.shape);
      if (given == nullptr) throw InternalError("stage_times: operator " + op.name + " has no times");
      times.forward_seconds += given->forward_seconds;
      times.backward_seconds += given->backward_seconds;
      times.recompute_seconds += given->recompute_seconds;
      times.weight_update_seconds += given->weight_update_seconds;
    }
    const auto add = [&](Pass pass, double seconds) {
      compilation.program.codes.push_back({stage.index, pass, seconds, seconds, 0, 0, 0});
    };
    add(Pass::Forward, times.forward_seconds);
    add(Pass::Recompute, times.recompute_seconds);
    add(Pass::RecomputePartial, times.recompute_seconds);
    add(Pass::Backward, times.backward_seconds);
    add(Pass::BackwardInput, times.backward_seconds / 2);
    add(Pass::BackwardWeights, times.backward_seconds / 2);
    add(Pass::WeightUpdate, times.weight_update_seconds);
  }
}

MemoryRequest memory_request(const Scenario& scenario, const Compilation& compilation, int ipu) {
  const Execution& execution = scenario.execution;
  MemoryRequest request;
  bool partial = false;
  for (const Stage& stage : compilation.model.stages) {
    if (!compilation.model.on_ipu(stage, ipu)) continue;
    partial = partial || compilation.model.partial_gradient_bytes(stage.index) > 0;
    StageMemory memory;
    memory.operators = &stage.operators;
    memory.weights = &stage.weights;
    memory.lowered = &compilation.lowered[static_cast<std::size_t>(stage.index)];
    memory.stage_input_bytes = stage.stash_bytes;
    memory.live_micro_batches = compilation.live_micro_batches[static_cast<std::size_t>(stage.index)];
    const BuffersBeside& beside = compilation.buffers_beside[static_cast<std::size_t>(stage.index)];
    memory.beside_forward_bytes = beside.forward_bytes;
    memory.beside_backward_bytes = beside.backward_bytes;
    memory.beside_update_bytes = beside.update_bytes;
    for (const HostTensor& tensor : stage.host_inputs) memory.host_input_bytes += tensor.bytes;
    for (const HostTensor& tensor : stage.host_results) {
      if (ipu == stage.ipu || tensor.divided) memory.host_result_bytes += tensor.bytes;
    }
    // Equal collectives share their code.
    for (const auto* collectives : {&stage.forward_collectives, &stage.backward_collectives}) {
      for (const StageCollective& each : *collectives) memory.collective_bytes += each.bytes;
    }
    request.stages.push_back(memory);
  }
  request.training = scenario.workload_request.training;
  request.recomputation = scenario.recomputation;
  request.optimizer = compilation.model.optimizer;
  // One micro-batch of one replica: no gradient waits for others, unless it is a part of a sum over the IPUs of the
  // stage, or loss scaling looks at all of them first.
  request.accumulates_gradients =
      execution.micro_batches > 1 || execution.replicas > 1 || partial || scenario.lowering.auto_loss_scaling;
  request.updates_one_tensor_at_a_time = compilation.program.updates_one_tensor_at_a_time;
  request.optimizer_state_off_chip = execution.optimizer_state.off_chip;
  request.weights_off_chip = execution.weights.off_chip;
  request.accumulators_off_chip = execution.accumulators.off_chip;
  request.activations_off_chip = execution.activations.off_chip;
  request.optimizer_shards = shards_of(execution.optimizer_state, execution.replicas);
  request.weight_shards = shards_of(execution.weights, execution.replicas);
  request.accumulator_shards = shards_of(execution.accumulators, execution.replicas);
  request.replicas = execution.replicas;
  request.stash_bytes_per_element = scenario.fp8_checkpoints ? 1 : 0;
  return request;
}

// Devices are handed out in powers of two (PopTorch, PyTorch Lightning), all replicas together; stages with given times
// need none.
int devices_for(int ipus, const Scenario& scenario, const Compilation& compilation) {
  const auto rounded = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ipus)));
  if (compilation.model.profiled || rounded == ipus || scenario.partition.round_to_power_of_two) {
    return compilation.model.profiled ? ipus : rounded;
  }
  throw UserError(
      scenario.partition.where,
      std::to_string(scenario.execution.replicas) + " replicas of " +
          std::to_string(compilation.model.ipus_per_replica) + " IPUs are " + std::to_string(ipus) +
          " IPUs: the number must be a power of 2",
      "change the number of replicas, or set auto_round_num_ipus to reserve " + std::to_string(rounded) + " IPUs");
}

void require_ipus(const Scenario& scenario, const Compilation& compilation) {
  const int used = compilation.model.ipus_per_replica * scenario.execution.replicas;
  const int needed = devices_for(used, scenario, compilation);
  const int present = compilation.topology->ipu_count();
  if (needed > present) {
    throw UserError(scenario.pod.where,
                    std::to_string(scenario.execution.replicas) + " replicas of " +
                        std::to_string(compilation.model.ipus_per_replica) + " IPUs need " + std::to_string(needed) +
                        " IPUs; " + compilation.topology->name() + " has " + std::to_string(present),
                    "choose a larger pod, fewer replicas (at most " +
                        std::to_string(std::max(1, present / compilation.model.ipus_per_replica)) +
                        "), or a shorter pipeline");
  }
}

// A scheme may place the stages itself (phased): what follows goes by the program.
void place_as_emitted(StagedModel& model, const Program& program) {
  model.ipus_per_replica = program.ipus_per_replica;
  for (Stage& stage : model.stages) stage.ipu = program.ipu_of_stage[static_cast<std::size_t>(stage.index)];
}

constexpr double kMostIterations = 1e7;  // a mark for each one is kept: half a gigabyte

void require_few_calls(const Scenario& scenario, double calls) {
  const auto iterations = static_cast<double>(scenario.execution.device_iterations);
  if (calls * iterations <= kMostIterations) return;
  throw UserError(
      scenario.file,
      format_exact(calls) + " host calls of " + format_exact(iterations) + " device iterations are too many",
      "simulate at most 10^7 of them; the steady state is reached after a few");
}

// An incomplete last host call of an epoch is dropped, as PopTorch's DataLoader does by default (drop_last): the tests
// of its pipelining tutorial are 12 calls of 800 for 10,000 samples.
Execution execution_of(const Scenario& scenario, const StagedModel& model) {
  Execution execution = scenario.execution;
  if (scenario.dataset_samples == 0) {
    require_few_calls(scenario, static_cast<double>(execution.runs));
    return execution;
  }
  const std::int64_t call =
      execution.replicas * execution.micro_batches * execution.device_iterations * model.samples_per_micro_batch;
  if (call > scenario.dataset_samples) {
    throw UserError(scenario.file,
                    "a data set of " + std::to_string(scenario.dataset_samples) + " " + model.sample_name +
                        " does not fill one host call of " + std::to_string(call),
                    "fewer replicas, accumulation steps or device iterations, or a larger dataset_samples");
  }
  require_few_calls(scenario,
                    static_cast<double>(scenario.dataset_samples / call) * static_cast<double>(scenario.epochs));
  execution.runs = scenario.dataset_samples / call * scenario.epochs;
  return execution;
}

// The other executable, and what it takes to switch to it and back; a copy of this one where it is not given.
void add_second_graph(Compilation& compilation, const Scenario& scenario, const DataFolder& data, CompileCache& cache) {
  HostPlan& host = compilation.program.host;
  if (scenario.second_graph == nullptr) {
    if (host.switch_every > 0) host.switch_seconds = switch_seconds(scenario, compilation, scenario, compilation);
    return;
  }
  const Scenario& other = *scenario.second_graph;
  try {
    compilation.second_graph = std::make_shared<Compilation>(compile(other, data, cache));
  } catch (const UserError& error) {
    throw UserError(error.where(), "second graph: " + error.problem(), error.remedy());
  }
  if (host.switch_every == 0) host.switch_every = compilation.program.execution.runs / scenario.epochs;
  host.switch_seconds = switch_seconds(scenario, compilation, other, *compilation.second_graph);
  host.switch_back_seconds = switch_seconds(other, *compilation.second_graph, scenario, compilation);
}

}  // namespace

int shards_of(const VariableLocation& location, int replicas) {
  if (!location.sharded) return 1;
  return location.sharding_domain > 0 ? std::min(location.sharding_domain, replicas) : replicas;
}

Compilation compile(const Scenario& scenario, const DataFolder& data) {
  CompileCache cache;
  return compile(scenario, data, cache);
}

Compilation compile(const Scenario& scenario, const DataFolder& data, CompileCache& cache) {
  Compilation compilation = compile_times(scenario, data, cache);
  add_memory(compilation, scenario, data, cache);
  return compilation;
}

Compilation compile_times(const Scenario& scenario, const DataFolder& data, CompileCache& cache) {
  const std::shared_ptr<const System> system = cache.system(scenario, data);
  const Chip& chip = system->chip;
  const auto graph = scenario.workload->build(scenario.workload_request);
  StagedModel model = partition(*graph, partition_request(scenario, chip, cache));
  Program program = scenario.schedule->emit(model, execution_of(scenario, model), scenario.schedule_options);
  place_as_emitted(model, program);
  Compilation compilation{system->topology,  std::move(model), std::move(program), {}, {}, {}, {}, {}, {}, 0,
                          scenario.warnings, nullptr};
  compilation.live_micro_batches = live_micro_batches(compilation.program);  // checks the program, too
  require_ipus(scenario, compilation);
  check_option_uses(scenario, compilation.model);
  for (std::string& warning : unused_options(scenario, compilation.model)) {
    compilation.warnings.push_back(std::move(warning));
  }
  compilation.parameters = graph->parameter_count();
  compilation.buffers_beside = buffers_beside(compilation.program);
  compilation.program.host = host_plan(scenario, compilation, data);
  compilation.program.host.samples_per_micro_batch = static_cast<double>(compilation.model.samples_per_micro_batch);
  compilation.io_tiles_needed = io_tiles_needed(scenario, compilation.model, chip);
  if (compilation.model.profiled) {
    profiled_codes(compilation);
  } else {
    lower_stages(compilation, scenario, chip, cache);
  }
  return compilation;
}

void add_memory(Compilation& compilation, const Scenario& scenario, const DataFolder& data, CompileCache& cache) {
  for (int ipu = 0; ipu < compilation.model.ipus_per_replica && !compilation.model.profiled; ++ipu) {
    compilation.memory.push_back(account_memory(*compilation.lowerings[static_cast<std::size_t>(ipu)],
                                                memory_request(scenario, compilation, ipu)));
  }
  add_second_graph(compilation, scenario, data, cache);
}

}  // namespace podsim
