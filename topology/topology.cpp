// The pod as a directed Boost.Graph and the routes on it: found on demand, kept in a sparse table.
#include "topology/topology.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <map>
#include <unordered_map>
#include <utility>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

struct EdgeLink {
  int link = 0;
};
using Adjacency = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, EdgeLink>;

// Which vertices may pass traffic on. Memory and hosts are ends; IPUs pass on only what goes between IPUs.
enum class Transit : std::uint8_t { IpusOnly, NoIpus };

struct Passable {
  const std::vector<Vertex>* vertices = nullptr;
  std::size_t from = 0, to = 0;
  Transit transit = Transit::NoIpus;

  bool operator()(std::size_t vertex) const {
    if (vertex == from || vertex == to) return true;
    const VertexKind kind = (*vertices)[vertex].kind;
    if (transit == Transit::IpusOnly) return kind == VertexKind::Ipu;
    return kind == VertexKind::Gateway || kind == VertexKind::Nic || kind == VertexKind::Switch;
  }
};

// Remembers the link by which the search first reached each vertex; links of a vertex are tried in order of index.
class FirstLinks : public boost::default_bfs_visitor {
 public:
  explicit FirstLinks(std::vector<int>& links) : links_(&links) {}
  template <typename EdgeType, typename GraphType>
  void tree_edge(EdgeType edge, const GraphType& graph) {
    (*links_)[target(edge, graph)] = graph[edge].link;
  }

 private:
  std::vector<int>* links_;
};

}  // namespace

struct Topology::Graph {
  Graph(std::string pod_name, std::string chip_name, std::vector<Vertex> all_vertices, std::vector<Link> all_links,
        ParameterSet all_parameters, LadderEnds ladder_ends, bool is_ladder);

  [[nodiscard]] int parent_of(int vertex) const;
  [[nodiscard]] int neighbour(int vertex, VertexKind kind, bool of_machine) const;
  [[nodiscard]] int find_link(int from, int to, LinkKind kind) const;
  [[nodiscard]] int only_link(int from, int to) const;
  [[nodiscard]] int gateway_partner(int gateway) const;
  [[nodiscard]] const Route& route(int from, int to) const;
  [[nodiscard]] std::vector<int> find_route(int from, int to) const;
  [[nodiscard]] std::vector<int> shortest(int from, int to, Transit transit) const;
  [[nodiscard]] std::vector<int> shortest_or_error(int from, int to) const;
  [[nodiscard]] std::vector<int> along_tree(int from, int to) const;
  void along_ladder(int from, int to, std::vector<int>& route) const;
  [[nodiscard]] std::vector<int> across_domains(int from, int to) const;
  void index_vertices();

  std::string name, chip;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  ParameterSet parameters;
  LadderEnds ends;
  bool ladder;

  Adjacency adjacency;
  std::vector<int> ipus, hosts;           // vertices
  std::map<int, int> memory_of_machine;   // vertices
  std::map<int, int> first_ipu, ipus_in;  // of a domain
  int machines = 0;                       // of IPUs
  std::vector<int> parents;               // ladders: next vertex towards the Ethernet; -1 at the root and off the tree
  mutable std::unordered_map<std::uint64_t, Route> routes;
  Route none;
};

Topology::Graph::Graph(std::string pod_name, std::string chip_name, std::vector<Vertex> all_vertices,
                       std::vector<Link> all_links, ParameterSet all_parameters, LadderEnds ladder_ends, bool is_ladder)
    : name(std::move(pod_name)),
      chip(std::move(chip_name)),
      vertices(std::move(all_vertices)),
      links(std::move(all_links)),
      parameters(std::move(all_parameters)),
      ends(ladder_ends),
      ladder(is_ladder),
      adjacency(vertices.size()) {
  const int count = static_cast<int>(vertices.size());
  for (std::size_t index = 0; index < links.size(); ++index) {
    const Link& link = links[index];
    if (link.from < 0 || link.from >= count || link.to < 0 || link.to >= count) {
      throw InternalError("link " + link.name + " ends outside the topology");
    }
    boost::add_edge(static_cast<std::size_t>(link.from), static_cast<std::size_t>(link.to),
                    EdgeLink{static_cast<int>(index)}, adjacency);
  }
  index_vertices();
}

