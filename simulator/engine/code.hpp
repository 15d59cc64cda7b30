// The tree of an IPU flattened into operations with jumps, shared by all replicas, so that a position in it is one
// number and the counters of the loops around it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/program/program.hpp"

namespace podsim::engine {

enum class OpKind : std::uint8_t {
  Run,
  Exchange,
  StreamIn,
  StreamOut,
  RemoteLoad,
  RemoteStore,
  RemoteWait,
  Collective,
  Sync,
  HostCall,
  EndOfUpdate,
  LoopBegin,
  LoopEnd,
  End,
};

// The next event after a position that matters for ramps.
enum class Ahead : std::uint8_t { Nothing, Pass, Drain };

struct Op {
  OpKind kind = OpKind::End;
  Ahead ahead = Ahead::Nothing;  // in the rest of this operation's loop body (inner loops included)
  State state = State::Forward;  // Run
  bool pass = false;             // Run: a forward or backward pass, not the weight update
  std::int32_t stage = -1;       // Run
  std::int32_t index = 0;        // LoopBegin, LoopEnd: loop; streams, buffers, collectives: table index
  std::int64_t micro_batch = 0;  // offset
  double seconds = 0;            // Run
  double amp_flops = 0;          // Run
  const Exchange* exchange = nullptr;
  bool overlapped = false;
  SyncScope scope = SyncScope::Replica;
};

struct Loop {
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::int32_t begin = 0;        // of its LoopBegin
  std::int32_t end = 0;          // of its LoopEnd
  std::int32_t depth = 0;        // loops around it
  Ahead first = Ahead::Nothing;  // first event of the body
  bool meets = false;            // an iteration waits for others at least once
};

struct Code {
  std::vector<Op> ops;  // ends with End
  std::vector<Loop> loops;
  std::int32_t depth = 0;  // of the deepest loop
};

// `program` outlives the result. InternalError where a pass has no code or a table index is out of range.
[[nodiscard]] Code flatten(const Program& program, int local_ipu);

// How often operations of a kind run, loops multiplied; of table index `index`, or of all (-1).
[[nodiscard]] std::int64_t executions(const Code& code, OpKind kind, int index = -1);
// The overlapped ones of them.
[[nodiscard]] std::int64_t overlapped_executions(const Code& code, OpKind kind, int index);

// A position in the code of one IPU.
class Cursor {
 public:
  explicit Cursor(const Code& code) : code_(&code), frames_(static_cast<std::size_t>(code.depth)) {}

  struct Frame {
    std::int32_t loop = 0;
    std::int64_t iteration = 0;
    std::int64_t micro_batch = 0;  // of all loops up to this one
  };

  [[nodiscard]] const Op& op() const { return code_->ops[static_cast<std::size_t>(position_)]; }
  [[nodiscard]] const Code& code() const { return *code_; }
  [[nodiscard]] std::int32_t position() const { return position_; }
  [[nodiscard]] std::int64_t micro_batch() const { return op().micro_batch + base(); }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] Frame& frame(std::size_t level) { return frames_[level]; }
  [[nodiscard]] const Frame& frame(std::size_t level) const { return frames_[level]; }

  void advance() { ++position_; }
  void enter_loop();   // at a LoopBegin: into the body, or past a loop that runs zero times
  bool repeat_loop();  // at a LoopEnd: to the next iteration (true) or past the loop
  // Moves the counter of the loop at `level` on by whole iterations.
  void skip_iterations(std::size_t level, std::int64_t iterations);

  // Whether a pass follows before the drain ends.
  [[nodiscard]] bool pass_follows() const;

 private:
  [[nodiscard]] std::int64_t base() const { return depth_ == 0 ? 0 : frames_[depth_ - 1].micro_batch; }
  [[nodiscard]] const Loop& loop(std::int32_t index) const { return code_->loops[static_cast<std::size_t>(index)]; }

  const Code* code_;
  std::int32_t position_ = 0;
  std::size_t depth_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace podsim::engine
