// Child processes: whatever happens in one is its own result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <stdexcept>
#include <thread>

#include "simulator/app/process_pool.hpp"
#include "simulator/core/error.hpp"
#include "tests/support/child_process.hpp"

namespace podsim {
namespace {

ProcessResult next_result(ProcessPool& pool) {
  for (;;) {
    std::vector<ProcessResult> results = pool.wait(1);
    if (!results.empty()) return results.front();
  }
}

// The work done in a worker, or in its child.
ProcessResult one(const std::function<std::string()>& work, bool in_worker, double timeout_seconds = 0) {
  ProcessPool pool(1, timeout_seconds, [&](const std::string&) -> Prepared {
    return in_worker ? Prepared{work(), {}} : Prepared{{}, work};
  });
  pool.start(7, "task");
  return next_result(pool);
}

class SweepPool : public ::testing::TestWithParam<bool> {
 protected:
  static std::string failure(const std::function<std::string()>& work) { return one(work, GetParam()).failure; }
};
INSTANTIATE_TEST_SUITE_P(Places, SweepPool, ::testing::Bool(),
                         [](const auto& place) { return place.param ? "Worker" : "Child"; });

TEST_P(SweepPool, ReturnsTheText) {
  const ProcessResult result = one([] { return std::string("abc"); }, GetParam());
  EXPECT_EQ(result.id, 7U);
  EXPECT_EQ(result.output, "abc");
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(one([] { return std::string(1'000'000, 'x'); }, GetParam()).output.size(), 1'000'000U);
}

TEST_P(SweepPool, FailuresAreResults) {
  EXPECT_EQ(failure([]() -> std::string { throw std::runtime_error("why"); }), "internal error: why");
  EXPECT_EQ(failure([]() -> std::string { throw UserError("here", "is wrong", "mend it"); }),
            "here: is wrong (mend it)");
  EXPECT_EQ(failure([]() -> std::string { std::abort(); }), "crashed: Aborted (signal 6)");
  EXPECT_EQ(failure([]() -> std::string { raise(SIGSEGV), _exit(0); }), "crashed: Segmentation fault (signal 11)");
  EXPECT_EQ(failure([]() -> std::string { _exit(3); }), "crashed: ended with exit code 3 without a result");
  EXPECT_EQ(failure([]() -> std::string { _exit(0); }), "crashed: ended with exit code 0 without a result");
  EXPECT_EQ(failure([]() -> std::string { raise(SIGKILL), _exit(0); }), "crashed: Killed (signal 9)");
}

TEST_P(SweepPool, TimeOut) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(one([]() -> std::string { pause(), _exit(0); }, GetParam(), 0.2).failure, "timed out after 0.2 s");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(seconds, 0.2);
  EXPECT_LT(seconds, 5);
}

// A worker remembers what it has prepared, also over crashes and time-outs of its children; its own end costs its
// memory, and the next task finds another worker.
TEST(SweepPoolMemory, LastsAsLongAsTheWorker) {
  int prepared = 0;
  ProcessPool pool(1, 0, [&prepared](const std::string& task) -> Prepared {
    ++prepared;
    if (task == "end") std::abort();
    return {{}, [&prepared, task]() -> std::string {
              if (task == "crash") std::abort();
              return std::to_string(prepared);
            }};
  });
  const auto ask = [&pool](const std::string& task) {
    pool.start(0, task);
    const ProcessResult result = next_result(pool);
    return result.failure.empty() ? result.output : result.failure;
  };
  EXPECT_EQ(ask("count"), "1");
  EXPECT_EQ(ask("count"), "2");
  EXPECT_EQ(ask("crash"), "crashed: Aborted (signal 6)");
  EXPECT_EQ(ask("count"), "4");
  EXPECT_EQ(ask("end"), "crashed: Aborted (signal 6)");
  EXPECT_EQ(ask("count"), "1");
  EXPECT_EQ(prepared, 0);  // in this process
}

TEST(SweepPoolMemory, ATimeOutEndsTheWorkerAndOthersGoOn) {
  ProcessPool pool(2, 0.3, [](const std::string& task) -> Prepared {
    return {{}, [task]() -> std::string {
              if (task == "late") pause();
              return task;
            }};
  });
  pool.start(0, "late");
  std::string failure;
  std::size_t answers = 0;
  while (failure.empty()) {
    if (!pool.full()) pool.start(1, "quick");
    for (const ProcessResult& result : pool.wait(1)) {
      result.id == 0 ? failure = result.failure : failure += result.failure;
      answers += result.output == "quick" ? 1 : 0;
    }
  }
  EXPECT_EQ(failure, "timed out after 0.3 s");
  EXPECT_GT(answers, 1U);
}

TEST(SweepPoolTasks, SeveralAtATime) {
  ProcessPool pool(3, 0, [](const std::string& task) -> Prepared {
    return {{}, [number = std::stoi(task)] { return std::to_string(number * number); }};
  });
  std::map<std::size_t, std::string> results;
  std::size_t next = 0;
  while (results.size() < 20) {
    for (; next < 20 && !pool.full(); ++next) pool.start(next, std::to_string(next));
    for (const ProcessResult& result : pool.wait(1)) results[result.id] = result.output;
  }
  for (const auto& [id, text] : results) EXPECT_EQ(text, std::to_string(id * id));
  EXPECT_TRUE(pool.idle());
}

TEST(SweepPoolTasks, WhatStillRunsAtItsEndIsKilled) {
  const auto start = std::chrono::steady_clock::now();
  for (const bool in_worker : {false, true}) {
    ProcessPool pool(1, 0, [in_worker](const std::string&) -> Prepared {
      if (in_worker) pause();
      return {{}, []() -> std::string { pause(), _exit(0); }};
    });
    pool.start(0, "task");
    (void)pool.wait(0.1);
  }
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5);
}

// No further processes for the rest of this one's life; root, who has no limit, becomes somebody else.
void forbid_processes() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)) throw std::runtime_error("limits");
}

TEST(SweepPoolTasks, WhereNoWorkerCanBeStarted) {
  const testing::ChildResult result = testing::in_child([]() -> std::vector<double> {
    forbid_processes();
    (void)one([] { return std::string("abc"); }, true);
    return {};
  });
  EXPECT_EQ(result.error, "--jobs: no process can be started: Resource temporarily unavailable (use fewer jobs)");
}

TEST(SweepPoolTasks, WhereNoChildOfAWorkerCanBeStarted) {
  ProcessPool pool(1, 0, [](const std::string&) -> Prepared {
    forbid_processes();
    return {{}, [] { return std::string("abc"); }};
  });
  pool.start(7, "task");
  EXPECT_EQ(next_result(pool).failure, "no process can be started: Resource temporarily unavailable");
}

TEST(SweepPoolTasks, StopSignalsAreHeldBackAndReported) {
  StopSignals stop;
  EXPECT_FALSE(stop.arrived());
  raise(SIGINT);
  raise(SIGTERM);
  EXPECT_TRUE(stop.arrived());
  EXPECT_TRUE(stop.arrived());
}

TEST_P(SweepPool, LeavesStopSignalsToTheParent) {
  EXPECT_EQ(one([] { return raise(SIGTERM), raise(SIGINT), std::string("alive"); }, GetParam()).output, "alive");
}

TEST(SweepPoolTasks, ProcessorsOfThisProcess) { EXPECT_GE(available_processors(), 1); }

}  // namespace
}  // namespace podsim
