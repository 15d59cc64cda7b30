// Topologies from files: the documented examples, routes on them, and a message for every mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/topology/pods.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topology example(const std::string& name) {
  PodRequest request;
  request.custom = DataFolder().load("examples/" + name);
  return build_topology(request, DataFolder());
}

std::string vertex(const std::string& name, const std::string& kind = "ipu", const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "kind": ")" + kind + "\"" + more + "}";
}

std::string link(const std::string& from, const std::string& to,
                 const std::string& more = R"(, "bytes_per_second": 1e9)") {
  return R"({"from": ")" + from + R"(", "to": ")" + to + "\"" + more + "}";
}

std::string file(const std::string& vertices, const std::string& links, const std::string& more = "") {
  return R"({"name": "mine", "vertices": [)" + vertices + R"(], "links": [)" + links + "]" + more + "}";
}

std::string error_in(const std::string& text, int hosts = 0, const std::string& overrides = "{}") {
  return error_of([&] { static_cast<void>(make_custom(text, hosts, overrides)); });
}

TEST(CustomTopology, ExampleRingRoutesTheShortWay) {
  const Topology ring = example("ring_of_four");
  EXPECT_EQ(ring.ipu_count(), 4);
  EXPECT_EQ(ring.chip(), "bow");
  EXPECT_FALSE(ring.is_ladder());
  EXPECT_THAT(names_between(ring, 0, 3), ElementsAre("custom:a>d"));
  EXPECT_THAT(names_between(ring, 0, 2), ElementsAre("custom:a>b", "custom:b>c"));  // tie: first link in the file
  EXPECT_THAT(names_on(ring, ring.host_to_memory(0, 3)),
              ElementsAre("ethernet:server>gateway-1", "ddr:gateway-1>memory-1"));
  EXPECT_THAT(names_on(ring, ring.memory_to_ipu(2)), ElementsAre("ddr:memory-1>gateway-1", "pcie:gateway-1>c"));
  EXPECT_DOUBLE_EQ(ring.links()[0].bytes_per_second, 16e9 * 0.85);
  EXPECT_NEAR(ring.route(0, 2).latency_seconds, 30e-9, 1e-18);
}

TEST(CustomTopology, IpusPreferIpusToAShorterWayThroughAGateway) {
  // 0 - 1 - 2 - 3 in a line, and a gateway that would make 0 > 3 two links.
  const std::string vertices =
      vertex("i0") + "," + vertex("i1") + "," + vertex("i2") + "," + vertex("i3") + "," + vertex("g", "gateway");
  const std::string links = link("i0", "i1") + "," + link("i1", "i2") + "," + link("i2", "i3") + "," + link("i0", "g") +
                            "," + link("g", "i3");
  const Topology line = make_custom(file(vertices, links));
  EXPECT_THAT(names_between(line, 0, 3), ElementsAre("custom:i0>i1", "custom:i1>i2", "custom:i2>i3"));
}

TEST(CustomTopology, HostsAndMemoryPassNothingOn) {
  const std::string vertices = vertex("i0", "ipu", R"(, "machine": 0)") + "," + vertex("i1") + "," +
                               vertex("h", "host") + "," + vertex("m", "memory", R"(, "machine": 0)");
  const Topology pair = make_custom(file(vertices, link("i0", "i1") + "," + link("h", "i1") + "," + link("i0", "m")));
  EXPECT_THAT(error_of([&] { static_cast<void>(pair.host_to_memory(0, 0)); }),
              AllOf(HasSubstr("mine: there is no path from h to m"), HasSubstr("IPUs only what goes between IPUs")));
}

TEST(CustomTopology, LadderOfAnyLength) {
  const Topology torus = example("torus_of_24");
  EXPECT_EQ(torus.ipu_count(), 24);
  EXPECT_EQ(torus.host_count(), 2);
  EXPECT_TRUE(torus.is_ladder());
  EXPECT_THAT(names_between(torus, 0, 22), ElementsAre("rail:ipu0>ipu22"));
  const Topology domains = make_custom(R"({"name": "two", "ladder": {"ipus": 16, "ipus_per_domain": 8}})");
  EXPECT_EQ(domains.domain_of(8), 1);
  EXPECT_THAT(names_between(domains, 0, 8),
              ElementsAre("pcie:ipu0>gateway0", "gw_link:gateway0>gateway2", "pcie:gateway2>ipu8"));
}

TEST(CustomTopology, APairAloneUsesAllSixLinks) {
  const Topology pair = make_custom(R"({"name": "pair", "system": "bow", "ladder": {"ipus": 2}})");
  EXPECT_EQ(pair.ipu_count(), 2);
  EXPECT_DOUBLE_EQ(pair.links()[0].bytes_per_second, 6 * 16e9 * 0.85);
  EXPECT_THAT(names_between(pair, 0, 1), ElementsAre("rung:ipu0>ipu1"));
}

TEST(CustomTopology, FixedCostsCanBeOverriddenLinksCannot) {
  const std::string text = file(vertex("a") + "," + vertex("b"), link("a", "b"));
  const Topology pair = make_custom(text, 0, R"({"exchange_fixed_seconds": 1e-3})");
  EXPECT_DOUBLE_EQ(pair.parameters().get("exchange_fixed_seconds"), 1e-3);
  EXPECT_THAT(
      error_in(text, 0, R"({"rail_links": 3})"),
      HasSubstr("scenario.json:/rail_links: \"rail_links\" has no effect on a topology whose links are in its file"));
  EXPECT_THAT(error_in(text, 0, R"({"rail_link": 3})"), HasSubstr("unknown key \"rail_link\""));
}

