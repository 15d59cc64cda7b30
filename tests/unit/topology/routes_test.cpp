// Routes worked out by hand from the rule: rung first, then rail, the shorter way round a torus.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/unit/topology/pods.hpp"

namespace podsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LadderRoutes, PairTrafficHasItsOwnRungLinks) {
  const Topology pod = make_pod("pod16");
  EXPECT_THAT(names_between(pod, 0, 1), ElementsAre("rung:ipu0>ipu1"));
  EXPECT_THAT(names_between(pod, 7, 6), ElementsAre("rung:ipu7>ipu6"));
  EXPECT_THAT(names_between(pod, 3, 3), IsEmpty());
}

TEST(LadderRoutes, OthersCrossTheRungAtTheSourceAndFollowTheRail) {
  const Topology pod = make_pod("pod16");
  EXPECT_THAT(names_between(pod, 0, 6), ElementsAre("rail:ipu0>ipu2", "rail:ipu2>ipu4", "rail:ipu4>ipu6"));
  EXPECT_THAT(names_between(pod, 5, 0), ElementsAre("rung_through:ipu5>ipu4", "rail:ipu4>ipu2", "rail:ipu2>ipu0"));
  const std::vector<std::string> longest = names_between(pod, 0, 15);
  ASSERT_EQ(longest.size(), 8U);
  EXPECT_EQ(longest.front(), "rung_through:ipu0>ipu1");
  EXPECT_EQ(longest.back(), "rail:ipu13>ipu15");
}

TEST(LadderRoutes, TorusTakesTheShorterWayAndGoesUpOnATie) {
  const Topology pod = make_pod("pod64");
  EXPECT_THAT(names_between(pod, 0, 62), ElementsAre("rail:ipu0>ipu62"));
  EXPECT_THAT(names_between(pod, 62, 1), ElementsAre("rung_through:ipu62>ipu63", "rail:ipu63>ipu1"));
  const std::vector<std::string> tie = names_between(pod, 0, 32);
  EXPECT_EQ(tie.size(), 16U);
  EXPECT_EQ(tie.front(), "rail:ipu0>ipu2");
  const std::vector<std::string> down = names_between(pod, 0, 34);
  EXPECT_EQ(down.size(), 15U);
  EXPECT_EQ(down.front(), "rail:ipu0>ipu62");
}

TEST(LadderRoutes, LengthIsRungCrossingPlusRungDistance) {
  for (const char* name : {"pod32", "pod64"}) {
    const Topology pod = make_pod(name);
    const int rungs = pod.ipu_count() / 2;
    for (int from = 0; from < pod.ipu_count(); ++from) {
      for (int to = 0; to < pod.ipu_count(); ++to) {
        int distance = std::abs(from / 2 - to / 2);
        if (pod.ends() == LadderEnds::Torus) distance = std::min(distance, rungs - distance);
        const std::vector<std::string> route = names_between(pod, from, to);
        ASSERT_EQ(static_cast<int>(route.size()), distance + (from % 2 != to % 2 ? 1 : 0)) << from << ' ' << to;
      }
    }
  }
}

TEST(LadderRoutes, LinksFollowEachOtherFromEndToEnd) {
  const Topology pod = make_pod("pod256");
  for (int from = 0; from < 256; from += 7) {
    for (int to = 0; to < 256; to += 5) {
      if (from == to) continue;
      int here = pod.ipu_vertex(from);
      double latency = 0;
      const Route& route = pod.route(here, pod.ipu_vertex(to));
      for (const int link : route.links) {
        ASSERT_EQ(pod.links()[static_cast<std::size_t>(link)].from, here);
        here = pod.links()[static_cast<std::size_t>(link)].to;
        latency += pod.links()[static_cast<std::size_t>(link)].latency_seconds;
      }
      EXPECT_EQ(here, pod.ipu_vertex(to));
      EXPECT_DOUBLE_EQ(route.latency_seconds, latency);
    }
  }
}

TEST(DomainRoutes, CabledGatewaysAreReachedAlongTheOwnLadder) {
  const Topology pod = make_pod("pod128");
  EXPECT_THAT(names_between(pod, 0, 64),
              ElementsAre("pcie:ipu0>gateway0", "gw_link:gateway0>gateway16", "pcie:gateway16>ipu64"));
  EXPECT_THAT(names_between(pod, 0, 69),
              ElementsAre("rung_through:ipu0>ipu1", "rail:ipu1>ipu3", "rail:ipu3>ipu5", "pcie:ipu5>gateway1",
                          "gw_link:gateway1>gateway17", "pcie:gateway17>ipu69"));
  EXPECT_THAT(names_between(pod, 127, 63),
              ElementsAre("pcie:ipu127>gateway31", "gw_link:gateway31>gateway15", "pcie:gateway15>ipu63"));
}

