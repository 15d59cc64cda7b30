// Ladders of IPU pairs with everything around them: gateways, streaming memory, NICs, switches, GW-Links and hosts.
#include "topology/pod_builder.hpp"

#include <algorithm>
#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr int kIpusPerMachine = 4;  // Bow-2000 datasheet
constexpr int kIpusPerCard = 2;     // C2
constexpr int kHostsPerDomain = 4;  // IPU-POD64 build and test guide: 1 to 4 servers

class LadderBuilder {
 public:
  LadderBuilder(LadderRequest request, ParameterSet parameters, const std::string& where)
      : request_(std::move(request)), parameters_(std::move(parameters)) {
    cards_ = parameters_.find("memory_bytes_per_second") == nullptr;
    check_figures(where);
    torus_ = request_.ends.empty() ? request_.ipus_per_domain >= get("torus_from_ipus") : request_.ends == "torus";
    if (rungs() < 3) torus_ = false;  // the ends of two rungs are neighbours already
  }

  Topology build() {
    add_ipus();
    add_ipu_links();
    if (cards_) {
      add_card_host();
    } else {
      add_machines();
      add_network();
      if (domains() > 1) add_gw_links();
    }
    return {request_.name,
            parameters_.attributes().at("chip").text(),
            std::move(pod_.vertices),
            std::move(pod_.links),
            parameters_,
            torus_ ? LadderEnds::Torus : LadderEnds::Mesh,
            true};
  }

 private:
  [[nodiscard]] double get(std::string_view name) const { return parameters_.get(name); }
  [[nodiscard]] int domains() const { return request_.ipus / request_.ipus_per_domain; }
  [[nodiscard]] int rungs() const { return request_.ipus_per_domain / 2; }
  [[nodiscard]] int ipus_per_box() const { return cards_ ? kIpusPerCard : kIpusPerMachine; }

  void check_figures(const std::string& where) const {
    for (const Parameter& parameter : parameters_.parameters()) {
      if (parameter.name.ends_with("_efficiency") && parameter.value > 1) {
        throw UserError(where, "\"" + parameter.name + "\" is " + format_exact(parameter.value) + ", more than 1",
                        "an efficiency is the share of the raw bandwidth that is left");
      }
    }
  }

  [[nodiscard]] LinkFigures ipu_links(std::string_view count) const {
    const double efficiency = get("ipu_link_efficiency");
    return {get(count) * get("ipu_link_bytes_per_second") * efficiency, get("ipu_link_latency_seconds"), efficiency};
  }

  // The measured rate between host and IPU, at most the raw rate of the PCIe link.
  [[nodiscard]] LinkFigures pcie(std::string_view rate) const {
    const double raw = get("pcie_bytes_per_second");
    const double bytes_per_second = std::min(raw, get(rate));
    return {bytes_per_second, get("pcie_latency_seconds"), bytes_per_second / raw};
  }

  [[nodiscard]] LinkFigures nic(double ports, double latency_seconds) const {
    return {ports * get("nic_bytes_per_second") * get("nic_efficiency"), latency_seconds, get("nic_efficiency")};
  }

  void add_ipus() {
    for (int ipu = 0; ipu < request_.ipus; ++ipu) {
      pod_.add_vertex(VertexKind::Ipu, "ipu" + std::to_string(ipu), ipu / ipus_per_box(),
                      ipu / request_.ipus_per_domain);
    }
  }

  // IPUs 2k and 2k + 1 are rung k; + 2 leads up the ladder (PopLibs lib/poplibs_test/Util.cpp).
  void add_ipu_links() {
    for (int left = 0; left < request_.ipus; left += 2) {
      if (rungs() == 1) {
        pod_.add_both(left, left + 1, LinkKind::Rung, ipu_links("rung_links_alone"));
      } else {
        pod_.add_both(left, left + 1, LinkKind::Rung, ipu_links("rung_links"));
        pod_.add_both(left, left + 1, LinkKind::RungThrough, ipu_links("rung_through_links"));
      }
    }
    for (int ipu = 0; ipu < request_.ipus; ++ipu) {
      const int place = ipu % request_.ipus_per_domain;
      const bool last = place + 2 >= request_.ipus_per_domain;
      if (last && !torus_) continue;
      const int above = ipu - place + (place + 2) % request_.ipus_per_domain;
      pod_.add_both(ipu, above, LinkKind::Rail, ipu_links("rail_links"));
    }
  }

  void add_card_host() {
    const int host = pod_.add_vertex(VertexKind::Host, "host0", -1, 0);
    for (int ipu = 0; ipu < request_.ipus; ++ipu) {
      pod_.add_link(ipu, host, LinkKind::Pcie, pcie("ipu_to_host_bytes_per_second"));
      pod_.add_link(host, ipu, LinkKind::Pcie, pcie("host_to_ipu_bytes_per_second"));
    }
  }

