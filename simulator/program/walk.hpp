// Walks the step trees of all IPUs of a replica together, without times: what check() and the live counts are
// made of. Private to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulator/program/micro_batch_set.hpp"
#include "simulator/program/program.hpp"

namespace podsim {

// What has happened so far; repeats are left out when one iteration only moved it along.
struct WalkState {
  using Fresh = std::pair<std::size_t, std::int64_t>;
  std::vector<MicroBatchSet> sets;     // see Walk::Set
  std::vector<std::int64_t> counters;  // weight updates of each place, ends of update of each IPU, host calls of each
  std::vector<Fresh> fresh;            // (set, micro-batch) done in the current slot, not yet known to other IPUs
};

class Walk {
 public:
  explicit Walk(const Program& program);

  // Follows the whole program; InternalError at the first step that is not sound.
  void run();
  // Per stage, the most micro-batches whose forward pass had run and whose backward pass had not ended.
  [[nodiscard]] const std::vector<std::int64_t>& live() const { return live_; }

 private:
  using Body = std::vector<Step>;
  // One IPU inside the bodies that are walked together.
  struct Cursor {
    int ipu = 0;
    const Body* body = nullptr;
    std::size_t position = 0;
    [[nodiscard]] bool finished() const { return position == body->size(); }
    [[nodiscard]] const Step& step() const { return (*body)[position]; }
  };
  enum class Set { Forward, InputGradient, WeightGradient, Recompute };

  void walk(std::vector<Cursor> cursors, std::int64_t base);
  void local_steps(Cursor& cursor, std::int64_t base);
  bool meet(std::vector<Cursor>& cursors, std::int64_t base);
  bool meet_all(std::vector<Cursor>& cursors, std::int64_t base);
  bool meet_some(std::vector<Cursor>& cursors);
  [[nodiscard]] std::vector<int> members(const Step& step, int ipu) const;
  void repeat(const std::vector<Cursor>& cursors, std::int64_t base);
  bool skip(const WalkState& before, std::int64_t stride, std::int64_t iterations);
  void exchange(const std::vector<Cursor>& cursors, std::int64_t base);
  void send(const Cursor& cursor, const ExchangeMove& move, std::int64_t micro_batch);

  void execute(const Cursor& cursor, const Run& run, std::int64_t base);
  void execute(const Cursor& cursor, const StreamIn& stream, std::int64_t base);
  void execute(const Cursor& cursor, const StreamOut& stream, std::int64_t base);
  void execute(const Cursor& cursor, const RemoteLoad& load, std::int64_t base);
  void execute(const Cursor& cursor, const RemoteStore& store, std::int64_t base);
  void execute(const Cursor& cursor, const Collective& collective, std::int64_t base);
  void execute(const Cursor& cursor, const EndOfUpdate& end, std::int64_t base);
  void forward(const Cursor& cursor, int stage, std::int64_t micro_batch);
  void input_gradient(const Cursor& cursor, int stage, std::int64_t micro_batch);
  void weight_gradient(const Cursor& cursor, int stage, std::int64_t micro_batch);
  void recompute(const Cursor& cursor, int stage, std::int64_t micro_batch);
  void require_arrived(const Cursor& cursor, int stage, bool gradient, std::int64_t micro_batch);
  void require_complete() const;
  void require_passes(int stage, int ipu, std::int64_t updates) const;

  // Every IPU of a stage runs its passes and has sets of its own; in all stages, equal positions work together.
  [[nodiscard]] std::size_t place(int stage, int ipu) const;
  [[nodiscard]] std::size_t index(Set set, int stage, int ipu) const {
    return static_cast<std::size_t>(set) * places_ + place(stage, ipu);
  }
  [[nodiscard]] MicroBatchSet& of(Set set, int stage, int ipu) { return state_.sets[index(set, stage, ipu)]; }
  [[nodiscard]] const MicroBatchSet& of(Set set, int stage, int ipu) const {
    return state_.sets[index(set, stage, ipu)];
  }
  [[nodiscard]] MicroBatchSet& arrived(int transfer);
  [[nodiscard]] MicroBatchSet& streamed(int stream);
  // Done, and known to `cursor`'s IPU: in an earlier slot, or on the same IPU.
  [[nodiscard]] bool known(const Cursor& cursor, Set set, int stage, std::int64_t micro_batch) const;
  void done(const Cursor& cursor, Set set, int stage, std::int64_t micro_batch, Pass pass);
  void check_index(const Cursor& cursor, int value, std::size_t size, const char* table) const;
  [[noreturn]] void fail(const Cursor& cursor, const std::string& problem) const;
  [[noreturn]] void fail(const std::vector<Cursor>& cursors, const std::string& problem) const;

  // What a stage's passes wait for, as indices of transfers and streams.
  struct Inputs {
    std::vector<int> activations, gradients, streams;
  };

  const Program& program_;
  std::size_t places_ = 0;      // stages times the IPUs of each
  std::vector<Inputs> inputs_;  // per place
  std::int64_t micro_batches_per_update_ = 0;
  WalkState state_;
  std::vector<std::int64_t> live_;
};

// Whether the body has a step at which several IPUs of the replica meet.
[[nodiscard]] bool has_meeting(const std::vector<Step>& body);
// "exchange", "run forward of stage 2", …
[[nodiscard]] std::string describe(const Step& step);

}  // namespace podsim
