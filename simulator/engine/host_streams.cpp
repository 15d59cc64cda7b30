// The IPU's side of host streams: begin (wait for data or room), middle (the transfer), end; and their bookkeeping.
#include "simulator/engine/host_streams.hpp"

#include <algorithm>
#include <string>

#include "simulator/core/error.hpp"
#include "simulator/engine/host_calls.hpp"

namespace podsim::engine {

HostStreams::HostStreams(const Topology& topology, const Program& program, const std::vector<Code>& codes,
                         Kernel& kernel, bool record)
    : topology_(topology),
      program_(program),
      kernel_(kernel),
      record_(record),
      calls_(executions(codes.front(), OpKind::HostCall)),
      by_replica_(static_cast<std::size_t>(program.replicas)),
      by_ipu_(static_cast<std::size_t>(program.replicas * program.ipus_per_replica)) {
  if (program.host.synthetic) {
    if (program.host.batches_ahead > 0) add_loaders();  // the program takes batches from its loader all the same
    return;
  }
  for (int replica = 0; replica < program.replicas; ++replica) {
    by_replica_[static_cast<std::size_t>(replica)].resize(program.streams.size(), nullptr);
    for (int index = 0; index < static_cast<int>(program.streams.size()); ++index) add_channel(replica, index, codes);
  }
  if (active()) add_loaders();
}

void HostStreams::add_channel(int replica, int index, const std::vector<Code>& codes) {
  const HostStream& stream = program_.streams[static_cast<std::size_t>(index)];
  const Code& code = codes.at(static_cast<std::size_t>(stream.ipu));
  const OpKind kind = stream.input ? OpKind::StreamIn : OpKind::StreamOut;
  const std::int64_t total = executions(code, kind, index);
  if (total == 0) return;
  if (topology_.host_count() == 0) {
    throw UserError({}, "stream " + stream.name + " needs a host, and " + topology_.name() + " has none",
                    "give the topology a host, or use synthetic data");
  }
  const HostPlan& plan = program_.host;
  const int ipu = replica * program_.ipus_per_replica + stream.ipu;
  Channel& channel = channels_.emplace_back();
  channel.stream = &stream;
  channel.index = index;
  channel.replica = replica;
  channel.host = host_of(program_, topology_.host_count(), instance_of(program_, replica));
  channel.total = total;
  channel.to_move = overlapped_executions(code, kind, index);
  channel.depth = std::max(1, plan.prefetch_depth);
  channel.on_request = stream.input && plan.prefetch_depth <= 0;
  channel.limited = stream.input && plan.prepares_by_call() && calls_ > 0;
  const int host = channel.host;
  if (topology_.memory_vertex_of(ipu) >= 0) {
    channel.host_side = stream.input ? &topology_.host_to_memory(host, ipu) : &topology_.memory_to_host(ipu, host);
    channel.ipu_side = stream.input ? &topology_.memory_to_ipu(ipu) : &topology_.ipu_to_memory(ipu);
  } else {
    const int from = stream.input ? topology_.host_vertex(host) : topology_.ipu_vertex(ipu);
    const int to = stream.input ? topology_.ipu_vertex(ipu) : topology_.host_vertex(host);
    channel.ipu_side = &topology_.route(from, to);
  }
  by_replica_[static_cast<std::size_t>(replica)][static_cast<std::size_t>(index)] = &channel;
  if (channel.to_move > 0) by_ipu_[static_cast<std::size_t>(ipu)].push_back(&channel);
}

void HostStreams::register_links(LinkUsers& users) const {
  for (const Channel& channel : channels_) {
    if (!(channel.stream->bytes > 0)) continue;
    if (channel.host_side != nullptr) users.add(*channel.host_side, {LinkUser::Kind::Memory, 0});
    users.add(*channel.ipu_side, {LinkUser::Kind::Memory, 0});
  }
}

void HostStreams::add_bytes(LinkBytes& bytes) const {
  for (const Channel& channel : channels_) {
    const auto times = static_cast<double>(channel.total);
    if (channel.host_side != nullptr) bytes.add({channel.host_side, channel.stream->bytes}, times);
    bytes.add({channel.ipu_side, channel.stream->bytes}, times);
  }
}

Channel& HostStreams::channel_of(const Ipu& ipu) {
  return *by_replica_[static_cast<std::size_t>(ipu.replica)][static_cast<std::size_t>(ipu.cursor.op().index)];
}

void HostStreams::input(Ipu& ipu) {
  if (!active()) return;
  Channel& channel = channel_of(ipu);
  settle(ipu, channel);
  kernel_.sleep_until(ipu.process, ipu.timeline.time(), kOwnWork);
  if (ipu.cursor.op().overlapped) return start_beside(ipu, channel);
  if (await_data(channel, ipu.process)) {
    ipu.timeline.spend(State::HostInputStall, channel.arrival_start);
    ipu.timeline.spend(State::HostTransfer, kernel_.now());
  }
  transfer(channel.ipu_side, channel.stream->bytes, ipu.process, kInputFlow);
  ipu.timeline.spend(State::HostTransfer, kernel_.now());
  take_data(channel);
}

void HostStreams::output(Ipu& ipu) {
  if (!active()) return;
  Channel& channel = channel_of(ipu);
  settle(ipu, channel);
  kernel_.sleep_until(ipu.process, ipu.timeline.time(), kOwnWork);
  if (ipu.cursor.op().overlapped) return start_beside(ipu, channel);
  if (await_room(channel, ipu.process)) ipu.timeline.spend(State::HostOutputStall, kernel_.now());
  transfer(channel.ipu_side, channel.stream->bytes, ipu.process, kOutputFlow);
  ipu.timeline.spend(State::HostTransfer, kernel_.now());
  put_data(channel);
}

void HostStreams::start_beside(Ipu& /*ipu*/, Channel& channel) {
  ++channel.pending;
  kernel_.wake(channel.mover);
}

void HostStreams::settle(Ipu& ipu) {
  if (!active()) return;
  for (Channel* channel : by_ipu_[static_cast<std::size_t>(ipu.index)]) settle(ipu, *channel);
}

void HostStreams::settle(Ipu& ipu, Channel& channel) {
  if (channel.pending == 0) return;
  channel.settler = &ipu.process;
  while (channel.pending > 0) kernel_.block(ipu.process, kSettling);
  channel.settler = nullptr;
  const State stall = channel.stream->input ? State::HostInputStall : State::HostOutputStall;
  const double end = kernel_.now();
  ipu.timeline.spend(stall, std::min(channel.wait_start, end));
  ipu.timeline.spend(State::HostTransfer, end);
}

bool HostStreams::await_data(Channel& channel, Process& self) {
  if (channel.on_request) {
    ++channel.requests;
    kernel_.wake(channel.process);
    if (channel.loads_samples) loader_of_replica_[static_cast<std::size_t>(channel.replica)]->room();
  }
  if (channel.filled > 0) return false;
  channel.consumer = &self;
  while (channel.filled == 0) kernel_.block(self, kInputData);
  channel.consumer = nullptr;
  return true;
}

bool HostStreams::await_room(Channel& channel, Process& self) {
  const bool waits = channel.taken >= channel.depth;
  channel.consumer = &self;
  while (channel.taken >= channel.depth) kernel_.block(self, kOutputSpace);
  channel.consumer = nullptr;
  ++channel.taken;
  return waits;
}

void HostStreams::take_data(Channel& channel) {
  --channel.filled;
  --channel.taken;
  sample(channel);
  kernel_.wake(channel.process);
}

void HostStreams::put_data(Channel& channel) {
  ++channel.filled;
  sample(channel);
  kernel_.wake(channel.process);
}

void HostStreams::sample(const Channel& channel) {
  if (record_) samples_.push_back({channel.replica, channel.index, kernel_.now(), channel.filled});
}

void HostStreams::wake_consumer(Channel& channel) {
  if (channel.consumer != nullptr) kernel_.wake(*channel.consumer);
}

void HostStreams::transfer(const Route* route, double bytes, Process& self, int phase) {
  if (route == nullptr || !(bytes > 0)) return;
  kernel_.sleep_until(self, kernel_.now() + route->latency_seconds, phase);
  kernel_.finish_flow(self, kernel_.start_flow({route, bytes}), phase);
}

bool HostStreams::random() const {
  const HostPlan& plan = program_.host;
  const bool spread = plan.distribution == Distribution::Exponential || plan.preprocess_deviation_seconds > 0;
  return !loaders_.empty() && plan.preprocess_seconds_per_sample > 0 && plan.distribution != Distribution::Fixed &&
         spread;
}

}  // namespace podsim::engine
