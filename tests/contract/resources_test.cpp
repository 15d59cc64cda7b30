// More resources never make a run slower: links, streaming memory, prefetching, workers; and an update that may
// overlap never takes longer than a serial one. Random pipelines with random traffic, through the whole program.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "tests/integration/simulated.hpp"

namespace podsim {
namespace {

using testing::of_text;
using testing::Overrides;

// Rounding of sums of thousands of steps.
constexpr double kSlack = 1 + 1e-9;

std::string random_scenario(bool one_replica) {
  const int stages = *rc::gen::element(1, 2, 4);
  const int replicas = one_replica ? 1 : *rc::gen::element(1, 2, 4);
  const int micro_batches = 2 * stages * *rc::gen::inRange(1, 5);
  const auto milliseconds = [] { return std::to_string(1e-6 * *rc::gen::inRange(1, 5000)); };
  const auto megabytes = [] { return std::to_string(1000000 * *rc::gen::inRange(0, 200)); };
  const std::string schedule =
      *rc::gen::element<std::string>(R"({"pipelined": {"order": "popart"}})", R"({"pipelined": {"order": "grouped"}})",
                                     R"({"pipelined": {"order": "interleaved"}})", R"("sharded")");
  return R"({"version": 1, "system": {"pod": "pod16"}, "workload": {"model": "stage_times", "stages": )" +
         std::to_string(stages) + R"(, "forward_seconds": )" + milliseconds() + R"(, "backward_seconds": )" +
         milliseconds() + R"(, "output_bytes": )" + megabytes() + R"(, "weight_bytes": )" + megabytes() +
         R"(, "input_bytes": )" + megabytes() + R"(}, "ipu_config": {"replication_factor": )" +
         std::to_string(replicas) + R"(, "gradient_accumulation_steps": )" + std::to_string(micro_batches) +
         R"(, "device_iterations": 2}, "schedule": )" + schedule +
         R"(, "host": {"data": "real", "prefetch_depth": 2, "preprocess_seconds_per_sample": )" + milliseconds() +
         R"(}})";
}

double makespan(const std::string& text, const Overrides& overrides) {
  const testing::ChildResult result = of_text(text, overrides, [](const Simulation& simulation) {
    return std::vector<double>{simulation.trace.makespan_seconds};
  });
  RC_ASSERT(result.error == "");
  return result.numbers.at(0);
}

void expect_not_slower(const Overrides& more, bool one_replica = false) {
  const std::string text = random_scenario(one_replica);
  const double before = makespan(text, {});
  const double after = makespan(text, more);
  RC_LOG() << text << "\nbefore " << before << " after " << after;
  RC_ASSERT(after <= before * kSlack);
}

RC_GTEST_PROP(MoreResources, FasterIpuLinks, ()) {
  expect_not_slower({{"system.parameters", R"({"ipu_link_bytes_per_second": 6.4e10})"}});
}

RC_GTEST_PROP(MoreResources, FasterHostNetwork, ()) {
  expect_not_slower({{"system.parameters", R"({"nic_bytes_per_second": 1e11, "memory_bytes_per_second": 1e11})"}});
}

// With several replicas theory promises nothing here: data that is ready earlier shares the network with that of
// others, which fair sharing delays.
RC_GTEST_PROP(MoreResources, DeeperPrefetching, ()) { expect_not_slower({{"host.prefetch_depth", "5"}}, true); }

RC_GTEST_PROP(MoreResources, MoreWorkers, ()) { expect_not_slower({{"host.workers", "8"}}, true); }

RC_GTEST_PROP(MoreResources, OverlappedUpdates, ()) { expect_not_slower({{"execution.weight_update", "overlapped"}}); }

}  // namespace
}  // namespace podsim