void Topology::Graph::index_vertices() {
  for (int vertex = 0; vertex < static_cast<int>(vertices.size()); ++vertex) {
    const Vertex& properties = vertices[static_cast<std::size_t>(vertex)];
    if (properties.kind == VertexKind::Host) hosts.push_back(vertex);
    if (properties.kind == VertexKind::Memory && properties.machine >= 0) {
      memory_of_machine.emplace(properties.machine, vertex);
    }
    if (properties.kind != VertexKind::Ipu) continue;
    first_ipu.emplace(properties.domain, static_cast<int>(ipus.size()));
    ++ipus_in[properties.domain];
    machines = std::max(machines, properties.machine + 1);
    ipus.push_back(vertex);
  }
  if (!ladder) return;
  parents.resize(vertices.size(), -1);
  for (std::size_t vertex = 0; vertex < vertices.size(); ++vertex)
    parents[vertex] = parent_of(static_cast<int>(vertex));
}

// The first neighbour of a kind, in order of links; with `of_machine` one inside an IPU-Machine, else one outside.
int Topology::Graph::neighbour(int vertex, VertexKind kind, bool of_machine) const {
  for (const auto& edge : boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(vertex), adjacency))) {
    const auto end = boost::target(edge, adjacency);
    if (vertices[end].kind == kind && (vertices[end].machine >= 0) == of_machine) return static_cast<int>(end);
  }
  return -1;
}

// In a ladder, all that is not an IPU-Link or GW-Link forms a tree under the Ethernet switch (or the one host).
int Topology::Graph::parent_of(int vertex) const {
  const Vertex& properties = vertices[static_cast<std::size_t>(vertex)];
  switch (properties.kind) {
    case VertexKind::Ipu: {
      const int gateway = neighbour(vertex, VertexKind::Gateway, true);
      return gateway >= 0 ? gateway : neighbour(vertex, VertexKind::Host, false);
    }
    case VertexKind::Memory: return neighbour(vertex, VertexKind::Gateway, true);
    case VertexKind::Gateway: return neighbour(vertex, VertexKind::Nic, true);
    case VertexKind::Nic: {
      const int network = neighbour(vertex, VertexKind::Switch, false);
      if (network >= 0 || properties.machine < 0) return network;
      return neighbour(vertex, VertexKind::Nic, false);
    }
    case VertexKind::Host: return neighbour(vertex, VertexKind::Nic, false);
    case VertexKind::Switch: return -1;
  }
  return -1;
}

int Topology::Graph::find_link(int from, int to, LinkKind kind) const {
  for (const auto& edge : boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(from), adjacency))) {
    const int link = adjacency[edge].link;
    if (static_cast<int>(boost::target(edge, adjacency)) == to && links[static_cast<std::size_t>(link)].kind == kind) {
      return link;
    }
  }
  throw InternalError("no " + std::string(name_of(kind)) + " link from " +
                      vertices[static_cast<std::size_t>(from)].name + " to " +
                      vertices[static_cast<std::size_t>(to)].name);
}

// The link between two neighbours of the tree, found from the end with fewer links (a switch has thousands).
int Topology::Graph::only_link(int from, int to) const {
  const auto source = static_cast<std::size_t>(from), end = static_cast<std::size_t>(to);
  if (boost::out_degree(source, adjacency) <= boost::in_degree(end, adjacency)) {
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(source, adjacency))) {
      if (boost::target(edge, adjacency) == end) return adjacency[edge].link;
    }
  } else {
    for (const auto& edge : boost::make_iterator_range(boost::in_edges(end, adjacency))) {
      if (boost::source(edge, adjacency) == source) return adjacency[edge].link;
    }
  }
  throw InternalError("no link from " + vertices[source].name + " to " + vertices[end].name);
}

// The other end of a gateway's GW-Links: a switch, the gateway of another domain, or -1.
int Topology::Graph::gateway_partner(int gateway) const {
  for (const auto& edge : boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(gateway), adjacency))) {
    const Link& link = links[static_cast<std::size_t>(adjacency[edge].link)];
    if (link.kind == LinkKind::GwLink) return link.to;
  }
  return -1;
}

const Route& Topology::Graph::route(int from, int to) const {
  const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
  const auto known = routes.find(key);
  if (known != routes.end()) return known->second;
  Route found;
  if (from != to) found.links = find_route(from, to);
  for (const int link : found.links) found.latency_seconds += links[static_cast<std::size_t>(link)].latency_seconds;
  return routes.emplace(key, std::move(found)).first->second;
}

std::vector<int> Topology::Graph::find_route(int from, int to) const {
  if (!ladder) return shortest_or_error(from, to);
  const Vertex& source = vertices[static_cast<std::size_t>(from)];
  const Vertex& end = vertices[static_cast<std::size_t>(to)];
  if (source.kind != VertexKind::Ipu || end.kind != VertexKind::Ipu) {
    std::vector<int> found = along_tree(from, to);
    return found.empty() ? shortest_or_error(from, to) : found;
  }
  if (source.domain != end.domain) return across_domains(from, to);
  std::vector<int> found;
  along_ladder(from, to, found);
  return found;
}

