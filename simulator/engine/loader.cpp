// Workers as a queue with several servers; replicas take turns where they have room.
#include "simulator/engine/loader.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "simulator/engine/ipu.hpp"

namespace podsim::engine {

namespace {

// More than the kernel's clock and sums of times are inexact by.
constexpr double kInstantSeconds = 4e-12;
constexpr double kInstantRoundings = 16;

// What NUMA-aware placement gives an instance: its share of the host's nodes, in order; where instances outnumber the
// nodes, some of them share one.
struct NodeShare {
  int nodes = 1;
  int instances = 1;
};

NodeShare node_share(const HostPlan& plan, const HostShare& share) {
  const int all = std::max(1, plan.numa_nodes_per_host);
  const auto first_node = [&](int number) { return number * all / share.instances; };
  const int first = first_node(share.number);
  NodeShare result{std::max(1, first_node(share.number + 1) - first), 0};
  if (share.instances <= all) return {result.nodes, 1};
  for (int other = 0; other < share.instances; ++other) result.instances += first_node(other) == first ? 1 : 0;
  return result;
}

// Time of a thread whose memory is spread over so many nodes, over one whose memory is all on its own.
double memory_slowdown(const HostPlan& plan, int nodes) {
  return 1 + (plan.numa_remote_slowdown - 1) * (nodes - 1) / nodes;
}

// Behind everything that happens at `time`, also where rounding has it a little later, and before everything else.
double end_of_instant(double time) {
  return time + std::max(kInstantSeconds, kInstantRoundings * std::numeric_limits<double>::epsilon() * time);
}

double core_slowdown(double workers, double cores) { return cores > 0 ? std::max(1.0, workers / cores) : 1; }

}  // namespace

double worker_slowdown(const HostPlan& plan, const HostShare& share) {
  const double workers = std::max(1, plan.workers_per_instance);
  if (!plan.numa_aware) return core_slowdown(workers * share.instances, plan.cores_per_host);
  const int nodes = std::max(1, plan.numa_nodes_per_host);
  const NodeShare own = node_share(plan, share);
  const double cores = static_cast<double>(plan.cores_per_host) * own.nodes / nodes;
  return core_slowdown(workers * own.instances, cores) * memory_slowdown(plan, own.nodes) /
         memory_slowdown(plan, nodes);
}

WorkerPool::WorkerPool(const HostPlan& plan, double slowdown, std::uint64_t seed)
    : plan_(plan),
      slowdown_(slowdown),
      random_(seed),
      free_(static_cast<std::size_t>(std::max(1, plan.workers_per_instance)), 0.0) {}

double WorkerPool::draw_seconds() {
  const double mean = plan_.preprocess_seconds_per_sample;
  const double deviation = plan_.preprocess_deviation_seconds;
  switch (plan_.distribution) {
    case Distribution::Fixed: return mean;
    case Distribution::Normal: return deviation > 0 ? std::max(0.0, random_.normal(mean, deviation)) : mean;
    case Distribution::LogNormal: return deviation > 0 ? random_.log_normal(mean, deviation) : mean;
    case Distribution::Exponential: return random_.exponential(mean);
  }
  return mean;
}

void WorkerPool::assign(double start, double seconds, double& ready) {
  std::pop_heap(free_.begin(), free_.end(), std::greater<>());
  free_.back() = std::max(free_.back(), start) + seconds * slowdown_;
  ready = std::max(ready, free_.back());
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
}

double WorkerPool::prepare(double start) {
  double ready = start;
  if (!(plan_.preprocess_seconds_per_sample > 0)) return ready;
  const double samples = plan_.samples_per_micro_batch;
  const double whole = std::floor(samples);
  for (double sample = 0; sample < whole; ++sample) assign(start, draw_seconds(), ready);
  if (samples > whole) assign(start, (samples - whole) * draw_seconds(), ready);
  return ready;
}

double WorkerPool::earliest_free() const { return free_.front(); }

void Loader::add_replica(std::vector<Channel*> inputs) {
  Feed& feed = feeds_.emplace_back();
  feed.inputs = std::move(inputs);
  for (const Channel* channel : feed.inputs) feed.total = std::max(feed.total, channel->total);
}

double Loader::prepare_call(double start, std::int64_t micro_batches) {
  double end = start;
  for (std::int64_t i = 0; i < micro_batches * static_cast<std::int64_t>(feeds_.size()); ++i) {
    end = std::max(end, pool_.prepare(start));
  }
  return end;
}

double Loader::preparation_end(double asked, Call call) {
  const std::int64_t ahead = plan_.batches_ahead;
  if (ahead == 0) return prepare_call(asked, call.micro_batches);
  const std::int64_t epoch = plan_.calls_per_epoch > 0 ? plan_.calls_per_epoch : call.total;
  const std::int64_t number = call.number % epoch;
  if (number == 0) {
    const double start = plan_.calls_per_epoch > 0 ? asked + plan_.epoch_start_seconds : 0;
    for (std::int64_t i = 0; i < std::min(ahead, epoch); ++i) ready_.push_back(prepare_call(start, call.micro_batches));
  }
  const double taken = std::max(asked, ready_.front());
  ready_.pop_front();
  if (number + ahead < epoch) ready_.push_back(prepare_call(taken, call.micro_batches));
  return taken;
}

// A sample holds the data of all streams of its micro-batch; those used later in the pipeline wait in the host's
// memory. So the stream that is furthest ahead decides.
bool Loader::wants(const Feed& feed) {
  if (feed.prepared == feed.total) return false;
  return std::any_of(feed.inputs.begin(), feed.inputs.end(), [&feed](const Channel* channel) {
    if (feed.prepared >= channel->total) return false;
    const int room = channel->on_request ? channel->requests : channel->depth;
    return static_cast<int>(channel->prepared.size()) < room;
  });
}

Loader::Feed* Loader::choose() {
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    const std::size_t candidate = (next_ + i) % feeds_.size();
    if (!wants(feeds_[candidate])) continue;
    next_ = (candidate + 1) % feeds_.size();
    return &feeds_[candidate];
  }
  return nullptr;
}

void Loader::run() {
  const auto unfinished = [this] {
    return std::any_of(feeds_.begin(), feeds_.end(), [](const Feed& feed) { return feed.prepared < feed.total; });
  };
  double start = 0;
  while (unfinished()) {
    start = std::max(start, pool_.earliest_free());
    // A worker is often free at the very instant at which replicas take samples or ask for them. Whose turn it is must
    // not depend on which of them the kernel lets run first, which no snapshot knows.
    kernel_.sleep_until(process_, end_of_instant(start), kLoaderWorker);
    Feed* feed = choose();
    if (feed == nullptr) {
      kernel_.block(process_, kLoaderSpace);
      start = kernel_.now();
      continue;
    }
    const double ready = pool_.prepare(start);
    for (Channel* channel : feed->inputs) {
      if (feed->prepared >= channel->total) continue;
      // Workers may finish a later sample first; a stream is read in order.
      const double last = channel->prepared.empty() ? ready : channel->prepared.back();
      channel->prepared.push_back(std::max(ready, last));
      kernel_.wake(channel->process);
    }
    ++feed->prepared;
  }
}

void Loader::room() {
  if (process_.wait == Wait::Blocked) kernel_.wake(process_);
}

}  // namespace podsim::engine
