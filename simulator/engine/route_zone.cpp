// The zone as a subclass of SimGrid's; it answers from a hash map of used routes.
#include "simulator/engine/route_zone.hpp"

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include "simulator/core/error.hpp"

namespace podsim::engine {
namespace {

// Flows end at IPUs, streaming memories and hosts; gateways, NICs and switches are only passed.
bool is_end(VertexKind kind) {
  return kind == VertexKind::Ipu || kind == VertexKind::Memory || kind == VertexKind::Host;
}

std::uint64_t key_of(std::uint64_t from, std::uint64_t to) { return from << 32U | to; }

constexpr double kUnusedSpeed = 1.0;  // nothing executes on hosts; SimGrid wants a speed

}  // namespace

class RouteZone::Zone : public simgrid::kernel::routing::NetZoneImpl {
 public:
  explicit Zone(const std::string& name) : NetZoneImpl(name) {}

  void get_local_route(const simgrid::kernel::routing::NetPoint* from, const simgrid::kernel::routing::NetPoint* to,
                       simgrid::kernel::routing::Route* into, double* /*latency*/) override {
    const Route& route = *routes.at(key_of(from->id(), to->id()));
    for (const int link : route.links) into->link_list_.push_back(links[static_cast<std::size_t>(link)]);
  }

  std::vector<simgrid::kernel::resource::StandardLinkImpl*> links;
  std::unordered_map<std::uint64_t, const Route*> routes;
};

void RouteZone::create_world() { (void)new Zone("world"); }  // SimGrid's from now on

RouteZone::RouteZone(const Topology& topology, double byte_scale) : topology_(topology) {
  simgrid::s4u::NetZone* world = simgrid::s4u::Engine::get_instance()->get_netzone_root();
  const std::string name = "pod" + std::to_string(world->get_children().size());  // SimGrid's names are unique
  zone_ = new Zone(name);
  simgrid::s4u::NetZone* zone = zone_->get_iface()->set_parent(world);
  hosts_.reserve(topology.vertices().size());
  for (const Vertex& vertex : topology.vertices()) {
    hosts_.push_back(is_end(vertex.kind) ? zone->create_host(name + "/" + vertex.name, kUnusedSpeed) : nullptr);
  }
  zone_->links.reserve(topology.links().size());
  for (const Link& link : topology.links()) {
    simgrid::s4u::Link* made = zone->create_link(name + "/" + link.name, link.bytes_per_second * byte_scale);
    made->set_latency(0.0)->set_sharing_policy(simgrid::s4u::Link::SharingPolicy::SHARED)->seal();
    zone_->links.push_back(made->get_impl());
  }
  zone->seal();
}

RouteZone::Ends RouteZone::use(const Route& route) {
  if (route.links.empty()) throw InternalError("engine: a flow along a route without links");
  const auto link = [this](int index) -> const Link& { return topology_.links()[static_cast<std::size_t>(index)]; };
  const Ends ends{host(link(route.links.front()).from), host(link(route.links.back()).to)};
  if (ends.from == nullptr || ends.to == nullptr) {
    throw InternalError("engine: a flow that ends at neither IPU, memory nor host: " + link(route.links.front()).name +
                        " … " + link(route.links.back()).name);
  }
  const auto [known, added] =
      zone_->routes.emplace(key_of(ends.from->get_netpoint()->id(), ends.to->get_netpoint()->id()), &route);
  if (!added && known->second != &route && known->second->links != route.links) {
    throw InternalError("engine: two routes from " + ends.from->get_name() + " to " + ends.to->get_name());
  }
  return ends;
}

}  // namespace podsim::engine
