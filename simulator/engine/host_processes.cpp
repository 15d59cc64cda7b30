// The host's side of host streams: a process per stream, one per loader, and the movers of IO tiles.
#include <algorithm>
#include <string>

#include "simulator/engine/host_calls.hpp"
#include "simulator/engine/host_streams.hpp"

namespace podsim::engine {

void HostStreams::add_loaders() {
  const HostPlan& plan = program_.host;
  loader_of_replica_.resize(static_cast<std::size_t>(program_.replicas), nullptr);
  if (!(plan.preprocess_seconds_per_sample > 0) && plan.batches_ahead == 0) return;
  const int hosts = topology_.host_count();
  int last = -1;
  for (int replica = 0; replica < program_.replicas; ++replica) {
    const int instance = instance_of(program_, replica);
    if (instance != last) {
      const int host = host_of(program_, hosts, instance);
      HostShare share{0, 0};
      for (int other = 0; other < std::max(1, plan.instances); ++other) {
        if (host_of(program_, hosts, other) != host) continue;
        share.number += other < instance ? 1 : 0;
        ++share.instances;
      }
      loaders_.push_back(std::make_unique<Loader>(
          plan, worker_slowdown(plan, share), derive_seed(plan.seed, static_cast<std::uint64_t>(instance)), kernel_));
      last = instance;
    }
    std::vector<Channel*> inputs;
    for (Channel* channel : by_replica_[static_cast<std::size_t>(replica)]) {
      if (channel == nullptr || !channel->stream->input) continue;
      channel->loads_samples = !channel->limited;
      inputs.push_back(channel);
    }
    loaders_.back()->add_replica(std::move(inputs));
    loader_of_replica_[static_cast<std::size_t>(replica)] = loaders_.back().get();
  }
}

void HostStreams::spawn() {
  for (Channel& channel : channels_) {
    const int host = topology_.host_vertex(channel.host);
    const std::string name = channel.stream->name + "/" + std::to_string(channel.replica);
    const bool input = channel.stream->input;
    kernel_.spawn(channel.process, host, "stream/" + name,
                  [this, &channel, input] { input ? serve_input(channel) : serve_output(channel); });
    if (channel.to_move == 0) continue;
    kernel_.spawn(channel.mover, host, "io_tiles/" + name,
                  [this, &channel, input] { input ? move_inputs(channel) : move_outputs(channel); });
  }
  const bool by_sample = !program_.host.prepares_by_call() || calls_ == 0;
  for (std::size_t i = 0; by_sample && i < loaders_.size(); ++i) {
    const int host =
        loaders_[i]->feeds().front().inputs.empty() ? 0 : loaders_[i]->feeds().front().inputs.front()->host;
    kernel_.spawn(loaders_[i]->process(), topology_.host_vertex(host), "loader" + std::to_string(i),
                  [loader = loaders_[i].get()] { loader->run(); });
  }
}

void HostStreams::serve_input(Channel& channel) {
  for (; channel.done < channel.total; ++channel.done) {
    while (channel.taken >= channel.depth) kernel_.block(channel.process, kStreamSpace);
    while (channel.on_request && channel.requests == 0) kernel_.block(channel.process, kStreamRequest);
    ++channel.taken;
    wait_for_sample(channel);
    kernel_.sleep_until(channel.process, kernel_.now() + program_.host.callback_seconds, kStreamCallback);
    channel.transfer_start = kernel_.now();
    transfer(channel.host_side, channel.stream->bytes, channel.process, kStreamFlow);
    channel.arrival_start = channel.transfer_start;
    ++channel.filled;
    if (channel.on_request) --channel.requests;
    sample(channel);
    wake_consumer(channel);
  }
}

void HostStreams::wait_for_sample(Channel& channel) {
  while (channel.limited && channel.credits == 0) kernel_.block(channel.process, kStreamSample);
  if (channel.limited) --channel.credits;
  if (!channel.loads_samples) return;
  while (channel.prepared.empty()) kernel_.block(channel.process, kStreamSample);
  kernel_.sleep_until(channel.process, channel.prepared.front(), kStreamReady);
  channel.prepared.pop_front();
  loader_of_replica_[static_cast<std::size_t>(channel.replica)]->room();
}

void HostStreams::serve_output(Channel& channel) {
  for (; channel.done < channel.total; ++channel.done) {
    while (channel.filled == 0) kernel_.block(channel.process, kStreamOutput);
    transfer(channel.host_side, channel.stream->bytes, channel.process, kStreamFlow);
    kernel_.sleep_until(channel.process, kernel_.now() + program_.host.callback_seconds, kStreamCallback);
    --channel.filled;
    --channel.taken;
    sample(channel);
    wake_consumer(channel);
  }
}

void HostStreams::move_inputs(Channel& channel) {
  for (; channel.moved < channel.to_move; ++channel.moved) {
    while (channel.pending == 0) kernel_.block(channel.mover, kMoverStart);
    channel.wait_start = kernel_.now();
    if (await_data(channel, channel.mover)) channel.wait_start = channel.arrival_start;
    transfer(channel.ipu_side, channel.stream->bytes, channel.mover, kInputFlow);
    take_data(channel);
    --channel.pending;
    if (channel.settler != nullptr) kernel_.wake(*channel.settler);
  }
}

void HostStreams::move_outputs(Channel& channel) {
  for (; channel.moved < channel.to_move; ++channel.moved) {
    while (channel.pending == 0) kernel_.block(channel.mover, kMoverStart);
    (void)await_room(channel, channel.mover);
    channel.wait_start = kernel_.now();
    transfer(channel.ipu_side, channel.stream->bytes, channel.mover, kOutputFlow);
    put_data(channel);
    --channel.pending;
    if (channel.settler != nullptr) kernel_.wake(*channel.settler);
  }
}

std::int64_t HostStreams::micro_batches_per_call(const Channel& channel) const { return channel.total / calls_; }

double HostStreams::preparation_end(int replica, std::int64_t call, double start) {
  if (loader_of_replica_.empty() || !program_.host.prepares_by_call() || calls_ == 0) return start;
  Loader* loader = loader_of_replica_[static_cast<std::size_t>(replica)];
  if (loader == nullptr) return start;
  std::int64_t micro_batches = 0;
  for (const Channel* channel : by_replica_[static_cast<std::size_t>(replica)]) {
    if (channel != nullptr && channel->stream->input) {
      micro_batches = std::max(micro_batches, micro_batches_per_call(*channel));
    }
  }
  if (!active()) micro_batches = program_.execution.micro_batches * program_.execution.device_iterations;  // synthetic
  return loader->preparation_end(start, {call, calls_, micro_batches});
}

void HostStreams::release_run(int first_replica, int replicas) {
  if (!active()) return;
  for (int replica = first_replica; replica < first_replica + replicas; ++replica) {
    for (Channel* channel : by_replica_[static_cast<std::size_t>(replica)]) {
      if (channel == nullptr || !channel->limited) continue;
      channel->credits += micro_batches_per_call(*channel);
      kernel_.wake(channel->process);
    }
  }
}

}  // namespace podsim::engine
