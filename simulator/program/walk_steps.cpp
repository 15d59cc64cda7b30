// What each step needs and leaves behind when a program is walked.
#include <algorithm>

#include "simulator/core/error.hpp"
#include "simulator/program/walk.hpp"

namespace podsim {

namespace {

std::string micro_batch_text(std::int64_t micro_batch) { return "micro-batch " + std::to_string(micro_batch); }

std::string stage_text(int stage) { return "stage " + std::to_string(stage); }

}  // namespace

std::size_t Walk::place(int stage, int ipu) const {
  return static_cast<std::size_t>(stage * program_.ipus_per_stage + ipu % program_.ipus_per_stage);
}

MicroBatchSet& Walk::arrived(int transfer) { return state_.sets[4 * places_ + static_cast<std::size_t>(transfer)]; }

MicroBatchSet& Walk::streamed(int stream) {
  return state_.sets[4 * places_ + program_.transfers.size() + static_cast<std::size_t>(stream)];
}

bool Walk::known(const Cursor& cursor, Set set, int stage, std::int64_t micro_batch) const {
  if (!of(set, stage, cursor.ipu).contains(micro_batch)) return false;
  if (program_.runs(cursor.ipu, stage)) return true;
  return std::find(state_.fresh.begin(), state_.fresh.end(), std::pair(index(set, stage, cursor.ipu), micro_batch)) ==
         state_.fresh.end();
}

void Walk::done(const Cursor& cursor, Set set, int stage, std::int64_t micro_batch, Pass pass) {
  if (micro_batch < 0 || !of(set, stage, cursor.ipu).insert(micro_batch)) {
    fail(cursor,
         std::string(name_of(pass)) + " of " + stage_text(stage) + " runs twice for " + micro_batch_text(micro_batch));
  }
  if (program_.ipus.size() > 1) state_.fresh.emplace_back(index(set, stage, cursor.ipu), micro_batch);
}

void Walk::check_index(const Cursor& cursor, int value, std::size_t size, const char* table) const {
  if (value < 0 || static_cast<std::size_t>(value) >= size) {
    fail(cursor,
         std::string(table) + " " + std::to_string(value) + " is out of range, there are " + std::to_string(size));
  }
}

void Walk::execute(const Cursor& cursor, const Run& run, std::int64_t base) {
  check_index(cursor, run.stage, static_cast<std::size_t>(program_.stages), "stage");
  const int home = program_.ipu_of_stage[static_cast<std::size_t>(run.stage)];
  const std::int64_t micro_batch = base + run.micro_batch.offset;
  if (!program_.runs(cursor.ipu, run.stage)) {
    fail(cursor,
         stage_text(run.stage) + " lives on IPU " + std::to_string(home) + " (" + micro_batch_text(micro_batch) + ")");
  }
  switch (run.pass) {
    case Pass::Forward: return forward(cursor, run.stage, micro_batch);
    case Pass::Recompute:
    case Pass::RecomputePartial: return recompute(cursor, run.stage, micro_batch);
    case Pass::Backward:
      input_gradient(cursor, run.stage, micro_batch);
      return weight_gradient(cursor, run.stage, micro_batch);
    case Pass::BackwardInput: return input_gradient(cursor, run.stage, micro_batch);
    case Pass::BackwardWeights: return weight_gradient(cursor, run.stage, micro_batch);
    case Pass::WeightUpdate: ++state_.counters[place(run.stage, cursor.ipu)];
  }
}

void Walk::require_arrived(const Cursor& cursor, int stage, bool gradient, std::int64_t micro_batch) {
  const Inputs& inputs = inputs_[place(stage, cursor.ipu)];
  for (const int index : gradient ? inputs.gradients : inputs.activations) {
    if (arrived(index).contains(micro_batch)) continue;
    fail(cursor, std::string(gradient ? "backward" : "forward") + " of " + stage_text(stage) + " runs before the " +
                     (gradient ? "gradient" : "activation") + " of " + micro_batch_text(micro_batch) +
                     " has arrived from " + stage_text(program_.transfers[static_cast<std::size_t>(index)].from_stage));
  }
}

void Walk::forward(const Cursor& cursor, int stage, std::int64_t micro_batch) {
  if (stage > 0 && !known(cursor, Set::Forward, stage - 1, micro_batch)) {
    fail(cursor, "forward of " + stage_text(stage) + " runs before forward of " + stage_text(stage - 1) + " for " +
                     micro_batch_text(micro_batch));
  }
  require_arrived(cursor, stage, false, micro_batch);
  for (const int index : inputs_[place(stage, cursor.ipu)].streams) {
    if (streamed(index).contains(micro_batch)) continue;
    fail(cursor, "forward of " + stage_text(stage) + " runs before host input '" +
                     program_.streams[static_cast<std::size_t>(index)].name + "' of " + micro_batch_text(micro_batch) +
                     " is there");
  }
  done(cursor, Set::Forward, stage, micro_batch, Pass::Forward);
  auto& live = live_[static_cast<std::size_t>(stage)];
  const std::int64_t now =
      program_.execution.mode == Mode::Training
          ? of(Set::Forward, stage, cursor.ipu).size() - of(Set::WeightGradient, stage, cursor.ipu).size()
          : 1;
  live = std::max(live, now);
}

void Walk::recompute(const Cursor& cursor, int stage, std::int64_t micro_batch) {
  if (!of(Set::Forward, stage, cursor.ipu).contains(micro_batch)) {
    fail(cursor,
         "recompute of " + stage_text(stage) + " runs before its forward pass for " + micro_batch_text(micro_batch));
  }
  done(cursor, Set::Recompute, stage, micro_batch, Pass::Recompute);
}

void Walk::input_gradient(const Cursor& cursor, int stage, std::int64_t micro_batch) {
  if (!of(Set::Forward, stage, cursor.ipu).contains(micro_batch)) {
    fail(cursor,
         "backward of " + stage_text(stage) + " runs before its forward pass for " + micro_batch_text(micro_batch));
  }
  if (stage + 1 < program_.stages && !known(cursor, Set::InputGradient, stage + 1, micro_batch)) {
    fail(cursor, "backward of " + stage_text(stage) + " runs before backward of " + stage_text(stage + 1) + " for " +
                     micro_batch_text(micro_batch));
  }
  require_arrived(cursor, stage, true, micro_batch);
  done(cursor, Set::InputGradient, stage, micro_batch, Pass::Backward);
}

void Walk::weight_gradient(const Cursor& cursor, int stage, std::int64_t micro_batch) {
  if (!of(Set::InputGradient, stage, cursor.ipu).contains(micro_batch)) {
    fail(cursor, "backward_weights of " + stage_text(stage) + " runs before backward_input for " +
                     micro_batch_text(micro_batch));
  }
  done(cursor, Set::WeightGradient, stage, micro_batch, Pass::BackwardWeights);
}

void Walk::execute(const Cursor& cursor, const StreamIn& stream, std::int64_t base) {
  check_index(cursor, stream.stream, program_.streams.size(), "stream");
  const HostStream& entry = program_.streams[static_cast<std::size_t>(stream.stream)];
  const std::int64_t micro_batch = base + stream.micro_batch.offset;
  if (entry.ipu != cursor.ipu || !entry.input) fail(cursor, "stream '" + entry.name + "' is no input of this IPU");
  if (micro_batch < 0 || !streamed(stream.stream).insert(micro_batch)) {
    fail(cursor, "host input '" + entry.name + "' is read twice for " + micro_batch_text(micro_batch));
  }
}

void Walk::execute(const Cursor& cursor, const StreamOut& stream, std::int64_t base) {
  check_index(cursor, stream.stream, program_.streams.size(), "stream");
  const HostStream& entry = program_.streams[static_cast<std::size_t>(stream.stream)];
  const std::int64_t micro_batch = base + stream.micro_batch.offset;
  if (entry.ipu != cursor.ipu || entry.input) fail(cursor, "stream '" + entry.name + "' is no result of this IPU");
  if (!of(Set::Forward, entry.stage, cursor.ipu).contains(micro_batch)) {
    fail(cursor, "result '" + entry.name + "' is sent before forward of " + stage_text(entry.stage) + " for " +
                     micro_batch_text(micro_batch));
  }
}

void Walk::execute(const Cursor& cursor, const RemoteLoad& load, std::int64_t) {
  check_index(cursor, load.buffer, program_.buffers.size(), "buffer");
  if (program_.buffers[static_cast<std::size_t>(load.buffer)].ipu != cursor.ipu) {
    fail(cursor, "buffer " + std::to_string(load.buffer) + " belongs to another IPU");
  }
}

void Walk::execute(const Cursor& cursor, const RemoteStore& store, std::int64_t base) {
  execute(cursor, RemoteLoad{store.buffer, store.overlapped}, base);
}

void Walk::execute(const Cursor& cursor, const Collective& collective, std::int64_t) {
  check_index(cursor, collective.collective, program_.collectives.size(), "collective");
  const CollectiveOperation& operation = program_.collectives[static_cast<std::size_t>(collective.collective)];
  const bool member = operation.ipus.empty()
                          ? operation.ipu == cursor.ipu
                          : std::count(operation.ipus.begin(), operation.ipus.end(), cursor.ipu) == 1;
  if (!member) fail(cursor, "collective '" + operation.name + "' is not of this IPU");
}

void Walk::execute(const Cursor& cursor, const EndOfUpdate&, std::int64_t) {
  const bool training = program_.execution.mode == Mode::Training;
  auto& ends = state_.counters[places_ + static_cast<std::size_t>(cursor.ipu)];
  ++ends;
  for (int stage = 0; stage < program_.stages; ++stage) {
    if (!program_.runs(cursor.ipu, stage)) continue;
    const std::int64_t expected = ends * micro_batches_per_update_;
    const MicroBatchSet& passed = of(training ? Set::WeightGradient : Set::Forward, stage, cursor.ipu);
    if (passed.size() < expected || (training && (!passed.contiguous() || passed.size() != expected))) {
      fail(cursor, "update " + std::to_string(ends - 1) + " ends after " + std::to_string(passed.size()) +
                       " micro-batches of " + stage_text(stage) + " instead of " + std::to_string(expected));
    }
    if (training && state_.counters[place(stage, cursor.ipu)] != ends) {
      fail(cursor,
           "update " + std::to_string(ends - 1) + " ends without exactly one weight update of " + stage_text(stage));
    }
  }
}

void Walk::send(const Cursor& cursor, const ExchangeMove& move, std::int64_t micro_batch) {
  const Transfer& transfer = program_.transfers[static_cast<std::size_t>(move.transfer)];
  const Set source = transfer.gradient ? Set::InputGradient : Set::Forward;
  if (!of(source, transfer.from_stage, cursor.ipu).contains(micro_batch)) {
    fail(cursor, "transfer " + std::to_string(move.transfer) + " sends " + micro_batch_text(micro_batch) + " before " +
                     stage_text(transfer.from_stage) + " has made it");
  }
}

void Walk::exchange(const std::vector<Cursor>& cursors, std::int64_t base) {
  using Move = std::pair<int, std::int64_t>;
  std::vector<Move> sent, received;
  for (const Cursor& cursor : cursors) {
    const auto& step = std::get<Exchange>(cursor.step());
    for (const ExchangeMove& move : step.sends) {
      check_index(cursor, move.transfer, program_.transfers.size(), "transfer");
      const Transfer& transfer = program_.transfers[static_cast<std::size_t>(move.transfer)];
      if (transfer.from_ipu != cursor.ipu || transfer.to_ipu == cursor.ipu) {
        fail(cursor, "transfer " + std::to_string(move.transfer) + " does not leave this IPU for another one");
      }
      send(cursor, move, base + move.micro_batch.offset);
      sent.emplace_back(move.transfer, base + move.micro_batch.offset);
    }
    for (const ExchangeMove& move : step.receives) {
      check_index(cursor, move.transfer, program_.transfers.size(), "transfer");
      if (program_.transfers[static_cast<std::size_t>(move.transfer)].to_ipu != cursor.ipu) {
        fail(cursor, "transfer " + std::to_string(move.transfer) + " does not come to this IPU");
      }
      received.emplace_back(move.transfer, base + move.micro_batch.offset);
    }
  }
  std::sort(sent.begin(), sent.end());
  std::sort(received.begin(), received.end());
  const auto [send_only, receive_only] = std::mismatch(sent.begin(), sent.end(), received.begin(), received.end());
  if (send_only != sent.end() || receive_only != received.end()) {
    const Move& odd = send_only == sent.end() || (receive_only != received.end() && *receive_only < *send_only)
                          ? *receive_only
                          : *send_only;
    const Transfer& transfer = program_.transfers[static_cast<std::size_t>(odd.first)];
    fail(cursors, "transfer " + std::to_string(odd.first) + " from IPU " + std::to_string(transfer.from_ipu) + " " +
                      stage_text(transfer.from_stage) + " to IPU " + std::to_string(transfer.to_ipu) + " " +
                      stage_text(transfer.to_stage) + " of " + micro_batch_text(odd.second) +
                      " has only one of its two sides");
  }
  for (const Move& move : sent) {
    if (!arrived(move.first).insert(move.second)) {
      fail(cursors, "transfer " + std::to_string(move.first) + " is sent twice for " + micro_batch_text(move.second));
    }
  }
  state_.fresh.clear();
}

void Walk::require_complete() const {
  const Execution& execution = program_.execution;
  const std::int64_t updates = execution.runs * execution.device_iterations;
  for (int stage = 0; stage < program_.stages; ++stage) {
    const int first = program_.ipu_of_stage[static_cast<std::size_t>(stage)];
    for (int member = 0; member < program_.ipus_per_stage; ++member) require_passes(stage, first + member, updates);
  }
  for (std::size_t ipu = 0; ipu < program_.ipus.size(); ++ipu) {
    const std::size_t first = places_ + ipu;
    if (state_.counters[first] != updates || state_.counters[first + program_.ipus.size()] != execution.runs) {
      throw InternalError("schedule '" + program_.schedule + "': IPU " + std::to_string(ipu) + " ended " +
                          std::to_string(state_.counters[first]) + " updates in " +
                          std::to_string(state_.counters[first + program_.ipus.size()]) + " host calls instead of " +
                          std::to_string(updates) + " in " + std::to_string(execution.runs));
    }
  }
}

void Walk::require_passes(int stage, int ipu, std::int64_t updates) const {
  const bool training = program_.execution.mode == Mode::Training;
  const std::int64_t expected = updates * micro_batches_per_update_;
  for (const Set set : {Set::Forward, Set::InputGradient, Set::WeightGradient}) {
    const MicroBatchSet& passed = of(set, stage, ipu);
    const std::int64_t wanted = set == Set::Forward || training ? expected : 0;
    if (passed.contiguous() && passed.size() == wanted) continue;
    throw InternalError("schedule '" + program_.schedule + "': IPU " + std::to_string(ipu) + ", " + stage_text(stage) +
                        " ran the " + (set == Set::Forward ? "forward" : "backward") + " pass of " +
                        std::to_string(passed.size()) + " micro-batches instead of " + std::to_string(wanted));
  }
}

}  // namespace podsim
