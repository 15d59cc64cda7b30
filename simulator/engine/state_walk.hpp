// Visits everything that decides how the system goes on, in a fixed order. Whoever adds state to a part of the engine
// adds it here; otherwise periods would be skipped that are not equal.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "simulator/engine/interpreter.hpp"

namespace podsim::engine {

template <typename Visitor>
class StateWalk {
 public:
  StateWalk(const Machinery& parts, std::deque<Ipu>& ipus, Interpreter& interpreter, Visitor& visitor)
      : parts_(parts), ipus_(ipus), interpreter_(interpreter), visitor_(visitor) {}

  void walk() {
    for (Ipu& ipu : ipus_) visit(ipu);
    visit(parts_.exchanges);
    visit(parts_.collectives);
    for (const auto& instance : parts_.calls.instances()) visit(*instance);
    for (Channel& channel : parts_.streams.channels()) visit(channel);
    for (const auto& loader : parts_.streams.loaders()) visit(*loader);
    visitor_.total(interpreter_.amp_flops());
  }

 private:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  void visit(const Process& process) {
    visitor_.word(static_cast<std::int64_t>(process.wait) | static_cast<std::int64_t>(process.woken) << 8 |
                  static_cast<std::int64_t>(process.wait == Wait::None ? 0 : process.phase) << 16);
    if (process.wait == Wait::Sleep) visitor_.time(process.until);
    visitor_.word(static_cast<std::int64_t>(process.flows.size()));
    for (const FlowId flow : process.flows) visitor_.bytes(parts_.kernel.remaining_bytes(flow));
  }

  void visit(Ipu& ipu) {
    visit(ipu.process);
    visitor_.word(ipu.cursor.position());
    visitor_.word(static_cast<std::int64_t>(ipu.cursor.depth()));
    for (std::size_t level = 0; level < ipu.cursor.depth(); ++level) {
      const Cursor::Frame& frame = ipu.cursor.frame(level);
      visitor_.word(frame.loop);
      visitor_.counter(frame.iteration, ipu.cursor.code().loops[static_cast<std::size_t>(frame.loop)].count,
                       ipu.index + 1,
                       [&ipu, level](std::int64_t iterations) { ipu.cursor.skip_iterations(level, iterations); });
    }
    visitor_.time(ipu.timeline.time());
    visitor_.timeline(ipu.timeline.totals());
    const std::int64_t slots = parts_.program.slots_per_update;
    const bool before_drained = slots > 0 && ipu.exchanges < slots;
    visitor_.word(static_cast<std::int64_t>(ipu.worked) | static_cast<std::int64_t>(ipu.finished) << 1 |
                  static_cast<std::int64_t>(before_drained) << 2);
    visit_counter(ipu.exchanges, before_drained ? slots : kNoLimit);
    visitor_.count(ipu.updates);
    visitor_.count(ipu.calls);
    visitor_.word(static_cast<std::int64_t>(ipu.background.size()));
    for (const Ipu::Background& background : ipu.background) {
      visitor_.bytes(parts_.kernel.remaining_bytes(background.flow));
      visitor_.duration(background.latency_seconds);
    }
    visitor_.duration(std::max(0.0, ipu.background_end - ipu.timeline.time()));
  }

  void visit_counter(std::int64_t& value, std::int64_t limit) {
    visitor_.counter(value, limit, 0, [&value](std::int64_t steps) { value += steps; });
  }

  // Whether one of them has been woken from a wait in this phase, and has not run yet.
  [[nodiscard]] static bool any_woken(const std::vector<Process*>& processes, int phase) {
    return std::any_of(processes.begin(), processes.end(),
                       [phase](const Process* process) { return process->woken && process->phase == phase; });
  }

  // The times are read by those that wake up.
  template <typename Place>
  void visit_meeting(const Place& place, int phase) {
    visitor_.word(static_cast<std::int64_t>(place.arrived));
    if (place.arrived > 0) visitor_.time(place.latest);
    if (!any_woken(place.waking, phase)) return;
    visitor_.time(place.times.met);
    visitor_.time(place.times.left);
  }

  void visit_times(const std::vector<double>& times) {
    for (const double time : times) time > 0 ? visitor_.time(time) : visitor_.word(-1);
  }

