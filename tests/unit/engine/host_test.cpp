// Host streams, loaders, calls and IO tiles against closed formulas.
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/engine/programs.hpp"

namespace podsim {
namespace {

using testing::checked_run;
using testing::in_child;
using testing::numbers_in_child;
using testing::pipeline;
using testing::PipelineShape;
using testing::pod;
using testing::route_seconds;
using testing::seconds_in;

constexpr double kSlot = 3e-3;  // forward and backward of one stage
constexpr int kMicroBatches = 50;

// One stage, so that a micro-batch takes a slot; with real data.
Program fed(double input_bytes, int prefetch_depth) {
  Program program = pipeline({.stages = 1, .micro_batches = kMicroBatches, .input_bytes = input_bytes});
  program.host.synthetic = false;
  program.host.prefetch_depth = prefetch_depth;
  return program;
}

struct Fed {
  double makespan = 0, fetch = 0, copy = 0, stall = 0, transfer = 0;
};

// `fetch`: host to streaming memory with the callback; `copy`: on to the IPU.
Fed run_fed(const Program& program) {
  const auto numbers = numbers_in_child([&program]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    const Trace trace = checked_run(topology, program, {});
    const double bytes = program.streams[0].bytes;
    return {trace.makespan_seconds,
            program.host.callback_seconds + route_seconds(topology, topology.host_to_memory(0, 0), bytes),
            route_seconds(topology, topology.memory_to_ipu(0), bytes), seconds_in(trace, 0, State::HostInputStall),
            seconds_in(trace, 0, State::HostTransfer)};
  });
  if (numbers.size() != 5U) return {};
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

TEST(HostStreams, WithoutPrefetchEveryMicroBatchPaysFetchAndCopy) {
  Program program = fed(1e6, 0);
  program.host.callback_seconds = 1e-3;
  const Fed fed = run_fed(program);
  EXPECT_NEAR(fed.makespan / (kMicroBatches * (fed.fetch + fed.copy + kSlot)), 1, 1e-9);
  EXPECT_NEAR(fed.stall, kMicroBatches * 1e-3, 1e-9);  // the callback; the rest is transfer
  EXPECT_NEAR(fed.transfer / (kMicroBatches * (fed.fetch - 1e-3 + fed.copy)), 1, 1e-9);
}

TEST(HostStreams, PrefetchedInputFasterThanASlotIsHidden) {
  const Fed fed = run_fed(podsim::fed(1e6, 2));
  ASSERT_LT(fed.fetch, kSlot);
  EXPECT_NEAR(fed.makespan / (fed.fetch + kMicroBatches * (fed.copy + kSlot)), 1, 1e-9);
}

TEST(HostStreams, PrefetchedInputSlowerThanASlotDecides) {
  Program program = podsim::fed(1e8, 2);
  program.host.callback_seconds = 20e-3;
  const Fed fed = run_fed(program);
  ASSERT_GT(fed.fetch, kSlot + fed.copy);
  EXPECT_NEAR(fed.makespan / (kMicroBatches * fed.fetch + fed.copy + kSlot), 1, 1e-9);
}

TEST(HostStreams, WithOneBufferTheCopyToTheIpuHoldsUpTheNextFetch) {
  const Fed fed = run_fed(podsim::fed(1e8, 1));
  EXPECT_NEAR(fed.makespan / (kMicroBatches * (fed.fetch + fed.copy) + kSlot), 1, 1e-9);
}

TEST(HostStreams, SyntheticDataCostsNothing) {
  Program program = fed(1e8, 1);
  program.host.synthetic = true;
  EXPECT_NEAR(run_fed(program).makespan, kMicroBatches * kSlot, 1e-12);
}

TEST(Loader, AHostThatPreparesPSamplesPerSecondBoundsTheThroughput) {
  for (const int workers : {1, 3, 8}) {
    Program program = fed(8, 2);
    program.host.workers_per_instance = workers;
    program.host.samples_per_micro_batch = 16;
    program.host.preprocess_seconds_per_sample = 4e-3;
    const double bound = kMicroBatches * 16 * 4e-3 / workers;
    ASSERT_GT(bound, kMicroBatches * kSlot);
    const double makespan = run_fed(program).makespan;
    EXPECT_GE(makespan, bound);
    EXPECT_LE(makespan, bound + 16 * 4e-3 + kSlot);
  }
}

TEST(Loader, CoresBoundTheWorkersOfAHost) {
  Program program = fed(8, 2);
  program.host.workers_per_instance = 8;
  program.host.cores_per_host = 2;
  program.host.samples_per_micro_batch = 16;
  program.host.preprocess_seconds_per_sample = 4e-3;
  const double bound = kMicroBatches * 16 * 4e-3 / 2;
  const Fed fed = run_fed(program);
  EXPECT_GE(fed.makespan, bound);
  EXPECT_LE(fed.makespan, bound + 16 * 4e-3 + kSlot);
  EXPECT_GT(fed.stall, bound - kMicroBatches * kSlot - kSlot);
}

TEST(Loader, MoreInstancesHelpUntilTheCoresAreUsedUp) {
  const auto makespan = [](int instances, int hosts) {
    Program program = pipeline({.stages = 1, .micro_batches = kMicroBatches, .replicas = 4, .input_bytes = 8});
    program.host.synthetic = false;
    program.host.prefetch_depth = 2;
    program.host.instances = instances;
    program.host.workers_per_instance = 4;
    program.host.cores_per_host = 8;
    program.host.samples_per_micro_batch = 16;
    program.host.preprocess_seconds_per_sample = 1e-3;
    const auto numbers = numbers_in_child(
        [&]() -> std::vector<double> { return {checked_run(pod("pod16", hosts), program, {}).makespan_seconds}; });
    return numbers.empty() ? 0.0 : numbers[0];
  };
  const double one = makespan(1, 2), two = makespan(2, 1), four = makespan(4, 1), spread = makespan(4, 2);
  EXPECT_NEAR(one / two, 2, 0.05);      // 4 workers, 8 workers
  EXPECT_NEAR(two / four, 1, 0.05);     // 16 workers on 8 cores
  EXPECT_NEAR(four / spread, 2, 0.05);  // 16 cores
}

TEST(Loader, BetweenCallsTheIpusWaitForTheDataOfTheWholeRun) {
  Program program = pipeline({.stages = 1, .micro_batches = kMicroBatches, .input_bytes = 8, .calls = 2});
  program.host.synthetic = false;
  program.host.prefetch_depth = 2;
  program.host.asynchronous = false;
  program.host.call_overhead_seconds = 1e-3;
  program.host.workers_per_instance = 2;
  program.host.preprocess_seconds_per_sample = 5e-4;
  const Fed fed = run_fed(program);
  const double prepare = kMicroBatches * 5e-4 / 2;
  EXPECT_NEAR(fed.stall, 2 * prepare, 1e-4);
  EXPECT_NEAR(fed.makespan / (2 * (prepare + 1e-3 + fed.fetch + kMicroBatches * (fed.copy + kSlot))), 1, 1e-9);
}

// Six calls of `call` seconds each, whose data takes `prepare` seconds; nothing is transferred.
double calls_with_batches_ahead(int ahead, double prepare, std::int64_t epoch, double epoch_start) {
  Program program = pipeline({.stages = 1, .micro_batches = kMicroBatches, .calls = 6});
  program.host.batches_ahead = ahead;
  program.host.calls_per_epoch = epoch;
  program.host.epoch_start_seconds = epoch_start;
  program.host.preprocess_seconds_per_sample = prepare / kMicroBatches;
  return run_fed(program).makespan;
}

TEST(Loader, WholeBatchesAreReadyAheadOfTheirCalls) {
  const double call = kMicroBatches * kSlot;
  for (const int ahead : {1, 3}) {
    EXPECT_NEAR(calls_with_batches_ahead(ahead, 0.4 * call, 0, 0), 0.4 * call + 6 * call, 1e-9);
    EXPECT_NEAR(calls_with_batches_ahead(ahead, 2.5 * call, 0, 0), 6 * 2.5 * call + call, 1e-9);
  }
}

TEST(Loader, EveryEpochStartsTheLoaderAgain) {
  const double call = kMicroBatches * kSlot, start = 7 * call;
  EXPECT_NEAR(calls_with_batches_ahead(3, 0, 3, start), 2 * (start + 3 * call), 1e-9);
  EXPECT_NEAR(calls_with_batches_ahead(3, 0.4 * call, 3, start), 2 * (start + 0.4 * call + 3 * call), 1e-9);
  EXPECT_NEAR(calls_with_batches_ahead(3, 2.5 * call, 3, start), 2 * (start + 3 * 2.5 * call + call), 1e-9);
}

TEST(Loader, RandomTimesAreSeeded) {
  const auto makespan = [](std::uint64_t seed) {
    Program program = fed(8, 2);
    program.host.preprocess_seconds_per_sample = 4e-3;
    program.host.distribution = Distribution::LogNormal;
    program.host.preprocess_deviation_seconds = 2e-3;
    program.host.seed = seed;
    return run_fed(program).makespan;
  };
  const double first = makespan(1);
  EXPECT_EQ(first, makespan(1));
  EXPECT_NE(first, makespan(2));
}

TEST(HostCall, OverheadPerCallBoundsTheThroughput) {
  const int iterations = 7, calls = 5;
  Program program = pipeline({.stages = 2, .micro_batches = 3, .updates = iterations, .calls = calls});
  program.host.call_overhead_seconds = 2e-3;
  const auto numbers = numbers_in_child([&program]() -> std::vector<double> {
    const Trace trace = checked_run(pod("pod4"), program, {});
    return {trace.makespan_seconds, seconds_in(trace, 0, State::HostCall)};
  });
  ASSERT_EQ(numbers.size(), 2U);
  const double iteration = (3 + 1) * kSlot;
  // D t / (D t + o) of the time is the pod's.
  EXPECT_NEAR(numbers[0] / (calls * (iterations * iteration + 2e-3)), 1, 1e-9);
  EXPECT_NEAR(1 - numbers[1] / numbers[0], iterations * iteration / (iterations * iteration + 2e-3), 1e-9);
}

TEST(IoTiles, TheTransferOfTheNextMicroBatchRunsBesideCompute) {
  for (const double bytes : {1e6, 1e8}) {
    Program program = fed(bytes, 3);
    const auto slot = [](std::int64_t micro_batch) {
      return std::vector<Step>{podsim::Run{0, Pass::Forward, {micro_batch}},
                               podsim::Run{0, Pass::Backward, {micro_batch}}, Exchange{}};
    };
    std::vector<Step> body{StreamIn{0, {1}, true}};
    for (const Step& step : slot(0)) body.push_back(step);
    // Enough time for the first fetches, so that only the copies to the IPU count.
    std::vector<Step> tree{HostCall{}, StreamIn{0, {0}, false}, Repeat{2, 1, LoopKind::MicroBatches, body}};
    for (const Step& step : slot(2)) tree.push_back(step);
    program.ipus = {tree};
    program.host.call_overhead_seconds = 0.1;
    const Fed fed = run_fed(program);
    EXPECT_NEAR(fed.makespan / (0.1 + fed.copy + 2 * std::max(fed.copy, kSlot) + kSlot), 1, 1e-9);
    EXPECT_NEAR(fed.transfer, fed.copy + 2 * std::max(0.0, fed.copy - kSlot), 1e-9);
  }
}

TEST(HostStreams, OutputsWaitForRoomWhenTheHostIsSlow) {
  Program program = pipeline({.stages = 1, .micro_batches = kMicroBatches, .output_bytes = 1e8});
  program.host.synthetic = false;
  program.host.prefetch_depth = 1;
  const auto numbers = numbers_in_child([&program]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    const Trace trace = checked_run(topology, program, {});
    return {trace.makespan_seconds, route_seconds(topology, topology.ipu_to_memory(0), 1e8),
            route_seconds(topology, topology.memory_to_host(0, 0), 1e8), seconds_in(trace, 0, State::HostOutputStall),
            static_cast<double>(trace.queues.size())};
  });
  ASSERT_EQ(numbers.size(), 5U);
  const double copy = numbers[1], drain = numbers[2];
  ASSERT_GT(drain, kSlot);
  // From one micro-batch to the next: the copy into the only buffer, and its way to the host.
  EXPECT_NEAR(numbers[0] / (1e-3 + copy + (kMicroBatches - 1) * (copy + drain) + 2e-3), 1, 1e-9);
  EXPECT_NEAR(numbers[3] / ((kMicroBatches - 1) * (drain - kSlot)), 1, 1e-9);
  EXPECT_EQ(numbers[4], 2 * kMicroBatches);
}

TEST(HostStreams, ReplicasShareTheWayFromTheHost) {
  Program program = pipeline({.stages = 1, .micro_batches = kMicroBatches, .replicas = 4, .input_bytes = 1e8});
  program.host.synthetic = false;
  program.host.prefetch_depth = 2;
  const Fed fed = run_fed(program);
  ASSERT_GT(4 * fed.fetch, fed.copy + kSlot);
  EXPECT_NEAR(fed.makespan / (kMicroBatches * 4 * fed.fetch + fed.copy + kSlot), 1, 1e-2);
}

TEST(RemoteMemory, TheIpusOfAMachineShareTheirStreamingMemory) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    Program program = pipeline({.stages = 4, .micro_batches = 1});
    for (int ipu = 0; ipu < 4; ++ipu) {
      program.buffers.push_back({ipu, 1e9, "optimizer_state/" + std::to_string(ipu)});
      program.ipus[static_cast<std::size_t>(ipu)] = {RemoteLoad{ipu}, EndOfUpdate{}};
    }
    const Trace trace = checked_run(topology, program, {});
    const Route& route = topology.memory_to_ipu(0);
    double shared = std::numeric_limits<double>::infinity();
    for (const int link : route.links) {
      const Link& used = topology.links()[static_cast<std::size_t>(link)];
      shared = std::min(shared, used.bytes_per_second / (used.kind == LinkKind::Ddr ? 4 : 1));
    }
    return {trace.makespan_seconds, route.latency_seconds + 1e9 / shared, seconds_in(trace, 2, State::RemoteMemory)};
  });
  ASSERT_EQ(numbers.size(), 3U);
  EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-9);
  EXPECT_NEAR(numbers[2] / numbers[1], 1, 1e-9);
}

TEST(RemoteMemory, OverlappedLoadsCostOnlyWhatIsLeft) {
  for (const double seconds : {1e-3, 1.0}) {
    const auto numbers = numbers_in_child([seconds]() -> std::vector<double> {
      const Topology topology = pod("pod4");
      Program program = pipeline({.stages = 1, .micro_batches = 1, .forward = {seconds}});
      program.buffers.push_back({0, 1e9, "weights/0"});
      program.ipus[0] = {RemoteLoad{0, true}, podsim::Run{0, Pass::Forward, {}}, RemoteWait{}, EndOfUpdate{}};
      const Trace trace = checked_run(topology, program, {});
      return {trace.makespan_seconds, route_seconds(topology, topology.memory_to_ipu(0), 1e9),
              seconds_in(trace, 0, State::RemoteMemory)};
    });
    ASSERT_EQ(numbers.size(), 3U);
    EXPECT_NEAR(numbers[0] / std::max(seconds, numbers[1]), 1, 1e-9);
    EXPECT_NEAR(numbers[2], std::max(0.0, numbers[1] - seconds), 1e-9);
  }
}

}  // namespace
}  // namespace podsim
