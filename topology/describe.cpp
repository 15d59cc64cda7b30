// A topology as text for people, and as a graph for Graphviz.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "simulator/core/format.hpp"
#include "topology/topology.hpp"

namespace podsim {

namespace {

constexpr std::array<VertexKind, 6> kVertexKinds = {VertexKind::Ipu, VertexKind::Gateway, VertexKind::Memory,
                                                    VertexKind::Nic, VertexKind::Switch,  VertexKind::Host};

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

const Vertex& vertex(const Topology& topology, int index) {
  return topology.vertices()[static_cast<std::size_t>(index)];
}

std::string shape(const Topology& topology) {
  std::set<int> domains;
  for (int ipu = 0; ipu < topology.ipu_count(); ++ipu) domains.insert(topology.domain_of(ipu));
  const auto count = static_cast<int>(domains.size());
  std::string text = std::to_string(count) + (count == 1 ? " IPU-Link domain" : " IPU-Link domains");
  if (!topology.is_ladder()) return text;
  text += topology.ends() == LadderEnds::Torus ? ", torus of 2 x " : ", mesh of 2 x ";
  return text + std::to_string(topology.ipu_count() / count / 2);
}

std::string vertex_table(const Topology& topology) {
  std::string text = "vertices:";
  for (const VertexKind kind : kVertexKinds) {
    const auto count = std::count_if(topology.vertices().begin(), topology.vertices().end(),
                                     [&](const Vertex& candidate) { return candidate.kind == kind; });
    if (count > 0) text += " " + format_count(count) + " " + std::string(name_of(kind)) + ",";
  }
  text.back() = '\n';
  return text;
}

// One row for all links of the same kind between the same kinds of vertices with the same figures.
std::string link_table(const Topology& topology) {
  using Row = std::tuple<LinkKind, std::string, double, double, double>;
  std::map<Row, long long> rows;
  for (const Link& link : topology.links()) {
    const std::string ends = std::string(name_of(vertex(topology, link.from).kind)) + " > " +
                             std::string(name_of(vertex(topology, link.to).kind));
    ++rows[{link.kind, ends, link.bytes_per_second, link.efficiency, link.latency_seconds}];
  }
  std::ostringstream text;
  text << "links, one per direction:\n  " << padded("kind", 14) << padded("from > to", 18) << padded("count", 9)
       << padded("bandwidth", 13) << padded("of raw", 9) << "latency\n";
  for (const auto& [row, count] : rows) {
    const auto& [kind, ends, bytes_per_second, efficiency, latency] = row;
    text << "  " << padded(std::string(name_of(kind)), 14) << padded(ends, 18) << padded(format_count(count), 9)
         << padded(format_rate(bytes_per_second, "B"), 13) << padded(format_share(efficiency), 9)
         << format_seconds(latency) << '\n';
  }
  return text.str();
}

std::string route_line(const Topology& topology, int from, int to) {
  const Route& route = topology.route(from, to);
  std::string text = "  " + padded(vertex(topology, from).name + " > " + vertex(topology, to).name, 20);
  double slowest = 0;
  for (const int index : route.links) {
    const Link& link = topology.links()[static_cast<std::size_t>(index)];
    text += " " + std::string(name_of(link.kind)) + ">" + vertex(topology, link.to).name;
    slowest = slowest == 0 ? link.bytes_per_second : std::min(slowest, link.bytes_per_second);
  }
  return text + "  (" + format_rate(slowest, "B") + ", " + format_seconds(route.latency_seconds) + ")\n";
}

std::string example_routes(const Topology& topology) {
  std::string text = "routes, for example:\n";
  const int last = topology.ipu_count() - 1;
  std::set<int> goals;
  for (const int ipu : {1, 2, 3, topology.ipu_count() / 2, last}) {
    if (ipu > 0 && ipu <= last && goals.insert(ipu).second) {
      text += route_line(topology, topology.ipu_vertex(0), topology.ipu_vertex(ipu));
    }
  }
  if (topology.memory_vertex_of(0) >= 0) {
    text += route_line(topology, topology.memory_vertex_of(0), topology.ipu_vertex(0));
  }
  if (topology.host_count() > 0) {
    const Route& route = topology.host_to_memory(0, last);
    if (!route.links.empty()) {
      text += route_line(topology, topology.host_vertex(0),
                         topology.links()[static_cast<std::size_t>(route.links.back())].to);
    }
  }
  return text;
}

std::string_view colour_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::Rung: return "#1f77b4";
    case LinkKind::RungThrough: return "#6baed6";
    case LinkKind::Rail: return "#2ca02c";
    case LinkKind::Pcie: return "#7f7f7f";
    case LinkKind::Ddr: return "#8c564b";
    case LinkKind::Ethernet: return "#ff7f0e";
    case LinkKind::GwLink: return "#d62728";
    case LinkKind::Custom: return "#9467bd";
  }
  return "black";
}

std::string_view shape_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::Ipu: return "box";
    case VertexKind::Gateway: return "hexagon";
    case VertexKind::Memory: return "cylinder";
    case VertexKind::Nic: return "oval";
    case VertexKind::Switch: return "diamond";
    case VertexKind::Host: return "box3d";
  }
  return "box";
}

// Names come from the user in custom topologies.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

void write_vertex(std::ostringstream& text, const Vertex& properties, const char* indent) {
  text << indent << quoted(properties.name) << " [shape=" << shape_of(properties.kind) << "];\n";
}

// A link and the equal one back are drawn as one line with two arrows.
void write_edges(std::ostringstream& text, const Topology& topology) {
  std::map<std::tuple<int, int, LinkKind>, const Link*> links;
  for (const Link& link : topology.links()) links.emplace(std::tuple{link.from, link.to, link.kind}, &link);
  for (const Link& link : topology.links()) {
    const auto back = links.find({link.to, link.from, link.kind});
    const bool pair = back != links.end() && back->second->bytes_per_second == link.bytes_per_second;
    if (pair && link.from > link.to) continue;
    text << "  " << quoted(vertex(topology, link.from).name) << " -> " << quoted(vertex(topology, link.to).name)
         << " [color=\"" << colour_of(link.kind) << "\", label=\"" << name_of(link.kind) << "\\n"
         << format_rate(link.bytes_per_second, "B") << '"' << (pair ? ", dir=both" : "") << "];\n";
  }
}

}  // namespace

std::string describe(const Topology& topology) {
  return topology.name() + ": " + format_count(topology.ipu_count()) + " IPUs (" + topology.chip() + "), " +
         shape(topology) + ", " + std::to_string(topology.host_count()) + " host(s)\n" + vertex_table(topology) +
         link_table(topology) + example_routes(topology);
}

std::string to_dot(const Topology& topology) {
  std::ostringstream text;
  text << "digraph " << quoted(topology.name()) << " {\n"
       << "  graph [label=" << quoted(topology.name()) << ", rankdir=LR, fontname=\"sans-serif\"];\n"
       << "  node [fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=8];\n";
  std::map<int, std::vector<const Vertex*>> machines;
  for (const Vertex& properties : topology.vertices()) {
    if (properties.machine >= 0) machines[properties.machine].push_back(&properties);
    if (properties.machine < 0) write_vertex(text, properties, "  ");
  }
  for (const auto& [machine, members] : machines) {
    text << "  subgraph cluster_machine" << machine << " {\n    label=\"machine " << machine << "\";\n";
    for (const Vertex* member : members) write_vertex(text, *member, "    ");
    text << "  }\n";
  }
  write_edges(text, topology);
  text << "}\n";
  return text.str();
}

}  // namespace podsim
