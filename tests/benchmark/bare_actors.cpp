// Hosts, links and actors that sleep, put and get; no podsim.
#include "tests/benchmark/bare_actors.hpp"

#include <xbt/log.h>
#include <simgrid/s4u.hpp>

#include <string>
#include <vector>

namespace podsim::benchmark {
namespace {

namespace sg = simgrid::s4u;

constexpr double kSlotSeconds = 3e-3;
constexpr double kBytesPerSecond = 54.4e9;

void connect(sg::NetZone& zone, sg::Host* from, sg::Host* to) {
  sg::Link* link = zone.create_link(from->get_name() + ">" + to->get_name(), kBytesPerSecond);
  link->set_latency(0.0)->seal();
  zone.add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, {sg::LinkInRoute(link)}, false);
}

struct Stage {
  int stage = 0, stages = 0, micro_batches = 0, replica = 0;
  double bytes = 0;
  double* activities = nullptr;

  [[nodiscard]] sg::Mailbox* mailbox(int to, const char* kind) const {
    return sg::Mailbox::by_name(std::to_string(replica) + "/" + std::to_string(to) + kind);
  }
  [[nodiscard]] bool forward_in(int which, int slot) const { return slot >= which && slot - which < micro_batches; }
  [[nodiscard]] bool backward_in(int which, int slot) const { return forward_in(2 * (stages - 1) - which, slot); }

  void operator()() const {
    sg::Mailbox* mine[] = {mailbox(stage, "f"), mailbox(stage, "b")};
    sg::Mailbox* next = mailbox(stage + 1, "f");
    sg::Mailbox* previous = mailbox(stage - 1, "b");
    int payload = 0;
    int* received = nullptr;
    std::vector<sg::CommPtr> comms;
    for (int slot = 0; slot < micro_batches + 2 * stages - 2; ++slot) {
      sg::this_actor::sleep_for(kSlotSeconds);
      const auto size = static_cast<std::uint64_t>(bytes);
      if (stage + 1 < stages && forward_in(stage, slot)) comms.push_back(next->put_async(&payload, size));
      if (stage > 0 && backward_in(stage, slot)) comms.push_back(previous->put_async(&payload, size));
      if (stage > 0 && forward_in(stage - 1, slot)) comms.push_back(mine[0]->get_async<int>(&received));
      if (stage + 1 < stages && backward_in(stage + 1, slot)) comms.push_back(mine[1]->get_async<int>(&received));
      *activities += 1 + static_cast<double>(comms.size());
      for (const sg::CommPtr& comm : comms) comm->wait();
      comms.clear();
    }
  }
};

}  // namespace

BareResult run_bare_actors(int stages, int micro_batches, int replicas, double bytes) {
  xbt_log_control_set("root.thres:critical");
  sg::Engine engine("bare");
  for (const char* setting : {"network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                              "surf/precision:1e-12", "contexts/stack-size:64"}) {
    engine.set_config(setting);
  }
  double activities = 0;
  sg::NetZone* zone = sg::create_full_zone("pod");
  std::vector<sg::Host*> hosts;
  for (int i = 0; i < stages * replicas; ++i) hosts.push_back(zone->create_host("ipu" + std::to_string(i), 1.0));
  for (int i = 0; i + 1 < stages * replicas; ++i) {
    if ((i + 1) % stages == 0) continue;
    const auto index = static_cast<std::size_t>(i);
    connect(*zone, hosts[index], hosts[index + 1]);
    connect(*zone, hosts[index + 1], hosts[index]);
  }
  zone->seal();
  for (int i = 0; i < stages * replicas; ++i) {
    sg::Actor::create("ipu", hosts[static_cast<std::size_t>(i)],
                      Stage{i % stages, stages, micro_batches, i / stages, bytes, &activities});
  }
  engine.run();
  return {sg::Engine::get_clock(), activities};
}

}  // namespace podsim::benchmark
