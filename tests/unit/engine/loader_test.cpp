// Cores and NUMA nodes that the workers of PopDist instances share.
#include "simulator/engine/loader.hpp"

#include <gtest/gtest.h>

namespace podsim::engine {
namespace {

// A server of 128 cores in 8 NUMA nodes; memory on other nodes makes a worker 1.4 times slower.
HostPlan server(int workers, bool numa_aware) {
  HostPlan plan;
  plan.workers_per_instance = workers;
  plan.cores_per_host = 128;
  plan.numa_nodes_per_host = 8;
  plan.numa_remote_slowdown = 1.4;
  plan.numa_aware = numa_aware;
  return plan;
}

constexpr double kSpread = 1 + 0.4 * 7 / 8;  // memory over all 8 nodes

TEST(WorkerSlowdown, UnboundInstancesShareTheCoresOfTheHost) {
  EXPECT_EQ(worker_slowdown(server(14, false), {0, 8}), 1);  // 112 workers
  EXPECT_EQ(worker_slowdown(server(32, false), {5, 8}), 2);  // 256
  EXPECT_EQ(worker_slowdown(server(256, false), {0, 1}), 2);
}

TEST(WorkerSlowdown, AnInstanceOnItsOwnNodeHasItsMemoryThere) {
  for (const int number : {0, 3, 7}) EXPECT_DOUBLE_EQ(worker_slowdown(server(14, true), {number, 8}), 1 / kSpread);
}

TEST(WorkerSlowdown, FewBoundInstancesHaveSeveralNodes) {
  EXPECT_DOUBLE_EQ(worker_slowdown(server(14, true), {0, 1}), 1);  // all nodes: nothing gained
  EXPECT_DOUBLE_EQ(worker_slowdown(server(14, true), {1, 2}), (1 + 0.4 * 3 / 4) / kSpread);
  EXPECT_DOUBLE_EQ(worker_slowdown(server(14, true), {0, 3}), (1 + 0.4 * 1 / 2) / kSpread);  // nodes 0 and 1
  EXPECT_DOUBLE_EQ(worker_slowdown(server(14, true), {2, 3}), (1 + 0.4 * 2 / 3) / kSpread);  // nodes 5, 6 and 7
}

TEST(WorkerSlowdown, BoundInstancesHaveTheCoresOfTheirNodesOnly) {
  EXPECT_DOUBLE_EQ(worker_slowdown(server(32, true), {0, 8}), 32.0 / 16 / kSpread);
  EXPECT_DOUBLE_EQ(worker_slowdown(server(16, true), {0, 16}), 2.0 * 16 / 16 / kSpread);  // two on a node
  // 12 instances: nodes 0 and 2 have one or two of them.
  EXPECT_DOUBLE_EQ(worker_slowdown(server(16, true), {0, 12}), 2 / kSpread);
  EXPECT_DOUBLE_EQ(worker_slowdown(server(16, true), {2, 12}), 1 / kSpread);
}

}  // namespace
}  // namespace podsim::engine
