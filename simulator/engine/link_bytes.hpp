// Bytes that each link carried, from how often each pattern of flows ran.
#pragma once

#include <vector>

#include "simulator/engine/kernel.hpp"
#include "simulator/trace/trace.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

class LinkBytes {
 public:
  explicit LinkBytes(const Topology& topology) : topology_(topology), bytes_(topology.links().size(), 0.0) {}

  void add(const FlowRequest& flow, double times) {
    for (const int link : flow.route->links) bytes_[static_cast<std::size_t>(link)] += flow.bytes * times;
  }

  // The links that carried something, in the topology's order.
  [[nodiscard]] std::vector<LinkUse> uses() const {
    std::vector<LinkUse> uses;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (!(bytes_[i] > 0)) continue;
      const Link& link = topology_.links()[i];
      uses.push_back({link.name, std::string(name_of(link.kind)), bytes_[i], link.bytes_per_second});
    }
    return uses;
  }

 private:
  const Topology& topology_;
  std::vector<double> bytes_;
};

}  // namespace podsim::engine