// Dimension order: the rung first, then along the rail (PopLibs lib/poplibs_test/Util.cpp); on a torus the shorter way
// round, upwards where both are equal.
void Topology::Graph::along_ladder(int from, int to, std::vector<int>& route) const {
  const int domain = vertices[static_cast<std::size_t>(from)].domain;
  const int first = first_ipu.at(domain);
  const int rungs = ipus_in.at(domain) / 2;
  int here = vertices[static_cast<std::size_t>(from)].index - first;
  const int goal = vertices[static_cast<std::size_t>(to)].index - first;
  const auto vertex = [&](int place) { return ipus[static_cast<std::size_t>(first + place)]; };
  if (here % 2 != goal % 2) {
    const int mate = here ^ 1;
    route.push_back(find_link(vertex(here), vertex(mate), mate == goal ? LinkKind::Rung : LinkKind::RungThrough));
    here = mate;
  }
  if (here == goal) return;
  int up = goal / 2 > here / 2 ? 1 : -1;
  if (ends == LadderEnds::Torus) {
    const int distance_up = (goal / 2 - here / 2 + rungs) % rungs;
    up = 2 * distance_up <= rungs ? 1 : -1;
  }
  while (here != goal) {
    const int next = 2 * ((here / 2 + up + rungs) % rungs) + here % 2;
    route.push_back(find_link(vertex(here), vertex(next), LinkKind::Rail));
    here = next;
  }
}

// IPU, gateway, GW-Links, gateway, IPU. Gateways that are cabled machine to machine reach only their counterpart, so
// the ladder first leads to the IPU with the destination's place in the own domain.
std::vector<int> Topology::Graph::across_domains(int from, int to) const {
  std::vector<int> found;
  const Vertex& source = vertices[static_cast<std::size_t>(from)];
  const Vertex& end = vertices[static_cast<std::size_t>(to)];
  const int own_gateway = parents[static_cast<std::size_t>(from)];
  const int partner = own_gateway < 0 ? -1 : gateway_partner(own_gateway);
  if (partner < 0) throw InternalError(name + " has no GW-Links between its domains");
  int last = from;
  const bool switched = vertices[static_cast<std::size_t>(partner)].kind == VertexKind::Switch;
  if (!switched) {
    const int place = first_ipu.at(source.domain) + end.index - first_ipu.at(end.domain);
    last = ipus[static_cast<std::size_t>(place)];
    along_ladder(from, last, found);
  }
  const int near = parents[static_cast<std::size_t>(last)];
  const int far = parents[static_cast<std::size_t>(to)];
  found.push_back(only_link(last, near));
  if (switched) found.push_back(only_link(near, partner));
  found.push_back(only_link(switched ? partner : near, far));
  found.push_back(only_link(far, to));
  return found;
}

// Up the tree to the first common vertex, then down. Empty where there is none.
std::vector<int> Topology::Graph::along_tree(int from, int to) const {
  std::vector<int> up{from}, down{to};
  while (parents[static_cast<std::size_t>(up.back())] >= 0) up.push_back(parents[static_cast<std::size_t>(up.back())]);
  auto meeting = std::find(up.begin(), up.end(), to);
  while (meeting == up.end()) {
    const int next = parents[static_cast<std::size_t>(down.back())];
    if (next < 0) return {};
    down.push_back(next);
    meeting = std::find(up.begin(), up.end(), next);
  }
  std::vector<int> path(up.begin(), meeting);
  path.insert(path.end(), down.rbegin(), down.rend());
  std::vector<int> found;
  for (std::size_t i = 1; i < path.size(); ++i) found.push_back(only_link(path[i - 1], path[i]));
  return found;
}

