// ProcessPool: worker processes that prepare pieces of work and fork for what can be done only once in a process, so
// that a crash, a signal or an endless simulation is a result like any other, and memos survive from piece to piece.
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

// What a worker has made of a task: the answer, or the rest of the work, which wants a process of its own.
struct Prepared {
  std::string answer;
  std::function<std::string()> rest;  // empty: `answer` is all
};

class ProcessPool {
 public:
  // Called in a worker for each of its tasks, one after the other: what it keeps makes later ones cheaper. The rest
  // runs in a child of the worker, which ends with it and whose memory is the worker's, copied where it is written.
  using Prepare = std::function<Prepared(const std::string& task)>;

  // At most `jobs` workers, started when they are needed, each with a copy of `prepare` as it is now; a task is killed
  // after `timeout_seconds` (0: never).
  ProcessPool(int jobs, double timeout_seconds, Prepare prepare);
  ~ProcessPool();  // kills what still runs
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  [[nodiscard]] bool full() const { return busy_ >= jobs_; }
  [[nodiscard]] bool idle() const { return busy_ == 0; }

  // Hands a task (one line of text) to a worker; with full() never. Standard output and error of workers go nowhere,
  // and signals of the terminal do not reach them. What happens in a worker or its child (an exception, a crash, a
  // signal) is a failure of the task that it was at. UserError where no process can be made. Call it before SimGrid or
  // HDF5 are used in this process.
  void start(std::size_t id, const std::string& task);

  // What has finished, waiting for it up to `seconds`; returns at once when `descriptor` (or -1) becomes readable.
  [[nodiscard]] std::vector<ProcessResult> wait(double seconds, int descriptor = -1);

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    pid_t pid = 0;
    int socket = -1;
    bool busy = false;
    std::size_t id = 0;  // of its task
    std::string received{};
    Clock::time_point deadline{};
  };

  Worker& idle_worker();
  void spawn();
  bool receive(Worker& worker, ProcessResult& result);
  void end(Worker& worker);
  [[nodiscard]] int wait_milliseconds(double seconds) const;

  std::size_t jobs_;
  double timeout_seconds_;
  Prepare prepare_;
  std::vector<Worker> workers_;
  std::size_t busy_ = 0;
};

// Prepares every id below `count` in one of `jobs` workers, and does the rest; `finished` is told in order of
// completion.
void run_each(int jobs, std::size_t count, const std::function<Prepared(std::size_t)>& prepare,
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
