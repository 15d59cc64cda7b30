// Platform: a topology as SimGrid sees it, made once for many runs. For processes that fork for each run.
#pragma once

#include <memory>

#include "topology/topology.hpp"

namespace podsim {

namespace engine {
class Kernel;
class RouteZone;
}  // namespace engine

// All IPUs, memories and hosts become SimGrid hosts, all links SimGrid links without latency (SimGrid shares a link by
// latency, not fairly; who starts a flow pays the latency of the route by a sleep). SimGrid forgets none of it: it
// lives as long as the process, and in processes forked from it.
class Platform {
 public:
  explicit Platform(std::shared_ptr<const Topology> topology);
  ~Platform();
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;

  [[nodiscard]] const std::shared_ptr<const Topology>& topology() const { return topology_; }

 private:
  friend class engine::Kernel;
  std::shared_ptr<const Topology> topology_;
  std::unique_ptr<engine::RouteZone> zone_;
};

}  // namespace podsim
