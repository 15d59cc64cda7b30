// What users read when a program asks for what the pod has not got.
#include <gtest/gtest.h>

#include "tests/unit/engine/programs.hpp"

namespace podsim {
namespace {

using testing::in_child;
using testing::pipeline;

// Two IPUs and the link between them; no memory, no host.
Topology two_ipus() {
  PodRequest request;
  request.custom = parse_json(R"({"name": "pair", "system": "bow",
      "vertices": [{"name": "a", "kind": "ipu"}, {"name": "b", "kind": "ipu"}],
      "links": [{"from": "a", "to": "b", "bytes_per_second": 16e9}]})",
                              "pair.json");
  return build_topology(request, testing::PodData());
}

TEST(Errors, StreamingMemoryIsMissing) {
  const auto result = in_child([]() -> std::vector<double> {
    Program program = pipeline({.stages = 2, .micro_batches = 2});
    program.buffers.push_back({1, 1e6, "optimizer_state/1"});
    (void)run(two_ipus(), program, {});
    return {};
  });
  EXPECT_EQ(
      result.error,
      "IPU 1 of pair has no streaming memory, but the program keeps optimizer_state/1 there (keep all variables on "
      "chip, or use a pod with streaming memory)");
}

TEST(Errors, AHostIsMissing) {
  const auto result = in_child([]() -> std::vector<double> {
    Program program = pipeline({.stages = 2, .micro_batches = 2, .input_bytes = 1e6});
    program.host.synthetic = false;
    (void)run(two_ipus(), program, {});
    return {};
  });
  EXPECT_EQ(result.error,
            "stream input needs a host, and pair has none (give the topology a host, or use synthetic data)");
}

TEST(Errors, APodWithoutHostStillMakesHostCalls) {
  const auto result = in_child([]() -> std::vector<double> {
    Program program = pipeline({.stages = 2, .micro_batches = 2, .calls = 3});
    program.host.call_overhead_seconds = 1e-3;
    return {run(two_ipus(), program, {}).makespan_seconds};
  });
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.numbers.size(), 1U);
  EXPECT_NEAR(result.numbers[0], 3 * (1e-3 + 3 * 3e-3), 1e-12);
}

}  // namespace
}  // namespace podsim
