// One test per setting of SimGrid: each shows a time that the default would get wrong (figures: pitfalls of TCP
// models).
#include <gtest/gtest.h>

#include <array>

#include "simulator/engine/kernel.hpp"
#include "simulator/engine/simgrid_settings.hpp"
#include "tests/unit/engine/programs.hpp"

namespace podsim::engine {
namespace {

using podsim::testing::in_child;
using podsim::testing::numbers_in_child;
using podsim::testing::pod;
using podsim::testing::route_seconds;

// One process on IPU 0 of a Pod4; the numbers that it writes.
using Body = std::function<void(Kernel&, const Topology&, Process&, std::vector<double>&)>;

std::vector<double> alone(const Body& body, const std::string& overrides = "{}") {
  return numbers_in_child([&]() -> std::vector<double> {
    const Topology topology = pod("pod4", 0, overrides);
    Kernel kernel(topology);
    kernel.start();
    Process process;
    std::vector<double> numbers;
    kernel.spawn(process, topology.ipu_vertex(0), "test", [&] { body(kernel, topology, process, numbers); });
    if (!kernel.run()) throw InternalError("did not finish");
    return numbers;
  });
}

double transfer_seconds(const Topology& topology, const Route& route, double bytes) {
  return route_seconds(topology, route, bytes) - route.latency_seconds;
}

TEST(Settings, ALargeTransferTakesBytesOverBandwidth) {  // network/model, network/TCP-gamma
  // The default model takes 3 % off the bandwidth, a TCP window far more where the latency is long.
  const auto numbers = alone(
      [](Kernel& kernel, const Topology& topology, Process& self, std::vector<double>& out) {
        const Route& route = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
        out = {kernel.finish_flow(self, kernel.start_flow({&route, 1e9}), 0), transfer_seconds(topology, route, 1e9)};
      },
      R"({"ipu_link_latency_seconds": 1e-4})");
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-9);
}

TEST(Settings, ManySmallTransfersPayNoHiddenLatency) {  // network/model
  const auto numbers = alone([](Kernel& kernel, const Topology& topology, Process& self, std::vector<double>& out) {
    const Route& route = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
    for (int i = 0; i < 1000; ++i) (void)kernel.finish_flow(self, kernel.start_flow({&route, 6400}), 0);
    out = {kernel.now(), 1000 * transfer_seconds(topology, route, 6400)};
  });
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-4);  // each ends on the clock's grid
}

TEST(Settings, OppositeDirectionsDoNotDisturbEachOther) {  // network/crosstraffic
  const auto numbers = alone([](Kernel& kernel, const Topology& topology, Process& self, std::vector<double>& out) {
    const Route& there = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
    const Route& back = topology.route(topology.ipu_vertex(1), topology.ipu_vertex(0));
    self.flows = {kernel.start_flow({&there, 1e9}), kernel.start_flow({&back, 1e9})};
    kernel.finish_flows(self, 0);
    out = {kernel.now(), transfer_seconds(topology, there, 1e9)};
  });
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-9);
}

TEST(Settings, FlowsOnALinkShareItEqually) {  // maxmin/precision; zero latency of the links
  const auto numbers = alone(
      [](Kernel& kernel, const Topology& topology, Process& self, std::vector<double>& out) {
        // The near route and the far one share the rail from IPU 0 to IPU 2.
        const Route& near = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(2));
        const Route& far = topology.route(topology.ipu_vertex(1), topology.ipu_vertex(2));
        const FlowId first = kernel.start_flow({&near, 1e9}), second = kernel.start_flow({&far, 1e9});
        out = {kernel.finish_flow(self, first, 0), kernel.finish_flow(self, second, 0)};
      },
      R"({"ipu_link_latency_seconds": 1e-3})");
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_NEAR(numbers[0] / numbers[1], 1, 1e-9);
}

TEST(Settings, TimesBelowANanosecondAreKept) {  // surf/precision
  const auto numbers = alone([](Kernel& kernel, const Topology&, Process& self, std::vector<double>& out) {
    for (int i = 1; i <= 1000; ++i) kernel.sleep_until(self, i * 0.75e-9, 0);
    out = {kernel.now()};
  });
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_NEAR(numbers[0], 750e-9, 2e-12);
}

TEST(Settings, FractionsOfBytesCount) {
  const auto numbers = alone([](Kernel& kernel, const Topology& topology, Process& self, std::vector<double>& out) {
    const Route& route = topology.route(topology.ipu_vertex(0), topology.ipu_vertex(1));
    out = {kernel.finish_flow(self, kernel.start_flow({&route, 1000.5}), 0), transfer_seconds(topology, route, 1000.5)};
  });
  ASSERT_EQ(numbers.size(), 2U);
  EXPECT_NEAR(numbers[0], numbers[1], 1e-12);
}

TEST(Settings, ThousandsOfProcessesFit) {  // contexts/stack-size
  const auto result = in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod64");
    Kernel kernel(topology);
    kernel.start();
    std::vector<Process> processes(20000);
    for (Process& process : processes) {
      kernel.spawn(process, topology.ipu_vertex(0), "test", [&] { kernel.sleep_until(process, 1, 0); });
    }
    if (!kernel.run()) throw InternalError("did not finish");
    return {kernel.now()};
  });
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.numbers.size(), 1U);
  EXPECT_EQ(result.numbers[0], 1);
}

TEST(Settings, TheOrderOfProcessesIsThatOfTheirCreation) {  // contexts/nthreads
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    Kernel kernel(topology);
    kernel.start();
    std::array<Process, 8> processes;
    std::vector<double> order;
    for (int i = 0; i < 8; ++i) {
      kernel.spawn(processes[static_cast<std::size_t>(i)], topology.ipu_vertex(i % 4), "test",
                   [&order, i] { order.push_back(i); });
    }
    if (!kernel.run()) throw InternalError("did not finish");
    return order;
  });
  EXPECT_EQ(numbers, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Kernel, TheFirstExceptionOfAProcessReachesTheCaller) {
  const auto result = in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    Kernel kernel(topology);
    kernel.start();
    std::array<Process, 3> processes;
    for (int i = 0; i < 3; ++i) {
      Process& process = processes[static_cast<std::size_t>(i)];
      kernel.spawn(process, topology.ipu_vertex(0), "test", [&kernel, &process, i] {
        kernel.sleep_until(process, 3 - i, 0);
        throw InternalError("from process " + std::to_string(i));
      });
    }
    (void)kernel.run();
    return {};
  });
  EXPECT_EQ(result.error, "from process 2");
}

TEST(Kernel, AProcessThatIsWokenInTheInstantOfItsBlockWakesUp) {
  const auto numbers = numbers_in_child([]() -> std::vector<double> {
    const Topology topology = pod("pod4");
    Kernel kernel(topology);
    kernel.start();
    std::array<Process, 2> processes;
    kernel.spawn(processes[0], topology.ipu_vertex(0), "sleeper", [&] { kernel.block(processes[0], 0); });
    kernel.spawn(processes[1], topology.ipu_vertex(0), "waker", [&] { kernel.wake(processes[0]); });
    return {kernel.run() ? 1.0 : 0.0};
  });
  EXPECT_EQ(numbers, std::vector<double>{1.0});
}

}  // namespace
}  // namespace podsim::engine
