// What each pod consists of, counted by hand from the datasheets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/unit/topology/pods.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kIpuLink = 16e9 * 0.85;  // B/s per link and direction

std::map<VertexKind, int> count_vertices(const Topology& pod) {
  std::map<VertexKind, int> counts;
  for (const Vertex& vertex : pod.vertices()) ++counts[vertex.kind];
  return counts;
}

std::map<LinkKind, int> count_links(const Topology& pod) {
  std::map<LinkKind, int> counts;
  for (const Link& link : pod.links()) ++counts[link.kind];
  return counts;
}

bool is_ipu_link(const Link& link) {
  return link.kind == LinkKind::Rung || link.kind == LinkKind::RungThrough || link.kind == LinkKind::Rail;
}

// One direction across the middle of the ladder, over IPU-Links.
double bisection(const Topology& pod) {
  double bytes_per_second = 0;
  for (const Link& link : pod.links()) {
    const int half = pod.ipu_count() / 2;
    if (is_ipu_link(link) && link.from < half && link.to >= half) bytes_per_second += link.bytes_per_second;
  }
  return bytes_per_second;
}

TEST(Pods, Pod16HasFourMachinesInAMeshAndOneHost) {
  const Topology pod = make_pod("pod16");
  EXPECT_EQ(pod.chip(), "gc200");
  EXPECT_EQ(pod.ends(), LadderEnds::Mesh);
  EXPECT_EQ(count_vertices(pod), (std::map<VertexKind, int>{{VertexKind::Ipu, 16},
                                                            {VertexKind::Gateway, 4},
                                                            {VertexKind::Memory, 4},
                                                            {VertexKind::Nic, 5},
                                                            {VertexKind::Host, 1}}));
  // 8 rungs, 2 rails of 7 hops, 16 IPU-gateway and 4 gateway-NIC, 4 DDR, 4 cables and the host's NIC; both ways.
  EXPECT_EQ(count_links(pod), (std::map<LinkKind, int>{{LinkKind::Rung, 16},
                                                       {LinkKind::RungThrough, 16},
                                                       {LinkKind::Rail, 28},
                                                       {LinkKind::Pcie, 40},
                                                       {LinkKind::Ddr, 8},
                                                       {LinkKind::Ethernet, 10}}));
  EXPECT_DOUBLE_EQ(bisection(pod), 2 * 2 * kIpuLink);
}

TEST(Pods, Pod64IsATorusBehindASwitch) {
  const Topology pod = make_pod("bow-pod64");
  EXPECT_EQ(pod.chip(), "bow");
  EXPECT_EQ(pod.ends(), LadderEnds::Torus);
  const std::map<VertexKind, int> vertices = count_vertices(pod);
  EXPECT_EQ(vertices.at(VertexKind::Gateway), 16);
  EXPECT_EQ(vertices.at(VertexKind::Switch), 1);
  EXPECT_EQ(count_links(pod).at(LinkKind::Rail), 2 * 32 * 2);
  EXPECT_DOUBLE_EQ(bisection(pod), 4 * 2 * kIpuLink);  // twice the mesh: the ladder is cut in two places
}

TEST(Pods, EveryIpuOfATorusUsesItsTenLinksBothWays) {
  const Topology pod = make_pod("pod64");
  std::vector<double> out(64, 0), in(64, 0);
  for (const Link& link : pod.links()) {
    if (!is_ipu_link(link)) continue;
    out[static_cast<std::size_t>(link.from)] += link.bytes_per_second;
    in[static_cast<std::size_t>(link.to)] += link.bytes_per_second;
  }
  for (int ipu = 0; ipu < 64; ++ipu) {
    EXPECT_DOUBLE_EQ(out[static_cast<std::size_t>(ipu)], 10 * kIpuLink) << ipu;
    EXPECT_DOUBLE_EQ(in[static_cast<std::size_t>(ipu)], 10 * kIpuLink) << ipu;
  }
}

