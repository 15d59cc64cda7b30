// The message when no process can go on.
#include <algorithm>
#include <string>

#include "simulator/engine/simulation.hpp"

namespace podsim::engine {
namespace {

constexpr int kNamedIpus = 4;

std::string ipus_not_at(const std::deque<Ipu>& ipus, const Ipu& waiting, int ipus_per_replica, OpKind kind) {
  std::string missing;
  for (const Ipu& other : ipus) {
    if (other.replica != waiting.replica || (!other.finished && other.cursor.op().kind == kind)) continue;
    missing += (missing.empty() ? "IPU " : ", ") + std::to_string(other.index % ipus_per_replica);
    missing += other.finished ? " (ended)" : "";
  }
  return missing.empty() ? "another replica" : missing + " of its replica";
}

std::string waits_for(const std::deque<Ipu>& ipus, const Ipu& ipu, const Program& program) {
  const Op& op = ipu.cursor.op();
  const auto others = [&] { return ipus_not_at(ipus, ipu, program.ipus_per_replica, op.kind); };
  const auto index = static_cast<std::size_t>(op.index);
  switch (op.kind) {
    case OpKind::Exchange: return "an exchange with " + others();
    case OpKind::Sync: return "a synchronisation with " + others();
    case OpKind::Collective:
      return "the collective " + program.collectives[index].name + " with members that do not come";
    case OpKind::HostCall: return "a host call that " + others() + " did not reach";
    case OpKind::StreamIn: return "input " + program.streams[index].name + " from the host";
    case OpKind::StreamOut: return "room for output " + program.streams[index].name;
    default: return "its own step";
  }
}

}  // namespace

std::string describe_deadlock(const std::deque<Ipu>& ipus, const Program& program) {
  std::string message = "engine: the program cannot finish";
  int named = 0;
  for (const Ipu& ipu : ipus) {
    if (ipu.finished) continue;
    if (++named > kNamedIpus) return message + "; …";
    message += "; IPU " + std::to_string(ipu.index) + " (replica " + std::to_string(ipu.replica) + ")";
    if (ipu.last_stage >= 0) message += ", last in stage " + std::to_string(ipu.last_stage);
    if (ipu.last_micro_batch >= 0) message += ", micro-batch " + std::to_string(ipu.last_micro_batch);
    message += ", waits for " + waits_for(ipus, ipu, program);
  }
  return message;
}

}  // namespace podsim::engine
