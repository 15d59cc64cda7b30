// ProcessPool: runs pieces of work in child processes, one each, so that a crash, a signal or an endless loop is only
// that piece's result. Also required by SimGrid, which simulates once per process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace podsim {

struct ProcessResult {
  std::size_t id = 0;
  std::string output;   // what the work returned
  std::string failure;  // why there is no output: "crashed: Segmentation fault (signal 11)", …; else empty
};

class ProcessPool {
 public:
  // At most `jobs` at a time; each is killed after `timeout_seconds` (0: never).
  ProcessPool(int jobs, double timeout_seconds);
  ~ProcessPool();  // kills what still runs
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  [[nodiscard]] bool full() const { return running_.size() >= jobs_; }
  [[nodiscard]] bool idle() const { return running_.empty(); }

  // Forks; the child does `work` and sends its result back. Its standard output and error go nowhere, and signals of
  // the terminal do not reach it. An exception that leaves `work` is a failure. UserError where no process can be
  // made. Call it before SimGrid or HDF5 are used in this process.
  void start(std::size_t id, const std::function<std::string()>& work);

  // What has finished, waiting for it up to `seconds`; returns at once when `descriptor` (or -1) becomes readable.
  [[nodiscard]] std::vector<ProcessResult> wait(double seconds, int descriptor = -1);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::size_t id = 0;
    pid_t pid = 0;
    int pipe = -1;
    std::string received;
    Clock::time_point deadline;
  };

  bool receive(Child& child, ProcessResult& result);
  [[nodiscard]] int wait_milliseconds(double seconds) const;
  void reap();

  std::size_t jobs_;
  double timeout_seconds_;
  std::vector<Child> running_;
  std::vector<pid_t> ending_;  // have sent their result; their memory is being freed
  int null_ = -1;              // /dev/null
};

// Does `work(id)` for every id below `count`, at most `jobs` at a time; `finished` is told in order of completion.
void run_each(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work,
              const std::function<void(const ProcessResult&)>& finished);

// Signals that ask the program to stop (SIGINT, SIGTERM, SIGHUP), held back while an object of this class lives and
// read from a descriptor, so that work ends at a point of its own choice.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_; }  // readable when one has arrived
  [[nodiscard]] bool arrived();

 private:
  int descriptor_ = -1;
  bool arrived_ = false;
};

// Processors that this process may use.
[[nodiscard]] int available_processors();

}  // namespace podsim