TEST(DomainRoutes, SwitchesJoinAllGateways) {
  const Topology pod = make_pod("pod256");
  EXPECT_THAT(names_between(pod, 0, 200), ElementsAre("pcie:ipu0>gateway0", "gw_link:gateway0>gw-switch",
                                                      "gw_link:gw-switch>gateway50", "pcie:gateway50>ipu200"));
  const Topology cabled = make_pod("pod128");
  const double through_switch = pod.route(pod.ipu_vertex(0), pod.ipu_vertex(64)).latency_seconds;
  const double direct = cabled.route(cabled.ipu_vertex(0), cabled.ipu_vertex(64)).latency_seconds;
  EXPECT_NEAR(direct, 2 * 1e-6 + 1.5e-6, 1e-15);
  EXPECT_NEAR(through_switch, 2 * 1e-6 + 2 * 1.5e-6 + 1e-6, 1e-15);  // one more link, and the switch
}

TEST(HostRoutes, PassNicsGatewayAndStreamingMemory) {
  const Topology direct = make_pod("pod16");
  EXPECT_THAT(
      names_on(direct, direct.host_to_memory(0, 15)),
      ElementsAre("ethernet:host0>host-nic0", "ethernet:host-nic0>nic3", "pcie:nic3>gateway3", "ddr:gateway3>memory3"));
  EXPECT_THAT(names_on(direct, direct.memory_to_ipu(15)), ElementsAre("ddr:memory3>gateway3", "pcie:gateway3>ipu15"));
  EXPECT_THAT(names_on(direct, direct.ipu_to_memory(4)), ElementsAre("pcie:ipu4>gateway1", "ddr:gateway1>memory1"));
  const Topology switched = make_pod("pod64", 4);
  EXPECT_THAT(names_on(switched, switched.memory_to_host(0, 3)),
              ElementsAre("ddr:memory0>gateway0", "pcie:gateway0>nic0", "ethernet:nic0>network",
                          "ethernet:network>host-nic3", "ethernet:host-nic3>host3"));
}

TEST(HostRoutes, EndWhereTheyShallOnTheWayUpAndDown) {
  const Topology pod = make_pod("pod64");
  const int gateway = 64, nic = 64 + 2;  // after the IPUs: gateway, memory and NIC of each machine
  EXPECT_THAT(names_on(pod, pod.route(0, gateway)), ElementsAre("pcie:ipu0>gateway0"));
  EXPECT_THAT(names_on(pod, pod.route(gateway, 0)), ElementsAre("pcie:gateway0>ipu0"));
  EXPECT_THAT(names_on(pod, pod.route(0, nic)), ElementsAre("pcie:ipu0>gateway0", "pcie:gateway0>nic0"));
}

TEST(HostRoutes, CardsWithoutStreamingMemoryTalkToTheHost) {
  const Topology server = make_pod("dss8440");
  EXPECT_THAT(names_on(server, server.host_to_memory(0, 9)), ElementsAre("pcie:host0>ipu9"));
  EXPECT_THAT(names_on(server, server.memory_to_host(9, 0)), ElementsAre("pcie:ipu9>host0"));
  EXPECT_THAT(names_on(server, server.memory_to_ipu(9)), IsEmpty());
}

TEST(Routes, StayTheSameObject) {
  const Topology pod = make_pod("pod64");
  const Route& first = pod.route(0, 40);
  for (int to = 1; to < 64; ++to) static_cast<void>(pod.route(1, to));
  EXPECT_EQ(&first, &pod.route(0, 40));
}

TEST(Routes, ImpossibleVerticesAreOurOwnMistake) {
  const Topology pod = make_pod("pod4");
  EXPECT_THROW(static_cast<void>(pod.route(0, 1000)), InternalError);
  EXPECT_THROW(static_cast<void>(pod.route(-1, 0)), InternalError);
  EXPECT_THROW(static_cast<void>(pod.ipu_vertex(4)), InternalError);
  EXPECT_THROW(static_cast<void>(pod.host_vertex(1)), InternalError);
}

}  // namespace
}  // namespace podsim
