// Topologies from a user's file: either a ladder of any length, or vertices and links one by one. Everything is
// checked before the graph exists.
#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <map>
#include <set>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/core/option.hpp"
#include "topology/pod_builder.hpp"

namespace podsim {

namespace {

constexpr double kLargestCount = 65536;

// Parameters that are not about links, so that they matter in a topology whose links are in its file, too.
constexpr std::array<std::string_view, 6> kOtherParameters = {"exchange_fixed_seconds", "collective_step_fixed_seconds",
                                                              "host_sync_seconds",      "host_cores",
                                                              "host_numa_nodes",        "numa_remote_slowdown"};

const std::map<std::string, VertexKind>& vertex_kinds() {
  static const std::map<std::string, VertexKind> kinds = [] {
    std::map<std::string, VertexKind> names;
    for (const VertexKind kind : {VertexKind::Ipu, VertexKind::Gateway, VertexKind::Memory, VertexKind::Nic,
                                  VertexKind::Switch, VertexKind::Host}) {
      names.emplace(name_of(kind), kind);
    }
    return names;
  }();
  return kinds;
}

const std::map<std::string, LinkKind>& link_kinds() {
  static const std::map<std::string, LinkKind> kinds = [] {
    std::map<std::string, LinkKind> names;
    for (const LinkKind kind : {LinkKind::Rung, LinkKind::RungThrough, LinkKind::Rail, LinkKind::Pcie, LinkKind::Ddr,
                                LinkKind::Ethernet, LinkKind::GwLink, LinkKind::Custom}) {
      names.emplace(name_of(kind), kind);
    }
    return names;
  }();
  return kinds;
}

template <typename Kind>
std::vector<std::string> names_of(const std::map<std::string, Kind>& kinds) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds) names.push_back(name);
  return names;
}

std::vector<Option> file_options() {
  return {
      {.name = "name", .type = OptionType::Text, .help = "name of the topology", .required = true},
      {.name = "description", .type = OptionType::Text, .help = "one sentence"},
      {.name = "system",
       .type = OptionType::Choice,
       .default_value = "mk2",
       .help = "whose chip and fixed costs, and for a ladder whose links, it has",
       .choices = {"mk1", "mk2", "bow"}},
      {.name = "ladder", .type = OptionType::Object, .help = "a ladder of IPU pairs; instead of vertices and links"},
      {.name = "vertices", .type = OptionType::Any, .help = "list of vertices"},
      {.name = "links", .type = OptionType::Any, .help = "list of links"}};
}

std::vector<Option> ladder_options() {
  return {{.name = "ipus",
           .type = OptionType::Integer,
           .help = "IPUs of the whole system",
           .minimum = 2,
           .maximum = kLargestCount,
           .required = true},
          {.name = "ipus_per_domain",
           .type = OptionType::Integer,
           .help = "IPUs of one IPU-Link domain; default: all of them, at most 64",
           .minimum = 2,
           .maximum = kIpusPerDomain},
          {.name = "ends",
           .type = OptionType::Choice,
           .help = "whether the ends of a ladder loop round; default: as in a Pod of that size",
           .choices = {"mesh", "torus"}},
          {.name = "hosts", .type = OptionType::Integer, .help = "servers", .minimum = 1, .maximum = kLargestCount}};
}

std::vector<Option> vertex_options() {
  return {{.name = "name", .type = OptionType::Text, .help = "a name of its own", .required = true},
          {.name = "kind",
           .type = OptionType::Choice,
           .help = "what it is",
           .choices = names_of(vertex_kinds()),
           .required = true},
          {.name = "machine",
           .type = OptionType::Integer,
           .default_value = -1,
           .help = "number of its IPU-Machine: an IPU uses the memory of its machine; -1: none",
           .minimum = -1,
           .maximum = kLargestCount},
          {.name = "domain",
           .type = OptionType::Integer,
           .default_value = 0,
           .help = "number of its IPU-Link domain",
           .minimum = 0,
           .maximum = kLargestCount}};
}

std::vector<Option> link_options() {
  return {{.name = "from", .type = OptionType::Text, .help = "name of a vertex", .required = true},
          {.name = "to", .type = OptionType::Text, .help = "name of a vertex", .required = true},
          {.name = "kind",
           .type = OptionType::Choice,
           .default_value = "custom",
           .help = "what it is",
           .choices = names_of(link_kinds())},
          {.name = "bytes_per_second", .type = OptionType::Number, .help = "raw, per direction", .required = true},
          {.name = "efficiency",
           .type = OptionType::Number,
           .default_value = 1.0,
           .help = "share of the raw bandwidth that is left",
           .maximum = 1},
          {.name = "latency_seconds", .type = OptionType::Number, .default_value = 0.0, .help = "in s", .minimum = 0},
          {.name = "both_ways",
           .type = OptionType::Boolean,
           .default_value = true,
           .help = "whether there is an equal link back"}};
}

