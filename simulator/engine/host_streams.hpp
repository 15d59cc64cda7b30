// Host streams: data goes host memory -> NIC -> gateway -> streaming memory -> IPU and back, through buffers, with
// every link of the way shared.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "simulator/engine/channel.hpp"
#include "simulator/engine/code.hpp"
#include "simulator/engine/ipu.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/engine/link_bytes.hpp"
#include "simulator/engine/link_users.hpp"
#include "simulator/engine/loader.hpp"
#include "simulator/program/program.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

class HostStreams {
 public:
  // No channels with synthetic data. UserError where the pod has no host.
  HostStreams(const Topology& topology, const Program& program, const std::vector<Code>& codes, Kernel& kernel,
              bool record);

  void register_links(LinkUsers& users) const;
  void add_bytes(LinkBytes& bytes) const;
  void spawn();

  void input(Ipu& ipu);   // the StreamIn at the IPU's position
  void output(Ipu& ipu);  // the StreamOut
  void settle(Ipu& ipu);  // waits for what moves beside compute

  // Between host calls: when the data of a run of the instance that feeds `replica` is prepared, from `start` on …
  [[nodiscard]] double preparation_end(int replica, std::int64_t call, double start);
  // … and may be fetched.
  void release_run(int first_replica, int replicas);

  [[nodiscard]] bool active() const { return !channels_.empty(); }
  [[nodiscard]] bool random() const;  // preparation times are drawn
  [[nodiscard]] std::deque<Channel>& channels() { return channels_; }
  [[nodiscard]] std::vector<std::unique_ptr<Loader>>& loaders() { return loaders_; }
  [[nodiscard]] std::vector<QueueSample>& samples() { return samples_; }

 private:
  void add_channel(int replica, int index, const std::vector<Code>& codes);
  void add_loaders();
  [[nodiscard]] Channel& channel_of(const Ipu& ipu);
  [[nodiscard]] std::int64_t micro_batches_per_call(const Channel& channel) const;

  void serve_input(Channel& channel);  // the host's processes
  void serve_output(Channel& channel);
  void wait_for_sample(Channel& channel);
  void move_inputs(Channel& channel);  // IO tiles
  void move_outputs(Channel& channel);

  // Until there is data, or room; whether it had to wait.
  bool await_data(Channel& channel, Process& self);
  bool await_room(Channel& channel, Process& self);
  void take_data(Channel& channel);
  void put_data(Channel& channel);
  void transfer(const Route* route, double bytes, Process& self, int phase);
  void start_beside(Ipu& ipu, Channel& channel);
  void settle(Ipu& ipu, Channel& channel);
  void sample(const Channel& channel);
  void wake_consumer(Channel& channel);

  const Topology& topology_;
  const Program& program_;
  Kernel& kernel_;
  bool record_;
  std::int64_t calls_;
  std::deque<Channel> channels_;
  std::vector<std::vector<Channel*>> by_replica_;  // replica, stream; null: not used
  std::vector<std::vector<Channel*>> by_ipu_;      // those with movers, by IPU of the pod
  std::vector<std::unique_ptr<Loader>> loaders_;
  std::vector<Loader*> loader_of_replica_;
  std::vector<QueueSample> samples_;
};

}  // namespace podsim::engine