// Fewest links, ties by the order of the links. Empty where there is no path.
std::vector<int> Topology::Graph::shortest(int from, int to, Transit transit) const {
  const auto source = static_cast<std::size_t>(from);
  const Passable passable{&vertices, source, static_cast<std::size_t>(to), transit};
  const boost::filtered_graph<Adjacency, boost::keep_all, Passable> open(adjacency, {}, passable);
  std::vector<int> first_links(vertices.size(), -1);
  boost::breadth_first_search(open, source, boost::visitor(FirstLinks(first_links)));
  std::vector<int> found;
  for (int vertex = to; vertex != from;) {
    const int link = first_links[static_cast<std::size_t>(vertex)];
    if (link < 0) return {};
    found.push_back(link);
    vertex = links[static_cast<std::size_t>(link)].from;
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// Between IPUs over IPUs alone if possible, as IPU-Links are what they talk over.
std::vector<int> Topology::Graph::shortest_or_error(int from, int to) const {
  const Vertex& source = vertices[static_cast<std::size_t>(from)];
  const Vertex& end = vertices[static_cast<std::size_t>(to)];
  std::vector<int> found;
  if (source.kind == VertexKind::Ipu && end.kind == VertexKind::Ipu) found = shortest(from, to, Transit::IpusOnly);
  if (found.empty()) found = shortest(from, to, Transit::NoIpus);
  if (!found.empty()) return found;
  throw UserError(name, "there is no path from " + source.name + " to " + end.name,
                  "add links; memory and hosts pass nothing on, IPUs only what goes between IPUs");
}

Topology::Topology(std::string name, std::string chip, std::vector<Vertex> vertices, std::vector<Link> links,
                   ParameterSet parameters, LadderEnds ends, bool ladder)
    : graph_(std::make_unique<Graph>(std::move(name), std::move(chip), std::move(vertices), std::move(links),
                                     std::move(parameters), ends, ladder)) {}
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

const std::string& Topology::name() const { return graph_->name; }
const std::string& Topology::chip() const { return graph_->chip; }
const std::vector<Vertex>& Topology::vertices() const { return graph_->vertices; }
const std::vector<Link>& Topology::links() const { return graph_->links; }
const ParameterSet& Topology::parameters() const { return graph_->parameters; }
LadderEnds Topology::ends() const { return graph_->ends; }
bool Topology::is_ladder() const { return graph_->ladder; }
int Topology::ipu_count() const { return static_cast<int>(graph_->ipus.size()); }
int Topology::host_count() const { return static_cast<int>(graph_->hosts.size()); }

namespace {

int vertex_at(const std::vector<int>& list, int index, const char* what, const std::string& pod) {
  if (index >= 0 && index < static_cast<int>(list.size())) return list[static_cast<std::size_t>(index)];
  throw InternalError(pod + " has no " + what + " " + std::to_string(index));
}

}  // namespace

int Topology::ipu_vertex(int ipu) const { return vertex_at(graph_->ipus, ipu, "IPU", graph_->name); }
int Topology::host_vertex(int host) const { return vertex_at(graph_->hosts, host, "host", graph_->name); }

int Topology::memory_vertex_of(int ipu) const {
  const auto found = graph_->memory_of_machine.find(machine_of(ipu));
  return found == graph_->memory_of_machine.end() ? -1 : found->second;
}

int Topology::domain_of(int ipu) const { return vertices()[static_cast<std::size_t>(ipu_vertex(ipu))].domain; }
int Topology::machine_of(int ipu) const { return vertices()[static_cast<std::size_t>(ipu_vertex(ipu))].machine; }

int Topology::host_of(int ipu) const {
  if (host_count() == 0) return -1;
  const bool whole_machines = machine_of(ipu) >= 0 && graph_->machines >= host_count();
  const std::int64_t place = whole_machines ? machine_of(ipu) : ipu;
  return static_cast<int>(place * host_count() / (whole_machines ? graph_->machines : ipu_count()));
}

const Route& Topology::route(int from_vertex, int to_vertex) const {
  const int count = static_cast<int>(graph_->vertices.size());
  if (from_vertex < 0 || from_vertex >= count || to_vertex < 0 || to_vertex >= count) {
    throw InternalError(name() + ": a route ends outside the topology");
  }
  return graph_->route(from_vertex, to_vertex);
}

const Route& Topology::host_to_memory(int host, int ipu) const {
  const int memory = memory_vertex_of(ipu);
  return route(host_vertex(host), memory >= 0 ? memory : ipu_vertex(ipu));
}

const Route& Topology::memory_to_host(int ipu, int host) const {
  const int memory = memory_vertex_of(ipu);
  return route(memory >= 0 ? memory : ipu_vertex(ipu), host_vertex(host));
}

const Route& Topology::memory_to_ipu(int ipu) const {
  const int memory = memory_vertex_of(ipu);
  return memory >= 0 ? route(memory, ipu_vertex(ipu)) : graph_->none;
}

const Route& Topology::ipu_to_memory(int ipu) const {
  const int memory = memory_vertex_of(ipu);
  return memory >= 0 ? route(ipu_vertex(ipu), memory) : graph_->none;
}

}  // namespace podsim