double positive(const Options& options, std::string_view name) {
  const double value = options.number(name);
  if (value > 0) return value;
  throw UserError(options.where(name),
                  "\"" + std::string(name) + "\" must be more than 0, found " + format_exact(value));
}

// Reads vertices and links of a file into a builder.
class CustomReader {
 public:
  PodBuilder read(const Options& file) {
    for (const Value& vertex : list(file, "vertices")) read_vertex(vertex);
    for (const Value& link : list(file, "links")) read_link(link);
    check_ipus(file);
    return std::move(pod_);
  }

 private:
  static const Value::Array& list(const Options& file, std::string_view name) {
    if (file.has(name)) return file.value(name).array();
    throw UserError(file.where(), "\"" + std::string(name) + "\" is missing",
                    "give \"vertices\" and \"links\", or \"ladder\"");
  }

  void read_vertex(const Value& value) {
    const Options options = read_options(value, vertex_options());
    const std::string& name = options.text("name");
    const int vertex = static_cast<int>(pod_.vertices.size());
    if (!by_name_.emplace(name, vertex).second) {
      throw UserError(options.where("name"), "there is a vertex \"" + name + "\" already",
                      "give each a name of its own");
    }
    const VertexKind kind = vertex_kinds().at(options.text("kind"));
    const int machine = static_cast<int>(options.integer("machine"));
    if (kind == VertexKind::Memory && machine < 0) {
      throw UserError(value.where(), "\"" + name + "\" belongs to no machine, so no IPU would use it",
                      "give the memory and its IPUs the same \"machine\"");
    }
    if (kind == VertexKind::Memory && !memories_.insert(machine).second) {
      throw UserError(value.where(), "machine " + std::to_string(machine) + " has a memory already",
                      "give one memory per machine, and number the machines");
    }
    pod_.add_vertex(kind, name, machine, static_cast<int>(options.integer("domain")));
  }

  [[nodiscard]] int vertex_named(const Options& options, std::string_view end) const {
    const std::string& name = options.text(end);
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& [vertex, index] : by_name_) known.push_back(vertex);
    const std::string nearest = nearest_name(name, known);
    throw UserError(options.where(end), "there is no vertex \"" + name + "\"",
                    nearest.empty() ? "name one of \"vertices\"" : "did you mean \"" + nearest + "\"?");
  }

  void read_link(const Value& value) {
    const Options options = read_options(value, link_options());
    const int from = vertex_named(options, "from"), to = vertex_named(options, "to");
    if (from == to) throw UserError(value.where(), "the link leads from \"" + options.text("from") + "\" to itself");
    const double efficiency = positive(options, "efficiency");
    const LinkFigures figures{positive(options, "bytes_per_second") * efficiency, options.number("latency_seconds"),
                              efficiency};
    const LinkKind kind = link_kinds().at(options.text("kind"));
    add_link(value, from, to, kind, figures);
    if (options.boolean("both_ways")) add_link(value, to, from, kind, figures);
  }

  void add_link(const Value& value, int from, int to, LinkKind kind, const LinkFigures& figures) {
    if (!joined_.emplace(from, to).second) {
      throw UserError(value.where(),
                      "there is a link from \"" + pod_.vertices[static_cast<std::size_t>(from)].name + "\" to \"" +
                          pod_.vertices[static_cast<std::size_t>(to)].name + "\" already",
                      "give one link with the sum of the bandwidths (\"both_ways\" is the default)");
    }
    pod_.add_link(from, to, kind, figures);
  }

  // Every IPU must reach every other one and be reached.
  void check_ipus(const Options& file) const {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(pod_.vertices.size());
    for (const Link& link : pod_.links) {
      boost::add_edge(static_cast<std::size_t>(link.from), static_cast<std::size_t>(link.to), graph);
    }
    std::vector<int> component(pod_.vertices.size());
    boost::strong_components(graph,
                             boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, graph)));
    const Vertex* first = nullptr;
    std::size_t first_place = 0;
    for (std::size_t vertex = 0; vertex < pod_.vertices.size(); ++vertex) {
      if (pod_.vertices[vertex].kind != VertexKind::Ipu) continue;
      if (first == nullptr) {
        first = &pod_.vertices[vertex];
        first_place = vertex;
      } else if (component[vertex] != component[first_place]) {
        throw UserError(
            file.where("links"),
            "\"" + first->name + "\" and \"" + pod_.vertices[vertex].name + "\" are not connected in both directions",
            "add links between them");
      }
    }
    if (first == nullptr) throw UserError(file.where("vertices"), "there is no IPU", "add vertices of kind \"ipu\"");
  }

  PodBuilder pod_;
  std::map<std::string, int> by_name_;
  std::set<int> memories_;
  std::set<std::pair<int, int>> joined_;
};

