// Child processes: whatever happens in one is its own result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <stdexcept>
#include <thread>

#include "simulator/app/process_pool.hpp"

namespace podsim {
namespace {

ProcessResult one(const std::function<std::string()>& work, double timeout_seconds = 0) {
  ProcessPool pool(1, timeout_seconds);
  pool.start(7, work);
  for (;;) {
    std::vector<ProcessResult> results = pool.wait(1);
    if (!results.empty()) return results.front();
  }
}

TEST(SweepPool, ReturnsTheText) {
  const ProcessResult result = one([] { return std::string("abc"); });
  EXPECT_EQ(result.id, 7U);
  EXPECT_EQ(result.output, "abc");
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(one([] { return std::string(1'000'000, 'x'); }).output.size(), 1'000'000U);
}

TEST(SweepPool, FailuresAreResults) {
  EXPECT_EQ(one([]() -> std::string { throw std::runtime_error("why"); }).failure, "why");
  EXPECT_EQ(one([]() -> std::string { std::abort(); }).failure, "crashed: Aborted (signal 6)");
  EXPECT_EQ(one([]() -> std::string { raise(SIGSEGV), _exit(0); }).failure, "crashed: Segmentation fault (signal 11)");
  EXPECT_EQ(one([]() -> std::string { _exit(3); }).failure, "crashed: ended with exit code 3 without a result");
  EXPECT_EQ(one([]() -> std::string { raise(SIGKILL), _exit(0); }).failure, "crashed: Killed (signal 9)");
}

TEST(SweepPool, TimeOut) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(one([]() -> std::string { pause(), _exit(0); }, 0.2).failure, "timed out after 0.2 s");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(seconds, 0.2);
  EXPECT_LT(seconds, 5);
}

TEST(SweepPool, SeveralAtATime) {
  ProcessPool pool(3, 0);
  std::map<std::size_t, std::string> results;
  std::size_t next = 0;
  while (results.size() < 20) {
    while (next < 20 && !pool.full()) {
      const std::size_t id = next++;
      pool.start(id, [id] { return std::to_string(id * id); });
    }
    for (const ProcessResult& result : pool.wait(1)) results[result.id] = result.output;
  }
  for (const auto& [id, text] : results) EXPECT_EQ(text, std::to_string(id * id));
  EXPECT_TRUE(pool.idle());
}

TEST(SweepPool, KillsWhatStillRunsAtItsEnd) {
  const auto start = std::chrono::steady_clock::now();
  {
    ProcessPool pool(1, 0);
    pool.start(0, []() -> std::string { pause(), _exit(0); });
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5);
}

TEST(SweepPool, StopSignalsAreHeldBackAndReported) {
  StopSignals stop;
  EXPECT_FALSE(stop.arrived());
  raise(SIGINT);
  raise(SIGTERM);
  EXPECT_TRUE(stop.arrived());
  EXPECT_TRUE(stop.arrived());
}

TEST(SweepPool, ChildrenLeaveStopSignalsToTheirParent) {
  EXPECT_EQ(one([] { return raise(SIGTERM), raise(SIGINT), std::string("alive"); }).output, "alive");
}

TEST(SweepPool, ProcessorsOfThisProcess) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace podsim
