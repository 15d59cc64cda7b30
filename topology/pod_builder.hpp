// Internal to this folder: collects vertices and links, and builds the ladders that all Pods consist of.
#pragma once

#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace podsim {

// Bandwidth, latency and efficiency of one direction of a link.
struct LinkFigures {
  double bytes_per_second = 0;  // effective
  double latency_seconds = 0;
  double efficiency = 1;
};

class PodBuilder {
 public:
  int add_vertex(VertexKind kind, std::string name, int machine, int domain);
  void add_link(int from, int to, LinkKind kind, const LinkFigures& figures);
  void add_both(int left, int right, LinkKind kind, const LinkFigures& figures);

  std::vector<Vertex> vertices;
  std::vector<Link> links;

 private:
  std::vector<int> counts_ = std::vector<int>(6, 0);  // vertices so far, by kind
};

struct LadderRequest {
  std::string name;
  int ipus = 0;
  int ipus_per_domain = 0;
  int hosts = 1;
  std::string ends;  // "mesh", "torus", or "": by the parameter torus_from_ipus
};

// A ladder per IPU-Link domain, with gateways, streaming memory, network and GW-Links where `parameters` have them (a
// set without memory_bytes_per_second describes cards in a host's PCIe slots). `where` is blamed for bad figures.
[[nodiscard]] Topology build_ladder(const LadderRequest& request, ParameterSet parameters, const std::string& where);

// The largest IPU-Link domain: one Pod64 (Poplar's CommGroup documentation: 64 / replica size replicas in one).
inline constexpr int kIpusPerDomain = 64;

// UserError where the number of hosts does not suit. 0 stands for one per domain.
[[nodiscard]] int checked_hosts(const std::string& pod, int hosts, int domains, bool cards, const std::string& where);

// A topology from the user's file (request.custom).
[[nodiscard]] Topology build_custom(const PodRequest& request, const ParameterSource& source);

}  // namespace podsim