Topology build_custom_ladder(const PodRequest& request, const Options& file, ParameterSet parameters) {
  for (const char* name : {"vertices", "links"}) {
    if (file.has(name))
      throw UserError(file.where(name), "a \"ladder\" brings its own vertices and links", "leave one out");
  }
  const Options ladder = read_options(file.value("ladder"), ladder_options());
  const bool cards = parameters.find("memory_bytes_per_second") == nullptr;
  const int ipus = static_cast<int>(ladder.integer("ipus"));
  const int domain = static_cast<int>(ladder.has("ipus_per_domain") ? ladder.integer("ipus_per_domain")
                                                                    : std::min(ipus, kIpusPerDomain));
  const int box = cards ? 2 : 4;
  if (ipus != 2 && (domain % box != 0 || ipus % domain != 0)) {
    throw UserError(ladder.where("ipus"),
                    std::to_string(ipus) + " IPUs in domains of " + std::to_string(domain) + " cannot be built",
                    "a domain is whole machines of " + std::to_string(box) +
                        " IPUs, a system whole domains; 2 IPUs are a pair on its own");
  }
  if (cards && ipus != domain) {
    throw UserError(ladder.where("ipus"), "Mk1 cards have no gateways to join IPU-Link domains with",
                    "use system \"mk2\" or \"bow\", or one domain of at most 64 IPUs");
  }
  const std::string ends = ladder.has("ends") ? ladder.text("ends") : "";
  if (ends == "torus" && domain < 6) {
    throw UserError(ladder.where("ends"), "the ends of " + std::to_string(domain) + " IPUs are neighbours already",
                    "a torus takes at least 3 pairs of IPUs");
  }
  const bool given = ladder.has("hosts");
  const int wanted = request.hosts != 0 || !given ? request.hosts : static_cast<int>(ladder.integer("hosts"));
  const std::string where = request.hosts == 0 && given ? ladder.where("hosts") : request.where;
  const int hosts = checked_hosts(file.text("name"), wanted, ipus / domain, cards, where);
  return build_ladder({file.text("name"), ipus, domain, hosts, ends}, std::move(parameters), request.where);
}

void check_overrides(const Value& overrides, const ParameterSet& parameters) {
  if (overrides.is_null()) return;
  for (const auto& [name, value] : overrides.object()) {
    const bool other = std::find(kOtherParameters.begin(), kOtherParameters.end(), name) != kOtherParameters.end();
    if (other || parameters.find(name) == nullptr) continue;  // an unknown name has its own message
    throw UserError(value.where(), "\"" + name + "\" has no effect on a topology whose links are in its file",
                    "change the link there");
  }
}

}  // namespace

Topology build_custom(const PodRequest& request, const ParameterSource& source) {
  if (!request.pod.empty()) {
    throw UserError(request.where, "both a pod and a topology file are given", "leave one out");
  }
  const Options file = read_options(request.custom, file_options());
  ParameterSet parameters(source.load("pods/" + file.text("system")));
  if (file.has("ladder")) {
    parameters.override_with(request.overrides);
    return build_custom_ladder(request, file, std::move(parameters));
  }
  check_overrides(request.overrides, parameters);
  parameters.override_with(request.overrides);
  PodBuilder pod = CustomReader().read(file);
  const auto hosts = std::count_if(pod.vertices.begin(), pod.vertices.end(),
                                   [](const Vertex& vertex) { return vertex.kind == VertexKind::Host; });
  if (request.hosts != 0 && request.hosts != hosts) {
    throw UserError(
        request.where,
        "\"" + file.text("name") + "\" has " + std::to_string(hosts) + " host(s), not " + std::to_string(request.hosts),
        "add vertices of kind \"host\" to the topology, or leave \"hosts\" out");
  }
  std::string chip = parameters.attributes().at("chip").text();
  return {file.text("name"),
          std::move(chip),
          std::move(pod.vertices),
          std::move(pod.links),
          std::move(parameters),
          LadderEnds::Mesh,
          false};
}

}  // namespace podsim
