// Places passes, transfers and streaming-memory traffic into slots.
#include "schedules/passes.hpp"

#include <algorithm>
#include <limits>

namespace podsim {

namespace {

bool is_backward(Pass pass) {
  return pass == Pass::Backward || pass == Pass::BackwardInput || pass == Pass::BackwardWeights;
}

class PassPlacer {
 public:
  PassPlacer(const Execution& execution, const Scheme& scheme, const Tables& tables, const Program& program)
      : execution_(execution), scheme_(scheme), tables_(tables), program_(program) {}

  Timetable place() {
    timetable_.period = scheme_.period;
    timetable_.transfers = program_.transfers;
    for (const StagePass& pass : scheme_.passes) {
      pass_ = &pass;
      when_ = {pass.offset, pass.first, pass.end < 0 ? micro_batches_per_drain(execution_) : pass.end, 1};
      before();
      run(pass.pass);
      after();
      moves();
    }
    return std::move(timetable_);
  }

 private:
  void add(Step step, int once = -1) { add(std::move(step), when_, pass_->order, once); }
  void add(Step step, const Occurrence& when, int order, int once = -1) {
    const int ipu = scheme_.ipu_of_stage[static_cast<std::size_t>(pass_->stage)];
    timetable_.steps.push_back({when, ipu, SlotPart::Body, order, std::move(step), once});
  }

  // A pass, and then what the IPUs of its stage exchange in it.
  void run(Pass pass) {
    add(Run{pass_->stage, pass, {}});
    for (const int collective : tables_.within_stage(pass_->stage, pass)) add(Collective{collective});
  }

  // The forward pass ran in the same slot, for the same micro-batch: its activations are still there.
  [[nodiscard]] bool forward_in_slot() const {
    return std::any_of(scheme_.passes.begin(), scheme_.passes.end(), [&](const StagePass& other) {
      return other.stage == pass_->stage && other.pass == Pass::Forward && other.offset == pass_->offset;
    });
  }
  [[nodiscard]] bool backward_in_slot() const {
    return std::any_of(scheme_.passes.begin(), scheme_.passes.end(), [&](const StagePass& other) {
      return other.stage == pass_->stage && is_backward(other.pass) && other.offset == pass_->offset;
    });
  }

  void before() {
    const Pass pass = pass_->pass;
    if (scheme_.phased && scheme_.overlapped_loads && any_buffer()) add(RemoteWait{}, when_, kWaits, wait_key());
    if (pass != Pass::BackwardWeights) {
      load(Variable::Weights, true);
      const int gather = tables_.weight_gather(pass_->stage);
      if (gather >= 0) add(Collective{gather}, gather_key(gather));
    }
    if (!is_backward(pass)) return;
    if (!forward_in_slot()) load(Variable::Activations, false);
    if (pass != Pass::BackwardInput) load(Variable::Accumulators, false);
    if (!execution_.recompute || pass == Pass::BackwardWeights) return;
    // Neither PopART (Pipeline::setFinalFwdStageRecomputation) nor TensorFlow (pipeline_recomputation.cc) recomputes
    // what is behind the last checkpoint of the last stage.
    const bool last = pass_->stage == program_.stages - 1;
    run(last ? Pass::RecomputePartial : Pass::Recompute);
  }

  void after() {
    if (pass_->pass == Pass::Forward && execution_.mode == Mode::Training && !backward_in_slot()) {
      store(Variable::Activations);
    }
    if (pass_->pass != Pass::Backward && pass_->pass != Pass::BackwardWeights) return;
    store(Variable::Accumulators);
    const int scatter = tables_.accumulator_scatter(pass_->stage);
    if (scatter >= 0) add(Collective{scatter});
  }

  void moves() {
    if (pass_->pass == Pass::BackwardWeights) return;
    for (std::size_t i = 0; i < program_.transfers.size(); ++i) {
      const Transfer& transfer = program_.transfers[i];
      if (transfer.from_stage == pass_->stage && transfer.gradient == (pass_->pass != Pass::Forward)) {
        timetable_.moves.push_back({when_, static_cast<int>(i)});
      }
    }
  }

  // Numbers of steps that a slot needs once: loads by buffer, then gathers by collective, then one wait for each IPU.
  [[nodiscard]] int gather_key(int collective) const { return static_cast<int>(program_.buffers.size()) + collective; }
  [[nodiscard]] int wait_key() const {
    return gather_key(static_cast<int>(program_.collectives.size())) +
           scheme_.ipu_of_stage[static_cast<std::size_t>(pass_->stage)];
  }

  [[nodiscard]] bool any_buffer() const {
    return tables_.buffer(Variable::Weights, pass_->stage) >= 0 ||
           tables_.buffer(Variable::Activations, pass_->stage) >= 0 ||
           tables_.buffer(Variable::Accumulators, pass_->stage) >= 0;
  }

  void load(Variable variable, bool once_per_slot) {
    const int buffer = tables_.buffer(variable, pass_->stage);
    if (buffer < 0) return;
    if (!scheme_.phased) {
      add(RemoteLoad{buffer, false}, once_per_slot ? buffer : -1);
      return;
    }
    Occurrence when = when_;
    if (slots_since_last_use(variable, false) <= kKeptPhases) return;
    if (slots_since_last_use(variable, true) <= kKeptPhases) when.end = std::min(when.end, when.first + 1);
    if (scheme_.overlapped_loads && pass_->offset > 0) {
      --when.offset;
      add(RemoteLoad{buffer, true}, when, kPreloads, buffer);
    } else {
      add(RemoteLoad{buffer, false}, when, pass_->order, buffer);
    }
  }

