// A SimGrid zone whose routes are handed in when they are first used: no N x N table, and the routes are the
// topology's own. Included by .cpp files only, since it needs SimGrid's headers.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "topology/topology.hpp"

namespace simgrid::kernel::routing {
class NetPoint;
}
namespace simgrid::s4u {
class Host;
class NetZone;
}  // namespace simgrid::s4u

namespace podsim::engine {

class RouteZone {
 public:
  // Around all zones; once, before the first of them.
  static void create_world();

  // `byte_scale`: SimGrid takes whole bytes, so bytes and bandwidths are multiplied by this.
  RouteZone(const Topology& topology, double byte_scale);

  [[nodiscard]] simgrid::s4u::Host* host(int vertex) const { return hosts_[static_cast<std::size_t>(vertex)]; }

  struct Ends {
    simgrid::s4u::Host* from = nullptr;
    simgrid::s4u::Host* to = nullptr;
  };
  // The ends of a route, known to SimGrid from now on. The route outlives the simulation. InternalError where another
  // route joins the same ends.
  Ends use(const Route& route);

 private:
  class Zone;
  const Topology& topology_;
  Zone* zone_ = nullptr;                    // SimGrid's
  std::vector<simgrid::s4u::Host*> hosts_;  // by vertex; null where no flow can end
};

}  // namespace podsim::engine