  void visit(Exchanges& exchanges) {
    for (const Exchanges::Meeting& meeting : exchanges.meetings()) visit_meeting(meeting, meeting.phase);
    for (const Exchanges::Meeting& meeting : exchanges.ladders()) visit_meeting(meeting, meeting.phase);
    const Exchanges::Meeting& world = exchanges.world();
    visit_meeting(world, world.phase);
    if (world.arrived > 0) visit_times(world.latest_of_replica);
    if (any_woken(world.waking, world.phase)) visit_times(world.met_of_replica);
    visitor_.word(static_cast<std::int64_t>(exchanges.patterns().size()));
    for (Exchanges::Pattern* pattern : exchanges.patterns()) visitor_.count(pattern->executions);
  }

  void visit(Collectives& collectives) {
    for (Collectives::Group& group : collectives.groups()) {
      visit_meeting(group, kCollectiveMeeting);
      visitor_.count(group.executions);
      if (group.arrived < group.plan.ranks.size()) continue;
      visitor_.word(static_cast<std::int64_t>(group.step));
      visitor_.word(group.repetition);
      visitor_.duration(group.computed_seconds);
    }
    visitor_.word(static_cast<std::int64_t>(collectives.starting().size()));
    for (const int group : collectives.starting()) visitor_.word(group);
  }

  void visit(HostCalls::Instance& instance) {
    visit(instance.process);
    visit_meeting(instance, kHostCall);
    if (instance.arrived > 0) visit_times(instance.latest_of_replica);
    if (any_woken(instance.waking, kHostCall)) {
      visit_times(instance.met_of_replica);
      visitor_.time(instance.times.prepared);
      visitor_.time(instance.times.evaluated);
    }
    const std::int64_t every = parts_.program.host.switch_every;
    if (every > 0) visitor_.word(instance.done % every);
    const std::int64_t epoch = parts_.program.host.calls_per_epoch;
    if (epoch > 0) {  // moves on with `done`; the last calls of an epoch have nothing prepared behind them
      visitor_.counter(instance.done % epoch, epoch - parts_.program.host.batches_ahead, 0, [](std::int64_t) {});
    }
    visit_counter(instance.done, instance.total);
  }

  void visit(Channel& channel) {
    visit(channel.process);
    visit(channel.mover);
    visit_counter(channel.done, channel.total);
    visit_counter(channel.moved, channel.to_move);
    for (const int number : {channel.requests, channel.taken, channel.filled, channel.pending}) visitor_.word(number);
    if (channel.limited) {
      visitor_.counter(-channel.credits, 0, 0, [&channel](std::int64_t steps) { channel.credits -= steps; });
    }
    visitor_.word(static_cast<std::int64_t>(channel.prepared.size()));
    for (const double ready : channel.prepared) visitor_.duration(std::max(0.0, ready - parts_.kernel.now()));
    const bool fetching = channel.process.wait == Wait::Flows || channel.process.phase == kStreamFlow;
    if (fetching) visitor_.time(channel.transfer_start);
    visitor_.word(channel.consumer == nullptr ? 0 : 1);
    if (channel.consumer != nullptr && channel.consumer->woken) visitor_.time(channel.arrival_start);
    visitor_.word(channel.settler == nullptr ? 0 : 1);
    const bool moving = channel.pending > 0 && channel.mover.phase != kMoverStart;
    if (moving || (channel.settler != nullptr && channel.settler->woken)) visitor_.time(channel.wait_start);
  }

  void visit(Loader& loader) {
    visit(loader.process());
    for (Loader::Feed& feed : loader.feeds()) visit_counter(feed.prepared, feed.total);
    visitor_.word(static_cast<std::int64_t>(loader.next_feed()));
    visitor_.word(static_cast<std::int64_t>(loader.ready().size()));
    for (const double ready : loader.ready()) visitor_.duration(std::max(0.0, ready - parts_.kernel.now()));
    std::vector<double> free = loader.pool().free_times();
    for (double& time : free) time = std::max(0.0, time - parts_.kernel.now());
    std::sort(free.begin(), free.end());
    for (const double time : free) visitor_.duration(time);
  }

  const Machinery& parts_;
  std::deque<Ipu>& ipus_;
  Interpreter& interpreter_;
  Visitor& visitor_;
};

}  // namespace podsim::engine