TEST(Pods, EveryLinkHasAnEqualOneBackExceptIpuPcie) {
  const Topology pod = make_pod("pod256", 4);
  std::map<std::tuple<int, int, LinkKind>, double> links;
  for (const Link& link : pod.links()) {
    EXPECT_TRUE(links.emplace(std::tuple{link.from, link.to, link.kind}, link.bytes_per_second).second) << link.name;
  }
  for (const auto& [key, bytes_per_second] : links) {
    const auto& [from, to, kind] = key;
    const auto back = links.find({to, from, kind});
    ASSERT_NE(back, links.end());
    const bool ipu = from < pod.ipu_count() || to < pod.ipu_count();
    if (kind == LinkKind::Pcie && ipu) {
      EXPECT_DOUBLE_EQ(bytes_per_second, to < pod.ipu_count() ? 8e9 : 5.5e9);
    } else {
      EXPECT_DOUBLE_EQ(bytes_per_second, back->second);
    }
  }
}

TEST(Pods, GatewaysOfPod128AreCabledToTheirCounterparts) {
  const Topology pod = make_pod("pod128");
  EXPECT_EQ(count_links(pod).at(LinkKind::GwLink), 2 * 16);
  for (const Link& link : pod.links()) {
    if (link.kind != LinkKind::GwLink) continue;
    const Vertex& from = pod.vertices()[static_cast<std::size_t>(link.from)];
    const Vertex& to = pod.vertices()[static_cast<std::size_t>(link.to)];
    EXPECT_EQ(std::abs(from.machine - to.machine), 16) << link.name;
    EXPECT_DOUBLE_EQ(link.bytes_per_second, 2 * 12.5e9 * 0.88);
  }
}

TEST(Pods, GatewaysOfLargerPodsMeetInASwitch) {
  for (const auto& [name, machines] : {std::pair<const char*, int>{"pod256", 64}, {"bow-pod192", 48}}) {
    const Topology pod = make_pod(name);
    EXPECT_EQ(count_links(pod).at(LinkKind::GwLink), 2 * machines);
    EXPECT_EQ(count_vertices(pod).at(VertexKind::Switch), 2);
  }
}

TEST(Pods, IpuLinksStayInsideTheirDomain) {
  const Topology pod = make_pod("pod256");
  std::map<int, int> ipus;
  for (int ipu = 0; ipu < 256; ++ipu) ++ipus[pod.domain_of(ipu)];
  EXPECT_EQ(ipus, (std::map<int, int>{{0, 64}, {1, 64}, {2, 64}, {3, 64}}));
  for (const Link& link : pod.links()) {
    if (!is_ipu_link(link)) continue;
    EXPECT_EQ(pod.domain_of(link.from), pod.domain_of(link.to)) << link.name;
  }
}

TEST(Pods, Mk1CardsStandInTheirHost) {
  const Topology card = make_pod("c2");
  EXPECT_EQ(card.chip(), "gc2");
  EXPECT_EQ(card.ipu_count(), 2);
  EXPECT_EQ(card.memory_vertex_of(0), -1);
  EXPECT_EQ(count_links(card), (std::map<LinkKind, int>{{LinkKind::Rung, 2}, {LinkKind::Pcie, 4}}));
  EXPECT_DOUBLE_EQ(card.links()[0].bytes_per_second, 6 * kIpuLink);  // a pair alone uses all 6 links
  const Topology server = make_pod("dss8440");
  EXPECT_EQ(server.ipu_count(), 16);
  EXPECT_EQ(server.ends(), LadderEnds::Mesh);
  EXPECT_EQ(server.machine_of(15), 7);
  EXPECT_DOUBLE_EQ(server.links()[0].bytes_per_second, 4 * kIpuLink);
}

TEST(Pods, AllNamedPodsExistAndReachEverywhere) {
  for (const PodDescription& named : named_pods()) {
    SCOPED_TRACE(named.name);
    const Topology pod = make_pod(named.name);
    EXPECT_FALSE(named.description.empty());
    for (int ipu = 0; ipu < pod.ipu_count(); ++ipu) {
      const int vertex = pod.ipu_vertex(ipu);
      for (const int other : {0, pod.ipu_count() / 3, pod.ipu_count() - 1}) {
        if (other == ipu) continue;
        EXPECT_FALSE(pod.route(vertex, pod.ipu_vertex(other)).links.empty());
        EXPECT_FALSE(pod.route(pod.ipu_vertex(other), vertex).links.empty());
      }
      for (int host = 0; host < pod.host_count(); ++host) {
        EXPECT_FALSE(pod.host_to_memory(host, ipu).links.empty());
        EXPECT_FALSE(pod.memory_to_host(ipu, host).links.empty());
      }
    }
  }
}

