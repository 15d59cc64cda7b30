// Code sizes from the supersteps of a program and the chip's parameters; growth with replicas as in table 4.1 of
// Graphcore's "Memory and Performance Optimisation on the IPU".
#include "simulator/machine/code_size.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <unordered_set>

namespace podsim {

namespace {

// Everything that the program of an IPU is compiled from: distinct lowered operators where they share code.
struct Compiled {
  std::set<std::string> vertices;  // kinds of vertex
  double compute_supersteps = 0;
  double supersteps = 0;
  double exchange_bytes = 0;  // code
  double calls = 0;           // of shared code
};

std::string vertex_kind(const std::string& superstep) { return superstep.substr(superstep.rfind('/') + 1); }

void add(Compiled& compiled, const LoweredOperator& lowered, bool first) {
  compiled.calls += 1;
  for (const Superstep& step : lowered.supersteps) compiled.vertices.insert(vertex_kind(step.name));
  if (!first) return;
  compiled.exchange_bytes += lowered.exchange_code_bytes_per_tile;
  for (const Superstep& step : lowered.supersteps) {
    compiled.supersteps += 1;
    if (step.compute_cycles_maximum() > 0) compiled.compute_supersteps += 1;
  }
}

Compiled compiled_program(const Lowering& lowering, const MemoryRequest& request) {
  Compiled compiled;
  std::unordered_set<const LoweredOperator*> seen;
  for (const StageMemory& stage : request.stages) {
    const LoweredStage& lowered = *stage.lowered;
    for (const auto* pass :
         {&lowered.forward, &lowered.backward_input, &lowered.backward_weights, &lowered.weight_update}) {
      for (const auto& op : *pass) {
        if (op) add(compiled, *op, seen.insert(op.get()).second || !lowering.options().outlining);
      }
    }
  }
  return compiled;
}

// Packets of everything that is streamed to or from the host: weights and optimiser state at start and check points
// (in host exchange or remote buffers), samples and results.
double host_packets(const MemoryRequest& request, double tiles, double packet_in, double packet_out) {
  double state = 0;
  for (const ElementType type : request.optimizer.state_types) state += static_cast<double>(bytes_of(type));
  double packets = 0;
  const auto count = [&](double bytes, bool in, bool out) {
    const double share = bytes / tiles;
    packets += (in ? std::ceil(share / packet_in) : 0) + (out ? std::ceil(share / packet_out) : 0);
  };
  for (const StageMemory& stage : request.stages) {
    double variables = 0;
    if (stage.weights != nullptr) {
      for (const Weight& weight : *stage.weights) {
        const double elements = static_cast<double>(weight.elements);
        variables += elements / static_cast<double>(request.weight_shards) * static_cast<double>(bytes_of(weight.type));
        if (request.training && weight.trainable) {
          variables += elements * state / static_cast<double>(request.optimizer_shards);
        }
      }
    }
    count(variables, true, request.training);
    count(stage.host_input_bytes, true, false);
    count(stage.host_result_bytes, false, true);
  }
  return packets;
}

// How much of table 4.1's growth with each further replica this IPU has: code of collectives cuts gradients into
// fragments, so it grows with them, and there is none in inference.
double collective_share(const MemoryRequest& request, double tiles, double reference_bytes_per_tile) {
  if (!request.training) return 0;
  double elements = 0;
  for (const StageMemory& stage : request.stages) {
    if (stage.weights == nullptr) continue;
    for (const Weight& weight : *stage.weights) elements += weight.trainable ? static_cast<double>(weight.elements) : 0;
  }
  const double bytes = elements * static_cast<double>(bytes_of(request.optimizer.accumulator_type));
  return bytes / tiles / reference_bytes_per_tile;
}

}  // namespace

void add_code_sizes(const Chip& chip, LoweredOperator& lowered) {
  const double vertex = chip.parameters.get("vertex_code_bytes");
  const double message = chip.parameters.get("exchange_code_bytes_per_message");
  const double message_bytes = chip.parameters.get("exchange_message_bytes");
  const double fixed = chip.parameters.get("exchange_code_bytes_per_exchange");
  for (const Superstep& step : lowered.supersteps) {
    if (step.compute_cycles_maximum() > 0) lowered.code_bytes_per_tile += vertex;
    if (step.exchange_cycles <= 0) continue;
    const double sent = std::ceil(step.bytes_out.maximum() / message_bytes);
    const double received = std::ceil(step.bytes_in.maximum() / message_bytes);
    lowered.exchange_code_bytes_per_tile += fixed + message * (sent + received);
  }
}

CodeSizes code_sizes(const Lowering& lowering, const MemoryRequest& request) {
  const ParameterSet& parameters = lowering.chip().parameters;
  const Compiled compiled = compiled_program(lowering, request);
  const double tiles = lowering.compute_tiles();
  const double ranks = std::min(static_cast<double>(request.replicas), parameters.get("collective_ranks_maximum"));
  const double others =
      (ranks - 1) * collective_share(request, tiles, parameters.get("collective_gradient_bytes_per_tile"));
  const double instruction = 4;
  CodeSizes sizes;
  sizes.vertex = parameters.get("vertex_code_base_bytes") +
                 parameters.get("vertex_code_bytes") * static_cast<double>(compiled.vertices.size());
  sizes.control = parameters.get("control_code_base_bytes") +
                  parameters.get("control_code_bytes_per_superstep") * compiled.supersteps +
                  parameters.get("control_code_bytes_per_call") * compiled.calls +
                  parameters.get("control_code_bytes_per_replica") * others;
  sizes.internal_exchange = parameters.get("internal_exchange_code_base_bytes") + compiled.exchange_bytes +
                            parameters.get("internal_exchange_code_bytes_per_replica") * others;
  sizes.host_exchange = parameters.get("host_exchange_code_base_bytes") +
                        instruction * host_packets(request, tiles, parameters.get("host_packet_bytes_to_tile"),
                                                   parameters.get("host_packet_bytes_from_tile")) +
                        parameters.get("host_exchange_code_bytes_per_replica") * others;
  double stage_messages = 0;
  for (const StageMemory& stage : request.stages) {
    const double share = stage.stage_input_bytes / tiles / parameters.get("exchange_message_bytes");
    stage_messages += std::ceil(share) * (request.training ? 4 : 2);  // received and sent, both ways
    const double sums = stage.collective_bytes / tiles / parameters.get("exchange_message_bytes");
    stage_messages += std::ceil(sums) * 4;  // received and sent, in the two phases of an all-reduce
  }
  sizes.global_exchange = parameters.get("global_exchange_code_base_bytes") + instruction * stage_messages +
                          parameters.get("global_exchange_code_bytes_per_replica") * others;
  sizes.stack_and_vertex_state =
      parameters.get("stack_bytes") + parameters.get("vertex_state_bytes") * compiled.compute_supersteps;
  return sizes;
}

}  // namespace podsim
