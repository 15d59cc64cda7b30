// Max-min fair sharing of links by flows that start together, solved without a simulation.
#pragma once

#include <span>
#include <vector>

#include "simulator/engine/kernel.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

// Seconds after the common start at which each flow ends when nothing else uses the links. The rates are those of
// progressive filling: all flows grow together, until a link is full; its flows stay at that rate, the others go on.
// When a flow ends, the rest is filled anew. This is what SimGrid's fluid model does, too.
[[nodiscard]] std::vector<double> flow_end_seconds(const Topology& topology, std::span<const FlowRequest> flows);

}  // namespace podsim::engine