TEST(CustomTopologyErrors, Vertices) {
  EXPECT_THAT(error_in(R"({"name": "x"})"), AllOf(HasSubstr("\"vertices\" is missing"), HasSubstr("or \"ladder\"")));
  EXPECT_THAT(error_in(R"({"name": "x", "vertices": []})"), HasSubstr("\"links\" is missing"));
  EXPECT_THAT(error_in(file("", "")), HasSubstr("my_pod.json:/vertices: there is no IPU"));
  EXPECT_THAT(error_in(file(vertex("a") + "," + vertex("a"), "")),
              HasSubstr("my_pod.json:/vertices/1/name: there is a vertex \"a\" already"));
  EXPECT_THAT(error_in(file(vertex("a", "gpu"), "")),
              AllOf(HasSubstr("/vertices/0/kind"), HasSubstr("\"gpu\""), HasSubstr("gateway")));
  EXPECT_THAT(error_in(file(R"({"name": "a", "kind": "ipu", "machin": 1})", "")),
              AllOf(HasSubstr("unknown key \"machin\""), HasSubstr("did you mean \"machine\"?")));
  EXPECT_THAT(error_in(file(vertex("m", "memory"), "")), HasSubstr("\"m\" belongs to no machine"));
  const std::string memory = R"(, "machine": 3)";
  EXPECT_THAT(error_in(file(vertex("m", "memory", memory) + "," + vertex("n", "memory", memory), "")),
              HasSubstr("machine 3 has a memory already"));
}

TEST(CustomTopologyErrors, Links) {
  const std::string pair = vertex("alpha") + "," + vertex("beta");
  EXPECT_THAT(error_in(file(pair, "")), HasSubstr("\"alpha\" and \"beta\" are not connected in both directions"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", R"(, "bytes_per_second": 1e9, "both_ways": false)"))),
              HasSubstr("not connected in both directions"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "bet"))),
              AllOf(HasSubstr("my_pod.json:/links/0/to: there is no vertex \"bet\""), HasSubstr("\"beta\"")));
  EXPECT_THAT(error_in(file(pair, link("alpha", "alpha"))), HasSubstr("the link leads from \"alpha\" to itself"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta") + "," + link("beta", "alpha"))),
              AllOf(HasSubstr("my_pod.json:/links/1: there is a link from \"beta\" to \"alpha\" already"),
                    HasSubstr("sum of the bandwidths")));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", R"(, "bytes_per_second": -1e9)"))),
              HasSubstr("my_pod.json:/links/0/bytes_per_second: \"bytes_per_second\" must be more than 0"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", R"(, "bytes_per_second": 1e9, "efficiency": 0)"))),
              HasSubstr("\"efficiency\" must be more than 0"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", R"(, "bytes_per_second": 1e9, "efficiency": 1.5)"))),
              HasSubstr("must be at most 1"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", R"(, "bytes_per_second": 1e9, "latency_seconds": -1)"))),
              HasSubstr("must be at least 0"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", ""))), HasSubstr("\"bytes_per_second\" is missing"));
  EXPECT_THAT(error_in(file(pair, link("alpha", "beta", R"(, "bytes_per_second": 1e9, "bandwith": 2)"))),
              HasSubstr("unknown key \"bandwith\""));
}

TEST(CustomTopologyErrors, Files) {
  const std::string text = file(vertex("a") + "," + vertex("b"), link("a", "b"));
  EXPECT_THAT(error_in(text, 2), HasSubstr("\"mine\" has 0 host(s), not 2"));
  EXPECT_THAT(error_in(file(vertex("a"), "", R"(, "system": "mk3")")), HasSubstr("mk1, mk2, bow"));
  EXPECT_THAT(error_of([&] {
                PodRequest request;
                request.pod = "pod4";
                request.custom = parse_json(text, "my_pod.json");
                static_cast<void>(build_topology(request, DataFolder()));
              }),
              HasSubstr("both a pod and a topology file are given"));
}

TEST(CustomTopologyErrors, Ladders) {
  const auto ladder = [](const std::string& body, const std::string& more = "") {
    return error_in(R"({"name": "l", "ladder": {)" + body + "}" + more + "}");
  };
  EXPECT_THAT(ladder(R"("ipus": 8)", R"(, "vertices": [])"),
              HasSubstr("my_pod.json:/vertices: a \"ladder\" brings its own vertices and links"));
  EXPECT_THAT(ladder(R"("ipus": 10)"), HasSubstr("10 IPUs in domains of 10 cannot be built"));
  EXPECT_THAT(ladder(R"("ipus": 16, "ipus_per_domain": 12)"), HasSubstr("16 IPUs in domains of 12 cannot be built"));
  EXPECT_THAT(ladder(R"("ipus": 4, "ends": "torus")"), HasSubstr("a torus takes at least 3 pairs"));
  EXPECT_THAT(ladder(R"("ipus": 8, "ends": "ring")"), HasSubstr("mesh, torus"));
  EXPECT_THAT(ladder(R"("ipus": 8, "hosts": 9)"),
              HasSubstr("my_pod.json:/ladder/hosts: l takes 1 to 4 host(s), not 9"));
  EXPECT_THAT(ladder(R"("ipus": 128)", R"(, "system": "mk1")"), HasSubstr("have no gateways to join"));
}

}  // namespace
}  // namespace podsim
