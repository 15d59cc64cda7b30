// One function per operation. Waits are booked after the fact, when it is known what they were for.
#include "simulator/engine/interpreter.hpp"

namespace podsim::engine {

void Interpreter::execute(Ipu& ipu) {
  while (step(ipu)) {
  }
  parts_.memory.wait(ipu);
  parts_.streams.settle(ipu);
  parts_.kernel.sleep_until(ipu.process, ipu.timeline.time(), kOwnWork);
  run_ends_.add(std::max<std::int64_t>(0, ipu.calls - 1), ipu.timeline.time() + skipped_seconds_);
  if (parts_.calls.closes()) {
    book(parts_.calls.call(ipu), ipu);
    parts_.kernel.sleep_until(ipu.process, ipu.timeline.time(), kOwnWork);
  }
  ipu.finished = true;
}

bool Interpreter::step(Ipu& ipu) {
  switch (ipu.cursor.op().kind) {
    case OpKind::Run: run(ipu); break;
    case OpKind::Exchange: exchange(ipu); break;
    case OpKind::StreamIn: parts_.streams.input(ipu); break;
    case OpKind::StreamOut: parts_.streams.output(ipu); break;
    case OpKind::RemoteLoad: parts_.memory.load(ipu); break;
    case OpKind::RemoteStore: parts_.memory.store(ipu); break;
    case OpKind::RemoteWait: parts_.memory.wait(ipu); break;
    case OpKind::Collective: collective(ipu); break;
    case OpKind::Sync: sync(ipu); break;
    case OpKind::HostCall: host_call(ipu); break;
    case OpKind::EndOfUpdate: end_of_update(ipu); break;
    case OpKind::LoopBegin: ipu.cursor.enter_loop(); return true;
    case OpKind::LoopEnd: end_of_loop(ipu); return true;
    case OpKind::End: return false;
  }
  ipu.cursor.advance();
  return true;
}

void Interpreter::run(Ipu& ipu) {
  const Op& op = ipu.cursor.op();
  ipu.last_stage = op.stage;
  ipu.last_micro_batch = op.pass ? ipu.cursor.micro_batch() : -1;
  ipu.worked = ipu.worked || op.pass;
  ipu.timeline.spend(op.state, ipu.timeline.time() + op.seconds, op.stage, ipu.last_micro_batch);
  amp_flops_ += op.amp_flops;
}

State Interpreter::waiting_state(const Ipu& ipu) const {
  const std::int64_t slots = parts_.program.slots_per_update;
  const bool after_drain = slots > 0 && ipu.exchanges >= slots;
  if (after_drain) return State::Imbalance;
  if (!ipu.worked) return State::RampUp;
  return ipu.cursor.pass_follows() ? State::Imbalance : State::RampDown;
}

void Interpreter::exchange(Ipu& ipu) {
  const Exchange& exchange = *ipu.cursor.op().exchange;
  const bool takes_part = !exchange.sends.empty() || !exchange.receives.empty();
  const State waiting = waiting_state(ipu);
  const MeetingTimes times = parts_.exchanges.meet(ipu);
  ++ipu.exchanges;
  ipu.timeline.spend(waiting, times.met);
  ipu.timeline.spend(takes_part || waiting == State::Imbalance ? State::Exchange : waiting, times.left);
  parts_.streams.settle(ipu);
  if (ipu.index == 0 && on_exchange_) on_exchange_(ipu);
}

void Interpreter::sync(Ipu& ipu) {
  const State waiting = waiting_state(ipu);
  MeetingTimes times;
  switch (ipu.cursor.op().scope) {
    case SyncScope::Replica: times = parts_.exchanges.meet(ipu); break;
    case SyncScope::Ladder: times = parts_.exchanges.meet_ladder(ipu); break;
    case SyncScope::World: times = parts_.exchanges.meet_world(ipu); break;
  }
  ipu.timeline.spend(waiting, times.replica_met);
  ipu.timeline.spend(State::Sync, times.left);
}

void Interpreter::collective(Ipu& ipu) {
  const Collectives::Result result = parts_.collectives.join(ipu);
  ipu.timeline.spend(result.between_replicas ? State::Sync : State::Imbalance, result.times.met);
  ipu.timeline.spend(result.state, result.times.left);
}

void Interpreter::host_call(Ipu& ipu) {
  if (ipu.calls > 0) run_ends_.add(ipu.calls - 1, ipu.timeline.time() + skipped_seconds_);
  ++ipu.calls;
  book(parts_.calls.call(ipu), ipu);
  drained(ipu);
}

void Interpreter::book(const HostCalls::Times& times, Ipu& ipu) {
  ipu.timeline.spend(ipu.worked ? State::RampDown : State::Imbalance, times.replica_met);
  ipu.timeline.spend(State::Sync, times.met);
  ipu.timeline.spend(State::HostInputStall, times.prepared);
  ipu.timeline.spend(State::SecondGraph, times.evaluated);
  ipu.timeline.spend(State::HostCall, times.left);
}

void Interpreter::end_of_update(Ipu& ipu) {
  update_ends_.add(ipu.updates++, ipu.timeline.time() + skipped_seconds_);
  if (parts_.program.execution.mode == Mode::Training) drained(ipu);
}

void Interpreter::drained(Ipu& ipu) {
  ipu.worked = false;
  ipu.exchanges = 0;
}

void Interpreter::end_of_loop(Ipu& ipu) {
  const Loop& loop = ipu.cursor.code().loops[static_cast<std::size_t>(ipu.cursor.op().index)];
  // Without a meeting inside, the IPU would run ahead of all others for the whole loop.
  if (!loop.meets) parts_.kernel.sleep_until(ipu.process, ipu.timeline.time(), kOwnWork);
  if (ipu.cursor.repeat_loop() && ipu.index == 0 && on_iteration_) on_iteration_(ipu);
}

}  // namespace podsim::engine
