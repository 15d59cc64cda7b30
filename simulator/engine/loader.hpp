// The data loader of one host process: workers that prepare samples for the replicas that the process feeds.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "simulator/core/random.hpp"
#include "simulator/engine/channel.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/program/program.hpp"

namespace podsim::engine {

// Workers that take samples in order, each the next one as soon as it is free.
class WorkerPool {
 public:
  // `slowdown`: where workers outnumber the cores that they share.
  WorkerPool(const HostPlan& plan, double slowdown, std::uint64_t seed);

  // Prepares a micro-batch from `start` on; when its last sample is ready.
  double prepare(double start);
  [[nodiscard]] double earliest_free() const;
  [[nodiscard]] const std::vector<double>& free_times() const { return free_; }

 private:
  double draw_seconds();
  void assign(double start, double seconds, double& ready);

  const HostPlan& plan_;
  double slowdown_;
  Random random_;
  std::vector<double> free_;  // when each worker is, as a heap with the earliest first
};

// The place of a PopDist instance among those of its host.
struct HostShare {
  int number = 0;
  int instances = 1;
};
// How much longer each worker of that instance takes than preprocess_seconds_per_sample says: because workers share
// cores (of the host, or NUMA-aware those of the instance's nodes), and by where their memory is.
[[nodiscard]] double worker_slowdown(const HostPlan& plan, const HostShare& share);

class Loader {
 public:
  Loader(const HostPlan& plan, double slowdown, std::uint64_t seed, Kernel& kernel)
      : plan_(plan), pool_(plan, slowdown, seed), kernel_(kernel) {}

  void add_replica(std::vector<Channel*> inputs);
  [[nodiscard]] Process& process() { return process_; }
  [[nodiscard]] const Process& process() const { return process_; }
  struct Call {
    std::int64_t number = 0, total = 0;
    std::int64_t micro_batches = 0;  // for each replica
  };
  // Where a call's data is prepared as a whole: when it is, for a host that asks for it at time `asked`. It is begun
  // then, or with batches_ahead as soon as the call so many before has taken its own.
  [[nodiscard]] double preparation_end(double asked, Call call);

  void run();   // the process: prepares ahead as far as the buffers reach
  void room();  // a channel took a sample or asked for one

  [[nodiscard]] const WorkerPool& pool() const { return pool_; }
  [[nodiscard]] const std::deque<double>& ready() const { return ready_; }
  struct Feed {
    std::vector<Channel*> inputs;
    std::int64_t prepared = 0, total = 0;  // micro-batches
  };
  [[nodiscard]] std::vector<Feed>& feeds() { return feeds_; }
  [[nodiscard]] std::size_t next_feed() const { return next_; }

 private:
  [[nodiscard]] static bool wants(const Feed& feed);
  Feed* choose();
  double prepare_call(double start, std::int64_t micro_batches);

  const HostPlan& plan_;
  WorkerPool pool_;
  Kernel& kernel_;
  std::deque<double> ready_;  // when the data of the next calls is, of at most batches_ahead
  Process process_;
  std::vector<Feed> feeds_;  // by replica
  std::size_t next_ = 0;     // replicas take turns
};

}  // namespace podsim::engine
