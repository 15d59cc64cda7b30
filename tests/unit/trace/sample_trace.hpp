// A pipelined run written out slot by slot from its definition, as input for tests of everything behind the engine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulator/program/program.hpp"
#include "simulator/trace/trace.hpp"

namespace podsim::testing {

// Forward of micro-batch m on stage s in slot m + s, its backward pass in slot m + 2N - 2 - s; a slot lasts as long
// as its slowest stage, then the exchange. Drained before every update.
struct Pipeline {
  int stages = 4;
  int replicas = 1;
  std::int64_t micro_batches = 8;
  std::int64_t updates = 2;
  std::vector<double> forward = {1, 1, 1, 1};
  std::vector<double> backward = {2, 2, 2, 2};
  double recompute = 0;
  double exchange = 0;
  double all_reduce = 0;
  double update = 0;
  double host_call = 0;   // before every update: one update to a host call
  double host_stall = 0;  // IPU 0 of each replica, before every forward pass

  [[nodiscard]] std::int64_t slots() const { return micro_batches + 2 * stages - 2; }
};

class PipelineRecorder {
 public:
  explicit PipelineRecorder(const Pipeline& pipeline) : pipeline_(pipeline) {
    const int ipus = pipeline.stages * pipeline.replicas;
    rows_.resize(static_cast<std::size_t>(ipus));
    trace_.ipus = ipus;
    for (std::int64_t update = 0; update < pipeline.updates; ++update) record_update(update);
    finish();
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  struct Row {
    State state;
    int stage;
    std::int64_t micro_batch;
    double start, end;
  };

  void add(int ipu, State state, int stage, std::int64_t micro_batch, double seconds) {
    if (seconds <= 0) return;
    auto& rows = rows_[static_cast<std::size_t>(ipu)];
    const double start = rows.empty() ? 0 : rows.back().end;
    rows.push_back({state, stage, micro_batch, start, start + seconds});
  }
  void wait_until(int ipu, State state, double end) {
    auto& rows = rows_[static_cast<std::size_t>(ipu)];
    const double start = rows.empty() ? 0 : rows.back().end;
    if (end > start) rows.push_back({state, -1, -1, start, end});
  }

  void record_update(std::int64_t update) {
    for (int ipu = 0; ipu < trace_.ipus; ++ipu) add(ipu, State::HostCall, -1, -1, pipeline_.host_call);
    now_ += pipeline_.host_call;
    for (std::int64_t slot = 0; slot < pipeline_.slots(); ++slot) record_slot(update, slot);
    for (int ipu = 0; ipu < trace_.ipus; ++ipu) {
      add(ipu, State::AllReduce, -1, -1, pipeline_.all_reduce);
      add(ipu, State::WeightUpdate, ipu % pipeline_.stages, -1, pipeline_.update);
    }
    now_ += pipeline_.all_reduce + pipeline_.update;
    trace_.update_ends.push_back(now_);
    trace_.run_ends.push_back(now_);
  }

  struct Work {
    bool forward = false, backward = false;
    double seconds = 0;
  };
  [[nodiscard]] Work work_of(int stage, std::int64_t slot) const {
    const auto s = static_cast<std::size_t>(stage);
    const std::int64_t forward = slot - stage, backward = slot - (2 * pipeline_.stages - 2 - stage);
    Work work;
    work.forward = forward >= 0 && forward < pipeline_.micro_batches;
    work.backward = backward >= 0 && backward < pipeline_.micro_batches;
    if (work.forward) work.seconds += pipeline_.forward[s] + (stage == 0 ? pipeline_.host_stall : 0);
    if (work.backward) work.seconds += pipeline_.recompute + pipeline_.backward[s];
    return work;
  }

  void record_slot(std::int64_t update, std::int64_t slot) {
    double longest = 0;
    for (int stage = 0; stage < pipeline_.stages; ++stage) longest = std::max(longest, work_of(stage, slot).seconds);
    for (int ipu = 0; ipu < trace_.ipus; ++ipu) {
      const int stage = ipu % pipeline_.stages;
      const auto s = static_cast<std::size_t>(stage);
      const Work work = work_of(stage, slot);
      const std::int64_t first = update * pipeline_.micro_batches;
      if (work.forward) {
        if (stage == 0) add(ipu, State::HostInputStall, stage, first + slot, pipeline_.host_stall);
        add(ipu, State::Forward, stage, first + slot - stage, pipeline_.forward[s]);
      }
      if (work.backward) {
        const std::int64_t micro_batch = first + slot - (2 * pipeline_.stages - 2 - stage);
        add(ipu, State::Recompute, stage, micro_batch, pipeline_.recompute);
        add(ipu, State::Backward, stage, micro_batch, pipeline_.backward[s]);
      }
      const bool begun = slot >= stage, over = slot > pipeline_.micro_batches + 2 * pipeline_.stages - 3 - stage;
      const State waiting = !begun ? State::RampUp : over ? State::RampDown : State::Imbalance;
      wait_until(ipu, waiting, now_ + longest);
      add(ipu, State::Exchange, -1, -1, pipeline_.exchange);
    }
    now_ += longest + pipeline_.exchange;
  }

  void finish() {
    trace_.makespan_seconds = now_;
    trace_.state_seconds.resize(rows_.size());
    for (std::size_t ipu = 0; ipu < rows_.size(); ++ipu) {
      for (const Row& row : rows_[ipu]) {
        trace_.intervals.ipu.push_back(static_cast<std::int32_t>(ipu));
        trace_.intervals.state.push_back(row.state);
        trace_.intervals.stage.push_back(row.stage);
        trace_.intervals.micro_batch.push_back(row.micro_batch);
        trace_.intervals.start.push_back(row.start);
        trace_.intervals.end.push_back(row.end);
        trace_.state_seconds[ipu][index_of(row.state)] += row.end - row.start;
      }
    }
    trace_.activities = static_cast<std::int64_t>(trace_.intervals.size());
  }

  Pipeline pipeline_;
  double now_ = 0;
  std::vector<std::vector<Row>> rows_;
  Trace trace_;
};

inline Trace record(const Pipeline& pipeline) { return PipelineRecorder(pipeline).trace(); }

// Counts only: no steps, since the trace is already there.
inline Program program_of(const Pipeline& pipeline) {
  Program program;
  program.schedule = "pipelined";
  program.stages = pipeline.stages;
  program.ipus_per_replica = pipeline.stages;
  program.replicas = pipeline.replicas;
  program.execution.micro_batches = pipeline.micro_batches;
  program.execution.runs = pipeline.updates;
  program.execution.replicas = pipeline.replicas;
  program.slots_per_update = pipeline.slots();
  for (int stage = 0; stage < pipeline.stages; ++stage) program.ipu_of_stage.push_back(stage);
  return program;
}

// The trace with the repetitions of `window` left out, as the engine records it after skipping them.
inline Trace leave_out(const Trace& full, const RepeatedWindow& window) {
  Trace trace = full;
  trace.intervals = {};
  trace.repeats.push_back(window);
  const double end = window.start + static_cast<double>(window.count) * window.period;
  const auto keep = [&](std::size_t i, double from, double to) {
    if (!(from < to)) return;
    trace.intervals.ipu.push_back(full.intervals.ipu[i]);
    trace.intervals.state.push_back(full.intervals.state[i]);
    trace.intervals.stage.push_back(full.intervals.stage[i]);
    trace.intervals.micro_batch.push_back(full.intervals.micro_batch[i]);
    trace.intervals.start.push_back(from);
    trace.intervals.end.push_back(to);
  };
  for (std::size_t i = 0; i < full.intervals.size(); ++i) {
    keep(i, full.intervals.start[i], std::min(full.intervals.end[i], window.start));
    keep(i, std::max(full.intervals.start[i], end), full.intervals.end[i]);
  }
  return trace;
}

}  // namespace podsim::testing