  void store(Variable variable) {
    const int buffer = tables_.buffer(variable, pass_->stage);
    if (buffer < 0) return;
    if (variable == Variable::Activations && scheme_.phased && slots_to_backward() <= kKeptPhases) return;
    add(RemoteStore{buffer, scheme_.phased && scheme_.overlapped_loads});
  }

  [[nodiscard]] std::int64_t slots_to_backward() const {
    for (const StagePass& other : scheme_.passes) {
      if (other.stage == pass_->stage && is_backward(other.pass)) return other.offset - pass_->offset;
    }
    return std::numeric_limits<std::int64_t>::max();
  }

  // Slots since the stage's variable was last on the chip, for the same micro-batch or for the one before it.
  [[nodiscard]] std::int64_t slots_since_last_use(Variable variable, bool previous_micro_batch) const {
    std::int64_t slots = std::numeric_limits<std::int64_t>::max();
    for (const StagePass& other : scheme_.passes) {
      if (other.stage != pass_->stage || (variable == Variable::Accumulators && !is_backward(other.pass))) continue;
      const std::int64_t since = pass_->offset - other.offset + (previous_micro_batch ? scheme_.period : 0);
      if (since > 0 || (since == 0 && other.order < pass_->order)) slots = std::min(slots, since);
    }
    // An activation belongs to one micro-batch.
    return previous_micro_batch && variable == Variable::Activations ? std::numeric_limits<std::int64_t>::max() : slots;
  }

  static constexpr int kWaits = -2, kPreloads = -1;  // orders: before all passes of a slot
  // A tensor used one or two phases earlier is still on the chip (PopART streamingmemoryopinserter.cpp).
  static constexpr std::int64_t kKeptPhases = 2;

  const Execution& execution_;
  const Scheme& scheme_;
  const Tables& tables_;
  const Program& program_;
  Timetable timetable_;
  const StagePass* pass_ = nullptr;
  Occurrence when_;
};

const StagePass& forward_pass(const Scheme& scheme, int stage) {
  return *std::find_if(scheme.passes.begin(), scheme.passes.end(),
                       [&](const StagePass& pass) { return pass.stage == stage && pass.pass == Pass::Forward; });
}

// All but the first input and the last result of a loop move beside the compute of a neighbouring micro-batch: inputs
// one micro-batch ahead, results one behind (PopART overlap_io: "N - 2 of N exchanges overlap").
void add_overlapped(Timetable& timetable, const HostStream& stream, int index, std::int64_t offset,
                    std::int64_t micro_batches, bool first, bool last) {
  const auto add = [&](const Occurrence& when, SlotPart part, Step step) {
    if (when.end > when.first) timetable.steps.push_back({when, stream.ipu, part, 0, std::move(step), -1});
  };
  const std::int64_t period = timetable.period;
  if (stream.input) {
    if (first) add({offset, 0, 1}, SlotPart::StreamIn, StreamIn{index, {}, false});
    add({offset - period, 1, last ? micro_batches : micro_batches + 1}, SlotPart::StreamIn, StreamIn{index, {}, true});
  } else {
    add({offset + period, first ? 0 : -1, micro_batches - 1}, SlotPart::StreamIn, StreamOut{index, {}, true});
    if (last) add({offset, micro_batches - 1, micro_batches}, SlotPart::StreamOut, StreamOut{index, {}, false});
  }
}

// An iteration of inference ends on an IPU with its last stage; on an IPU without stages, with the last one of all.
void add_ends(Timetable& timetable, const Scheme& scheme, std::int64_t micro_batches) {
  for (int ipu = 0; ipu < scheme.ipus_per_replica; ++ipu) {
    std::int64_t offset = -1, last = 0;
    for (const StagePass& pass : scheme.passes) {
      last = std::max(last, pass.offset);
      if (scheme.ipu_of_stage[static_cast<std::size_t>(pass.stage)] == ipu) offset = std::max(offset, pass.offset);
    }
    timetable.steps.push_back(
        {{offset < 0 ? last : offset, 0, micro_batches}, ipu, SlotPart::End, 0, EndOfUpdate{}, -1});
  }
}

}  // namespace

Timetable timetable_of_passes(const Execution& execution, const Scheme& scheme, const Tables& tables,
                              const Program& program) {
  return PassPlacer(execution, scheme, tables, program).place();
}

void add_streams(Timetable& timetable, const Execution& execution, const Scheme& scheme, const Program& program,
                 const IterationVariant& variant) {
  const std::int64_t micro_batches = micro_batches_per_drain(execution);
  const bool every_result = execution.output_mode == OutputMode::All || execution.output_mode == OutputMode::EveryN;
  const bool whole_run = execution.io_overlap == IoOverlap::DeviceIterationLoop;
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    const HostStream& stream = program.streams[i];
    if (!stream.input && !(every_result && variant.results)) continue;
    const auto index = static_cast<int>(i);
    const std::int64_t offset = forward_pass(scheme, stream.stage).offset;
    if (execution.io_overlap != IoOverlap::None) {
      add_overlapped(timetable, stream, index, offset, micro_batches, !whole_run || variant.first,
                     !whole_run || variant.last);
    } else if (stream.input) {
      timetable.steps.push_back(
          {{offset, 0, micro_batches}, stream.ipu, SlotPart::StreamIn, 0, StreamIn{index, {}, false}, -1});
    } else {
      // A period longer than an update sends the last micro-batch of the updates chosen by `variant`.
      const std::int64_t every =
          std::min(execution.output_mode == OutputMode::EveryN ? execution.output_period : 1, micro_batches);
      timetable.steps.push_back(
          {{offset, 0, micro_batches, every}, stream.ipu, SlotPart::StreamOut, 0, StreamOut{index, {}, false}, -1});
    }
  }
  if (execution.mode == Mode::Inference) add_ends(timetable, scheme, micro_batches);
}

}  // namespace podsim