TEST(Pods, AThousandRacksCanBeBuilt) {
  const Topology pod = make_pod("bow-pod65536");
  EXPECT_EQ(pod.ipu_count(), 65536);
  EXPECT_EQ(pod.domain_of(65535), 1023);
  EXPECT_EQ(count_links(pod).at(LinkKind::GwLink), 2 * 16384);
  EXPECT_EQ(names_between(pod, 0, 65535),
            (std::vector<std::string>{"pcie:ipu0>gateway0", "gw_link:gateway0>gw-switch",
                                      "gw_link:gw-switch>gateway16383", "pcie:gateway16383>ipu65535"}));
  for (int ipu = 0; ipu < pod.ipu_count(); ipu += 64) EXPECT_EQ(pod.host_to_memory(0, ipu).links.size(), 5U);
}

TEST(Pods, UnknownNamesGetTheValidOnes) {
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("bow-pod61")); }),
              AllOf(HasSubstr("scenario.json:/system: unknown pod \"bow-pod61\""), HasSubstr("did you mean \"bow-pod"),
                    HasSubstr("multiple of 64 up to 65536")));
  for (const char* name : {"", "pod", "pod0", "pod-64", "pod064", "pod2", "pod12", "pod96", "pod65600", "pod64x",
                           "bow-c2", "Pod16", "pod99999999999999999999"}) {
    EXPECT_THAT(error_of([&] { static_cast<void>(make_pod(name)); }), HasSubstr("unknown pod")) << name;
  }
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("Pod16")); }), HasSubstr("did you mean \"pod16\"?"));
}

TEST(Hosts, DefaultIsOnePerDomainAndLimitsAreFourPerDomain) {
  EXPECT_EQ(make_pod("pod64").host_count(), 1);
  EXPECT_EQ(make_pod("pod256").host_count(), 4);
  EXPECT_EQ(make_pod("pod4", 4).host_count(), 4);
  EXPECT_EQ(make_pod("pod256", 16).host_count(), 16);
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("pod16", 5)); }),
              HasSubstr("scenario.json:/system: pod16 takes 1 to 4 host(s), not 5"));
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("pod128", 1)); }),
              AllOf(HasSubstr("pod128 takes 2 to 8 host(s), not 1"), HasSubstr("host process of its own")));
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("pod16", -1)); }), HasSubstr("not -1"));
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("c2", 2)); }), HasSubstr("c2 takes exactly 1 host(s), not 2"));
}

TEST(Hosts, FeedContiguousBlocksOfMachines) {
  const Topology pod = make_pod("pod64", 4);
  for (int ipu = 0; ipu < 64; ++ipu) EXPECT_EQ(pod.host_of(ipu), ipu / 16) << ipu;
  const Topology three = make_pod("pod16", 3);  // machines 0 and 1, 2, 3
  for (int ipu = 0; ipu < 16; ++ipu) EXPECT_EQ(three.host_of(ipu), std::vector<int>({0, 0, 1, 2})[ipu / 4]) << ipu;
  const Topology many = make_pod("pod4", 4);
  for (int ipu = 0; ipu < 4; ++ipu) EXPECT_EQ(many.host_of(ipu), ipu);
}

// Bandwidths, latencies and ends of some topologies together: what a parameter may change.
std::string fingerprint(const std::string& prefix, const std::string& overrides) {
  std::string text;
  std::vector<Topology> topologies;
  for (const char* pod : {"pod16", "pod64", "pod128", "pod256"}) {
    topologies.push_back(make_pod(prefix + pod, 0, overrides));
  }
  topologies.push_back(make_custom(R"({"name": "pair", "ladder": {"ipus": 2}})", 0, overrides));
  for (const Topology& topology : topologies) {
    double bytes_per_second = 0, latency_seconds = 0, efficiency = 0;
    for (const Link& link : topology.links()) {
      bytes_per_second += link.bytes_per_second;
      latency_seconds += link.latency_seconds;
      efficiency += link.efficiency;
    }
    text += std::to_string(topology.links().size()) + " " + std::to_string(bytes_per_second) + " " +
            std::to_string(latency_seconds * 1e9) + " " + std::to_string(efficiency) + "\n";
  }
  return text;
}

