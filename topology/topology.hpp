// Topology: a pod as a directed graph. Vertices are IPUs, gateways, DDR, NICs, switches and hosts; edges are
// links, one per direction. The graph library stays in the .cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/parameter.hpp"
#include "simulator/core/value.hpp"

namespace podsim {

enum class VertexKind : std::uint8_t { Ipu, Gateway, Memory, Nic, Switch, Host };
enum class LinkKind : std::uint8_t {
  Rung,         // the links of a pair of IPUs, for traffic between the two
  RungThrough,  // the links of a pair that carry traffic from or to the rails
  Rail,         // to the next pair up or down the ladder
  Pcie,         // IPU to gateway, both ways
  Ddr,          // gateway to its streaming memory
  Ethernet,     // gateway NIC, switch, host NIC
  GwLink,       // between gateways of different IPU-Link domains
  Custom,
};
[[nodiscard]] std::string_view name_of(VertexKind kind);
[[nodiscard]] std::string_view name_of(LinkKind kind);

struct Vertex {
  VertexKind kind = VertexKind::Ipu;
  std::string name;  // "ipu3", "gateway0", …
  int index = 0;     // number among the vertices of its kind
  int machine = -1;  // IPU-Machine, -1: none
  int domain = 0;    // IPU-Link domain
};

struct Link {
  int from = 0, to = 0;  // vertices
  LinkKind kind = LinkKind::Custom;
  std::string name;             // unique: "rail:ipu0>ipu2"
  double bytes_per_second = 0;  // effective: raw x efficiency
  double latency_seconds = 0;
  double efficiency = 1;
};

struct Route {
  std::vector<int> links;  // indices into Topology::links(), in order
  double latency_seconds = 0;
};

enum class LadderEnds : std::uint8_t { Mesh, Torus };

class Topology {
 public:
  Topology(std::string name, std::string chip, std::vector<Vertex> vertices, std::vector<Link> links,
           ParameterSet parameters, LadderEnds ends, bool ladder);
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::string& chip() const;  // "gc2", "gc200", "bow"
  [[nodiscard]] const std::vector<Vertex>& vertices() const;
  [[nodiscard]] const std::vector<Link>& links() const;
  [[nodiscard]] const ParameterSet& parameters() const;  // software and fixed costs of the system (see data/)
  [[nodiscard]] LadderEnds ends() const;
  [[nodiscard]] bool is_ladder() const;  // IPU numbering and routes follow the ladder

  [[nodiscard]] int ipu_count() const;
  [[nodiscard]] int host_count() const;
  [[nodiscard]] int ipu_vertex(int ipu) const;
  [[nodiscard]] int host_vertex(int host) const;
  [[nodiscard]] int memory_vertex_of(int ipu) const;  // streaming memory of its IPU-Machine; -1 where there is none
  [[nodiscard]] int domain_of(int ipu) const;         // IPU-Link domain
  [[nodiscard]] int machine_of(int ipu) const;
  [[nodiscard]] int host_of(int ipu) const;  // host that feeds it: contiguous blocks of machines; -1: none

  // IPU to IPU inside a domain: rung first, then rail, the shorter way round a torus; between domains over the
  // gateways and GW-Links. Everything else, and custom graphs: shortest path (fewest links, ties by index; between
  // IPUs over IPUs alone if possible; memory and hosts pass nothing on). UserError where there is no path. Cached; the
  // returned reference stays valid.
  [[nodiscard]] const Route& route(int from_vertex, int to_vertex) const;
  // The host path in its two halves: host -> NIC -> … -> DDR of that IPU's machine, and DDR -> gateway -> IPU; and
  // back. Where there is no DDR (Mk1 cards), host_to_memory() leads to the IPU itself and memory_to_ipu() is empty.
  [[nodiscard]] const Route& host_to_memory(int host, int ipu) const;
  [[nodiscard]] const Route& memory_to_host(int ipu, int host) const;
  [[nodiscard]] const Route& memory_to_ipu(int ipu) const;
  [[nodiscard]] const Route& ipu_to_memory(int ipu) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

struct PodRequest {
  std::string pod;  // "pod16", "bow-pod64", "c2", "dss8440", … ; or empty with `custom`
  int hosts = 0;    // 0: the pod's default
  Value custom;     // a custom topology file
  Value overrides;  // {"ipu_link_bytes_per_second": …}
  std::string where;
};

// Builds a pod from the data files in `data_folder` (read by the caller into `load`: name -> parsed file).
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  [[nodiscard]] virtual Value load(const std::string& name) const = 0;  // "pods/mk2" -> data/pods/mk2.json
};
[[nodiscard]] Topology build_topology(const PodRequest& request, const ParameterSource& source);

// Named pods with a sentence each, for `podsim list pods`.
struct PodDescription {
  std::string name;
  std::string description;
};
[[nodiscard]] std::vector<PodDescription> named_pods();

// Links and example routes as text; the graph in Graphviz's dot language.
[[nodiscard]] std::string describe(const Topology& topology);
[[nodiscard]] std::string to_dot(const Topology& topology);

}  // namespace podsim
