// Loads and stores as flows; the overlapped ones go on in the background of their IPU.
#include "simulator/engine/remote_memory.hpp"

#include <algorithm>
#include <string>

#include "simulator/core/error.hpp"

namespace podsim::engine {

void RemoteMemory::register_links(LinkUsers& users) const {
  for (const RemoteBuffer& buffer : program_.buffers) {
    if (!(buffer.bytes > 0)) continue;
    for (int replica = 0; replica < program_.replicas; ++replica) {
      const int ipu = replica * program_.ipus_per_replica + buffer.ipu;
      if (topology_.memory_vertex_of(ipu) < 0) {
        throw UserError({},
                        "IPU " + std::to_string(ipu) + " of " + topology_.name() +
                            " has no streaming memory, but the program keeps " + buffer.name + " there",
                        "keep all variables on chip, or use a pod with streaming memory");
      }
      users.add(topology_.memory_to_ipu(ipu), {LinkUser::Kind::Memory, 0});
      users.add(topology_.ipu_to_memory(ipu), {LinkUser::Kind::Memory, 0});
    }
  }
}

void RemoteMemory::add_bytes(LinkBytes& bytes, const std::vector<Code>& codes) const {
  for (int index = 0; index < static_cast<int>(program_.buffers.size()); ++index) {
    const RemoteBuffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
    if (!(buffer.bytes > 0)) continue;
    for (std::size_t local = 0; local < codes.size(); ++local) {
      const auto loads = static_cast<double>(executions(codes[local], OpKind::RemoteLoad, index));
      const auto stores = static_cast<double>(executions(codes[local], OpKind::RemoteStore, index));
      if (loads + stores == 0) continue;
      for (int replica = 0; replica < program_.replicas; ++replica) {
        const int ipu = replica * program_.ipus_per_replica + static_cast<int>(local);
        if (loads > 0) bytes.add({&topology_.memory_to_ipu(ipu), buffer.bytes}, loads);
        if (stores > 0) bytes.add({&topology_.ipu_to_memory(ipu), buffer.bytes}, stores);
      }
    }
  }
}

void RemoteMemory::load(Ipu& ipu) { move(ipu, topology_.memory_to_ipu(ipu.index)); }

void RemoteMemory::store(Ipu& ipu) { move(ipu, topology_.ipu_to_memory(ipu.index)); }

void RemoteMemory::move(Ipu& ipu, const Route& route) {
  const Op& op = ipu.cursor.op();
  const double bytes = program_.buffers[static_cast<std::size_t>(op.index)].bytes;
  if (!(bytes > 0)) return;
  const double start = ipu.timeline.time();
  if (op.overlapped) {
    kernel_.sleep_until(ipu.process, start, kOwnWork);
    ipu.background.push_back({kernel_.start_flow({&route, bytes}), route.latency_seconds});
    return;
  }
  kernel_.sleep_until(ipu.process, start + route.latency_seconds, kRemoteLatency);
  const double end = kernel_.finish_flow(ipu.process, kernel_.start_flow({&route, bytes}), kRemoteFlow);
  ipu.timeline.spend(State::RemoteMemory, std::max(end, start + route.latency_seconds));
}

void RemoteMemory::wait(Ipu& ipu) {
  double end = ipu.background_end;
  while (!ipu.background.empty()) {
    const Ipu::Background background = ipu.background.front();
    ipu.background.erase(ipu.background.begin());
    ipu.background_end = end =
        std::max(end, kernel_.finish_flow(ipu.process, background.flow, kRemoteWait) + background.latency_seconds);
  }
  ipu.timeline.spend(State::RemoteMemory, end);
}

}  // namespace podsim::engine
