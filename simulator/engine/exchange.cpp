// Meetings and the patterns of copies, each solved once and then counted.
#include "simulator/engine/exchange.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "simulator/engine/fluid.hpp"

namespace podsim::engine {
namespace {

std::uint64_t hash_of(const std::vector<const Exchange*>& exchanges) {
  std::uint64_t hash = 0;
  for (const Exchange* exchange : exchanges) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(exchange)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace

Exchanges::Exchanges(const Topology& topology, const Program& program, Kernel& kernel, bool closed_form)
    : topology_(topology),
      program_(program),
      kernel_(kernel),
      closed_form_(closed_form),
      fixed_seconds_(topology.parameters().get("exchange_fixed_seconds")),
      meetings_(static_cast<std::size_t>(program.replicas)),
      known_(static_cast<std::size_t>(program.replicas)) {
  const auto size = static_cast<std::size_t>(program.ipus_per_replica);
  for (Meeting& meeting : meetings_) {
    meeting.size = size;
    meeting.exchanges.assign(size, nullptr);
  }
  world_.phase = kWorldMeeting;
  world_.size = size * meetings_.size();
  world_.latest_of_replica.assign(meetings_.size(), 0.0);
  world_.met_of_replica = world_.latest_of_replica;
  ladders_.resize(2 * meetings_.size());
  for (std::size_t i = 0; i < ladders_.size(); ++i) {
    ladders_[i].phase = kLadderMeeting;
    ladders_[i].size = (size + 1 - i % 2) / 2;
  }
}

void Exchanges::register_links(LinkUsers& users) const {
  for (int replica = 0; replica < program_.replicas; ++replica) {
    for (const Transfer& transfer : program_.transfers) {
      users.add(route(transfer, replica), {LinkUser::Kind::Exchange, replica});
    }
  }
}

void Exchanges::set_link_users(const LinkUsers& users, std::function<bool(int, int)> blocked) {
  users_ = &users;
  blocked_ = std::move(blocked);
}

const Route& Exchanges::route(const Transfer& transfer, int replica) const {
  const int first = replica * program_.ipus_per_replica;
  return topology_.route(topology_.ipu_vertex(first + transfer.from_ipu),
                         topology_.ipu_vertex(first + transfer.to_ipu));
}

bool Exchanges::arrive(Meeting& meeting, Ipu& ipu) {
  meeting.latest = std::max(meeting.latest, ipu.timeline.time());
  if (++meeting.arrived == meeting.size) return true;
  meeting.waiting.push_back(&ipu.process);
  kernel_.block(ipu.process, meeting.phase);
  return false;
}

void Exchanges::leave(Meeting& meeting, double met, double left) {
  meeting.times = {met, met, left};
  meeting.met_of_replica.swap(meeting.latest_of_replica);
  std::fill(meeting.latest_of_replica.begin(), meeting.latest_of_replica.end(), 0.0);
  meeting.arrived = 0;
  meeting.latest = 0;
  meeting.waking.swap(meeting.waiting);
  meeting.waiting.clear();
  kernel_.wake_all(meeting.waking);
}

MeetingTimes Exchanges::meet(Ipu& ipu) {
  Meeting& meeting = meetings_[static_cast<std::size_t>(ipu.replica)];
  meeting.exchanges[static_cast<std::size_t>(ipu.local)] = ipu.cursor.op().exchange;
  if (!arrive(meeting, ipu)) return meeting.times;
  const double met = meeting.latest;
  Pattern& pattern = pattern_of(meeting, ipu.replica);
  ++pattern.executions;
  leave(meeting, met, copy(pattern, ipu, met));
  return meeting.times;
}

MeetingTimes Exchanges::meet_without_copies(Meeting& meeting, Ipu& ipu) {
  if (!arrive(meeting, ipu)) return meeting.times;
  const double met = meeting.latest;
  kernel_.sleep_until(ipu.process, met, kMeetingStart);
  leave(meeting, met, met);
  return meeting.times;
}

MeetingTimes Exchanges::meet_ladder(Ipu& ipu) {
  return meet_without_copies(ladders_[static_cast<std::size_t>(2 * ipu.replica + ipu.local % 2)], ipu);
}

MeetingTimes Exchanges::meet_world(Ipu& ipu) {
  const auto replica = static_cast<std::size_t>(ipu.replica);
  world_.latest_of_replica[replica] = std::max(world_.latest_of_replica[replica], ipu.timeline.time());
  MeetingTimes times = meet_without_copies(world_, ipu);
  times.replica_met = world_.met_of_replica[replica];
  return times;
}

// Returns when the copies have ended, and then is that time.
double Exchanges::copy(Pattern& pattern, Ipu& ipu, double met) {
  if (pattern.flows.empty()) {
    kernel_.sleep_until(ipu.process, met, kMeetingStart);
    return met;
  }
  const double start = met + pattern.overhead_seconds;
  if (pattern.computed) {
    kernel_.sleep_until(ipu.process, start + pattern.flow_seconds, kExchangeEnd);
    return start + pattern.flow_seconds;
  }
  kernel_.sleep_until(ipu.process, start, kExchangeStart);
  kernel_.start_flows(pattern.flows, ipu.process.flows);
  kernel_.finish_flows(ipu.process, kExchangeFlows);
  return std::max(start, kernel_.now());
}

Exchanges::Pattern& Exchanges::pattern_of(Meeting& meeting, int replica) {
  if (meeting.last != nullptr && meeting.last->exchanges == meeting.exchanges) return *meeting.last;
  auto& known = known_[static_cast<std::size_t>(replica)][hash_of(meeting.exchanges)];
  const auto same = [&meeting](const auto& pattern) { return pattern->exchanges == meeting.exchanges; };
  auto found = std::find_if(known.begin(), known.end(), same);
  if (found == known.end()) {
    known.push_back(make_pattern(meeting, replica));
    found = known.end() - 1;
    patterns_.push_back(found->get());
  }
  meeting.last = found->get();
  return *meeting.last;
}

std::unique_ptr<Exchanges::Pattern> Exchanges::make_pattern(const Meeting& meeting, int replica) const {
  auto pattern = std::make_unique<Pattern>();
  pattern->exchanges = meeting.exchanges;
  double latency = 0;
  for (const Exchange* exchange : meeting.exchanges) {
    if (exchange == nullptr) continue;
    for (const ExchangeMove& move : exchange->sends) {
      const Transfer& transfer = program_.transfers[static_cast<std::size_t>(move.transfer)];
      if (!(transfer.bytes > 0)) continue;
      const Route& way = route(transfer, replica);
      pattern->flows.push_back({&way, transfer.bytes});
      latency = std::max(latency, way.latency_seconds);
    }
  }
  if (pattern->flows.empty()) return pattern;
  pattern->overhead_seconds = fixed_seconds_ + latency;
  pattern->computed = closed_form_ && alone(pattern->flows, replica);
  if (pattern->computed) {
    const std::vector<double> ends = flow_end_seconds(topology_, pattern->flows);
    pattern->flow_seconds = *std::max_element(ends.begin(), ends.end());
  }
  return pattern;
}

bool Exchanges::alone(const std::vector<FlowRequest>& flows, int replica) const {
  const auto harmless = [this, replica](const LinkUser& user) {
    switch (user.kind) {
      case LinkUser::Kind::Exchange: return user.number == replica;
      case LinkUser::Kind::Collective: return blocked_(user.number, replica);
      case LinkUser::Kind::Memory: return false;
    }
    return false;
  };
  return std::all_of(flows.begin(), flows.end(),
                     [&](const FlowRequest& flow) { return users_->all_users(*flow.route, harmless); });
}

}  // namespace podsim::engine