TEST(Parameters, EachOneAboutLinksChangesSomeLink) {
  const std::vector<std::string> others = {"exchange_fixed_seconds", "collective_step_fixed_seconds",
                                           "host_sync_seconds",      "host_cores",
                                           "host_numa_nodes",        "numa_remote_slowdown"};
  const Topology pod = make_pod("pod16");
  const std::string before = fingerprint("", "{}");
  for (const Parameter& parameter : pod.parameters().parameters()) {
    const std::string overrides = "{\"" + parameter.name + "\": " + std::to_string(parameter.value / 4) + "}";
    const bool is_other = std::find(others.begin(), others.end(), parameter.name) != others.end();
    if (is_other) {
      EXPECT_DOUBLE_EQ(make_pod("pod16", 0, "{\"" + parameter.name + "\": 1.5}").parameters().get(parameter.name), 1.5);
    } else {
      const bool small = parameter.value < 1e-5;  // std::to_string would print 0
      EXPECT_NE(fingerprint("", small ? "{\"" + parameter.name + "\": 1e-3}" : overrides), before) << parameter.name;
    }
  }
}

TEST(Parameters, OverridesAreVisible) {
  const Topology pod = make_pod("pod16", 0, R"({"ipu_link_bytes_per_second": 20e9, "ipu_link_efficiency": 0.5})");
  EXPECT_DOUBLE_EQ(pod.links()[0].bytes_per_second, 4 * 20e9 * 0.5);
  EXPECT_DOUBLE_EQ(pod.links()[0].efficiency, 0.5);
  EXPECT_EQ(pod.parameters().find("ipu_link_efficiency")->confidence, Confidence::User);
  EXPECT_EQ(make_pod("pod16", 0, R"({"torus_from_ipus": 16})").ends(), LadderEnds::Torus);
}

TEST(Parameters, MistakesAreNamed) {
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("pod16", 0, R"({"ipu_link_bytes_per_secnd": 1e9})")); }),
              AllOf(HasSubstr("unknown key \"ipu_link_bytes_per_secnd\""), HasSubstr("\"ipu_link_bytes_per_second\"")));
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("pod16", 0, R"({"nic_efficiency": 1.2})")); }),
              HasSubstr("\"nic_efficiency\" is 1.2, more than 1"));
  EXPECT_THAT(error_of([] { static_cast<void>(make_pod("pod16", 0, R"({"gw_links": -2})")); }),
              HasSubstr("must be more than 0"));
}

TEST(Parameters, EveryFigureHasASourceAndLiesInItsRange) {
  for (const char* file : {"pods/mk1", "pods/mk2", "pods/bow", "chips/gc2", "chips/gc200", "chips/bow"}) {
    const ParameterSet set(DataFolder().load(file));
    EXPECT_GE(set.parameters().size(), 10U) << file;
    for (const Parameter& parameter : set.parameters()) {
      EXPECT_GE(parameter.source.size(), 10U) << file << " " << parameter.name;
      EXPECT_FALSE(parameter.unit.empty()) << file << " " << parameter.name;
      EXPECT_LE(parameter.minimum, parameter.value) << file << " " << parameter.name;
      EXPECT_GE(parameter.maximum, parameter.value) << file << " " << parameter.name;
    }
  }
}

// Peaks that the vendor states: 124.5, 250 and 350 TFLOPS at fp16; 31.1, 62.5 and 87.2 at fp32.
TEST(Parameters, ChipsGiveTheStatedPeaks) {
  const auto peak = [](const char* chip, const char* rate) {
    const ParameterSet set(DataFolder().load(std::string("chips/") + chip));
    return set.get("tiles") * set.get(rate) * 2 * set.get("clock_hz") * 1e-12;
  };
  EXPECT_NEAR(peak("gc2", "amp_macs_fp16_fp16"), 124.5, 0.1);
  EXPECT_NEAR(peak("gc2", "amp_macs_fp32"), 31.1, 0.1);
  EXPECT_NEAR(peak("gc200", "amp_macs_fp16_fp16"), 250, 1);
  EXPECT_NEAR(peak("gc200", "amp_macs_fp32"), 62.5, 0.5);
  EXPECT_NEAR(peak("bow", "amp_macs_fp16_fp16"), 350, 2);
  EXPECT_NEAR(peak("bow", "amp_macs_fp32"), 87.2, 0.2);
}

}  // namespace
}  // namespace podsim