  // Every stream is staged in the machine's DDR behind the gateway (IPU Programmer's Guide 2.4).
  void add_machines() {
    const double pcie_efficiency = get("pcie_efficiency");
    const LinkFigures to_nic{get("pcie_bytes_per_second") * pcie_efficiency, get("pcie_latency_seconds"),
                             pcie_efficiency};
    for (int machine = 0; machine * kIpusPerMachine < request_.ipus; ++machine) {
      const std::string number = std::to_string(machine);
      const int domain = machine * kIpusPerMachine / request_.ipus_per_domain;
      const int gateway = pod_.add_vertex(VertexKind::Gateway, "gateway" + number, machine, domain);
      const int memory = pod_.add_vertex(VertexKind::Memory, "memory" + number, machine, domain);
      const int nic_vertex = pod_.add_vertex(VertexKind::Nic, "nic" + number, machine, domain);
      gateways_.push_back(gateway);
      nics_.push_back(nic_vertex);
      const int end = std::min(request_.ipus, (machine + 1) * kIpusPerMachine);
      for (int ipu = machine * kIpusPerMachine; ipu < end; ++ipu) {
        pod_.add_link(ipu, gateway, LinkKind::Pcie, pcie("ipu_to_host_bytes_per_second"));
        pod_.add_link(gateway, ipu, LinkKind::Pcie, pcie("host_to_ipu_bytes_per_second"));
      }
      pod_.add_both(gateway, memory, LinkKind::Ddr, {get("memory_bytes_per_second"), get("memory_latency_seconds"), 1});
      pod_.add_both(gateway, nic_vertex, LinkKind::Pcie, to_nic);
    }
  }

  // One host is attached to its machines directly unless they are too many for that; more share a switch. Larger
  // networks are one switch without limits of its own: how their switches are joined is not published.
  void add_network() {
    const LinkFigures cable = nic(1, get("nic_latency_seconds"));
    const LinkFigures ports = nic(get("host_nic_ports"), get("nic_latency_seconds"));
    const bool direct = request_.hosts == 1 && request_.ipus <= kDirectAttachIpus;
    int network = -1;
    if (!direct) {
      network = pod_.add_vertex(VertexKind::Switch, "network", -1, 0);
      const LinkFigures switched = nic(1, get("nic_latency_seconds") + get("ethernet_switch_latency_seconds"));
      for (const int machine_nic : nics_) pod_.add_both(machine_nic, network, LinkKind::Ethernet, switched);
    }
    for (int host = 0; host < request_.hosts; ++host) {
      const int domain = host * domains() / request_.hosts;
      const int vertex = pod_.add_vertex(VertexKind::Host, "host" + std::to_string(host), -1, domain);
      const int host_nic = pod_.add_vertex(VertexKind::Nic, "host-nic" + std::to_string(host), -1, domain);
      pod_.add_both(vertex, host_nic, LinkKind::Ethernet, {ports.bytes_per_second, 0, ports.efficiency});
      if (!direct) pod_.add_both(host_nic, network, LinkKind::Ethernet, ports);
      if (direct) {
        for (const int machine_nic : nics_) pod_.add_both(host_nic, machine_nic, LinkKind::Ethernet, cable);
      }
    }
  }

  // Two domains: each gateway to its counterpart; more: over switches (Pod128 and Pod256 datasheets).
  void add_gw_links() {
    const double efficiency = get("gw_link_efficiency");
    LinkFigures figures{get("gw_links") * get("gw_link_bytes_per_second") * efficiency, get("gw_link_latency_seconds"),
                        efficiency};
    if (domains() == 2) {
      const std::size_t half = gateways_.size() / 2;
      for (std::size_t i = 0; i < half; ++i)
        pod_.add_both(gateways_[i], gateways_[half + i], LinkKind::GwLink, figures);
      return;
    }
    figures.latency_seconds += get("gw_switch_latency_seconds") / 2;  // paid on the way in and on the way out
    const int gw_switch = pod_.add_vertex(VertexKind::Switch, "gw-switch", -1, 0);
    for (const int gateway : gateways_) pod_.add_both(gateway, gw_switch, LinkKind::GwLink, figures);
  }

  static constexpr int kDirectAttachIpus = 16;  // Bow Pod16 datasheet: direct attach; Pod64: top-of-rack switch

  LadderRequest request_;
  ParameterSet parameters_;
  bool cards_ = false;
  bool torus_ = false;
  PodBuilder pod_;
  std::vector<int> gateways_, nics_;
};

}  // namespace

int PodBuilder::add_vertex(VertexKind kind, std::string name, int machine, int domain) {
  const int index = counts_[static_cast<std::size_t>(kind)]++;
  vertices.push_back({kind, std::move(name), index, machine, domain});
  return static_cast<int>(vertices.size()) - 1;
}

void PodBuilder::add_link(int from, int to, LinkKind kind, const LinkFigures& figures) {
  std::string name = std::string(name_of(kind)) + ":" + vertices[static_cast<std::size_t>(from)].name + ">" +
                     vertices[static_cast<std::size_t>(to)].name;
  links.push_back(
      {from, to, kind, std::move(name), figures.bytes_per_second, figures.latency_seconds, figures.efficiency});
}

void PodBuilder::add_both(int left, int right, LinkKind kind, const LinkFigures& figures) {
  add_link(left, right, kind, figures);
  add_link(right, left, kind, figures);
}

Topology build_ladder(const LadderRequest& request, ParameterSet parameters, const std::string& where) {
  return LadderBuilder(request, std::move(parameters), where).build();
}

int checked_hosts(const std::string& pod, int hosts, int domains, bool cards, const std::string& where) {
  const int least = cards ? 1 : domains, most = cards ? 1 : kHostsPerDomain * domains;
  if (hosts == 0) return least;
  if (hosts >= least && hosts <= most) return hosts;
  const std::string limits =
      least == most ? "exactly " + std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  throw UserError(where, pod + " takes " + limits + " host(s), not " + std::to_string(hosts),
                  domains > 1 ? "every IPU-Link domain needs a host process of its own" : "set \"hosts\" accordingly");
}

}  // namespace podsim
