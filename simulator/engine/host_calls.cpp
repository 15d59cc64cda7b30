// Host calls: all IPUs of an instance arrive, the host works, all leave.
#include "simulator/engine/host_calls.hpp"

#include <algorithm>
#include <string>

#include "simulator/engine/host_streams.hpp"

namespace podsim::engine {

int instance_of(const Program& program, int replica) {
  const std::int64_t instances = std::max(1, program.host.instances);
  return static_cast<int>(replica * instances / program.replicas);
}

int host_of(const Program& program, int hosts, int instance) {
  return static_cast<int>(static_cast<std::int64_t>(instance) * std::max(1, hosts) /
                          std::max(1, program.host.instances));
}

HostCalls::HostCalls(const Topology& topology, const Program& program, Kernel& kernel, HostStreams& streams)
    : topology_(topology), program_(program), kernel_(kernel), streams_(streams) {
  int last = -1;
  for (int replica = 0; replica < program.replicas; ++replica) {
    const int number = instance_of(program, replica);
    if (number != last) {
      auto& instance = instances_.emplace_back(std::make_unique<Instance>());
      instance->host = host_of(program, topology.host_count(), number);
      instance->first_replica = replica;
      last = number;
    }
    ++instances_.back()->replicas;
    of_replica_.push_back(instances_.back().get());
  }
}

void HostCalls::spawn(std::int64_t calls) {
  if (calls == 0) return;
  const HostPlan& plan = program_.host;
  closes_ = plan.second_graph_seconds > 0 && plan.switch_every > 0 && calls % plan.switch_every == 0;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    Instance& instance = *instances_[i];
    instance.total = calls + (closes_ ? 1 : 0);
    instance.latest_of_replica.assign(static_cast<std::size_t>(instance.replicas), 0.0);
    instance.met_of_replica = instance.latest_of_replica;
    // A pod without hosts in its description still has someone who calls: the process stands at its first IPU.
    const int first_ipu = instance.first_replica * program_.ipus_per_replica;
    const int vertex =
        topology_.host_count() > 0 ? topology_.host_vertex(instance.host) : topology_.ipu_vertex(first_ipu);
    kernel_.spawn(instance.process, vertex, "instance" + std::to_string(i), [this, &instance] { serve(instance); });
  }
}

// Whether the second graph has its turn before the instance's next call.
bool HostCalls::second_graph_before(const Instance& instance) const {
  const std::int64_t every = program_.host.switch_every;
  return every > 0 && instance.done > 0 && instance.done % every == 0;
}

void HostCalls::serve(Instance& instance) {
  const auto ipus = static_cast<std::size_t>(instance.replicas * program_.ipus_per_replica);
  for (; instance.done < instance.total; ++instance.done) {
    if (instance.arrived < ipus) kernel_.block(instance.process, kHostCall);
    const double met = instance.latest;
    kernel_.sleep_until(instance.process, met, kHostCallStart);
    const bool closing = closes_ && instance.done + 1 == instance.total;
    const double prepared = closing ? met : streams_.preparation_end(instance.first_replica, instance.done, met);
    kernel_.sleep_until(instance.process, prepared, kHostPreparation);
    const HostPlan& plan = program_.host;
    double evaluated = prepared, left = prepared + (closing ? 0 : plan.call_overhead_seconds);
    if (second_graph_before(instance)) {
      evaluated += plan.second_graph_seconds;
      left += plan.second_graph_seconds + plan.switch_seconds + (closing ? 0 : plan.switch_back_seconds);
    }
    kernel_.sleep_until(instance.process, left, kHostCallOverhead);
    if (!closing) streams_.release_run(instance.first_replica, instance.replicas);
    instance.times = {met, met, prepared, evaluated, left};
    instance.arrived = 0;
    instance.latest = 0;
    instance.met_of_replica.swap(instance.latest_of_replica);
    std::fill(instance.latest_of_replica.begin(), instance.latest_of_replica.end(), 0.0);
    instance.waking.swap(instance.waiting);
    instance.waiting.clear();
    kernel_.wake_all(instance.waking);
  }
}

HostCalls::Times HostCalls::call(Ipu& ipu) {
  Instance& instance = *of_replica_[static_cast<std::size_t>(ipu.replica)];
  const auto replica = static_cast<std::size_t>(ipu.replica - instance.first_replica);
  instance.latest = std::max(instance.latest, ipu.timeline.time());
  instance.latest_of_replica[replica] = std::max(instance.latest_of_replica[replica], ipu.timeline.time());
  instance.waiting.push_back(&ipu.process);
  if (++instance.arrived == static_cast<std::size_t>(instance.replicas * program_.ipus_per_replica)) {
    kernel_.wake(instance.process);
  }
  kernel_.block(ipu.process, kHostCall);
  Times times = instance.times;
  times.replica_met = instance.met_of_replica[replica];
  return times;
}

}  // namespace podsim::engine
