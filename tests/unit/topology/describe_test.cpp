// Text for people and graphs for Graphviz.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/topology/pods.hpp"

namespace podsim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Describe, ShowsShapeLinksAndRoutes) {
  const std::string text = describe(make_pod("bow-pod16"));
  EXPECT_THAT(text, HasSubstr("bow-pod16: 16 IPUs (bow), 1 IPU-Link domain, mesh of 2 x 8, 1 host(s)"));
  EXPECT_THAT(text, HasSubstr("16 ipu, 4 gateway, 4 memory, 5 nic, 1 host\n"));
  EXPECT_THAT(text, HasSubstr("54.4 G B/s"));  // a rung
  EXPECT_THAT(text, HasSubstr("27.2 G B/s"));  // a rail
  EXPECT_THAT(text, HasSubstr("rung_through>ipu1 rail>ipu3"));
  EXPECT_THAT(describe(make_pod("pod64")), HasSubstr("torus of 2 x 32"));
}

TEST(Dot, DrawsMachinesAsClustersAndEveryLinkOnce) {
  const Topology pod = make_pod("pod16");
  const std::string dot = to_dot(pod);
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '['), std::count(dot.begin(), dot.end(), ']'));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '"') % 2, 0);
  EXPECT_EQ(count_of(dot, "subgraph cluster_machine"), 4U);
  EXPECT_EQ(count_of(dot, "[shape="), pod.vertices().size());
  // Pairs of equal links are one edge; PCIe of an IPU differs by direction and stays two.
  const std::size_t edges = count_of(dot, " -> "), both = count_of(dot, "dir=both");
  EXPECT_EQ(edges + both, pod.links().size());
  EXPECT_EQ(edges - both, 2U * 16U);
}

TEST(Dot, QuotesNames) {
  const Topology pair = make_custom(
      R"({"name": "a \"b\"", "vertices": [{"name": "x\"y", "kind": "ipu"}, {"name": "z", "kind": "ipu"}],
          "links": [{"from": "z", "to": "x\"y", "bytes_per_second": 1e9}]})");
  EXPECT_THAT(to_dot(pair), HasSubstr(R"("x\"y" -> "z")"));
  EXPECT_THAT(to_dot(pair), Not(HasSubstr("subgraph")));
}

}  // namespace
}  // namespace podsim
