// Flattening, and moving through the flat code.
#include "simulator/engine/code.hpp"

#include <algorithm>
#include <string>

#include "simulator/core/error.hpp"

namespace podsim::engine {
namespace {

class Flattener {
 public:
  explicit Flattener(const Program& program) : program_(program) {}

  Code flatten(int local_ipu) {
    add_body(program_.ipus.at(static_cast<std::size_t>(local_ipu)), 0);
    add({.kind = OpKind::End});
    return std::move(code_);
  }

 private:
  // Adds the steps and fills in what lies ahead of each; the first event of the body.
  Ahead add_body(const std::vector<Step>& steps, std::int32_t depth) {
    std::vector<std::pair<std::int32_t, std::int32_t>> ranges;  // of operations, per step
    std::vector<Ahead> firsts;
    for (const Step& step : steps) {
      const std::int32_t begin = position();
      firsts.push_back(std::visit([this, depth](const auto& kind) { return add_step(kind, depth); }, step));
      ranges.emplace_back(begin, position());
    }
    Ahead ahead = Ahead::Nothing;
    for (std::size_t i = steps.size(); i-- > 0;) {
      op(ranges[i].first).ahead = ahead;
      op(ranges[i].second - 1).ahead = ahead;  // a loop's LoopEnd
      if (firsts[i] != Ahead::Nothing) ahead = firsts[i];
    }
    return ahead;
  }

  Ahead add_step(const Repeat& repeat, std::int32_t depth) {
    const auto index = static_cast<std::int32_t>(code_.loops.size());
    code_.loops.push_back({.count = repeat.count, .stride = repeat.stride, .begin = position(), .depth = depth});
    code_.depth = std::max(code_.depth, depth + 1);
    add({.kind = OpKind::LoopBegin, .index = index});
    const Ahead first = add_body(repeat.body, depth + 1);
    Loop& loop = code_.loops[static_cast<std::size_t>(index)];
    loop.end = position();
    loop.first = first;
    loop.meets = meets(loop.begin, loop.end);
    add({.kind = OpKind::LoopEnd, .index = index});
    return repeat.count > 0 ? first : Ahead::Nothing;
  }

  Ahead add_step(const Run& run, std::int32_t /*depth*/) {
    const StageCode& stage = program_.code(run.stage, run.pass);
    const bool pass = run.pass != Pass::WeightUpdate;
    add({.kind = OpKind::Run,
         .state = state_of(run.pass),
         .pass = pass,
         .stage = run.stage,
         .micro_batch = run.micro_batch.offset,
         .seconds = stage.seconds,
         .amp_flops = stage.amp_flops});
    return pass ? Ahead::Pass : Ahead::Nothing;
  }

  Ahead add_step(const Exchange& exchange, std::int32_t /*depth*/) {
    for (const ExchangeMove& move : exchange.sends) require(move.transfer, program_.transfers.size(), "transfer");
    add({.kind = OpKind::Exchange, .exchange = &exchange});
    return Ahead::Nothing;
  }

  Ahead add_step(const StreamIn& stream, std::int32_t /*depth*/) {
    require(stream.stream, program_.streams.size(), "stream");
    add({.kind = OpKind::StreamIn,
         .index = stream.stream,
         .micro_batch = stream.micro_batch.offset,
         .overlapped = stream.overlapped});
    return Ahead::Nothing;
  }

  Ahead add_step(const StreamOut& stream, std::int32_t /*depth*/) {
    require(stream.stream, program_.streams.size(), "stream");
    add({.kind = OpKind::StreamOut,
         .index = stream.stream,
         .micro_batch = stream.micro_batch.offset,
         .overlapped = stream.overlapped});
    return Ahead::Nothing;
  }

  Ahead add_step(const RemoteLoad& load, std::int32_t /*depth*/) {
    require(load.buffer, program_.buffers.size(), "remote buffer");
    add({.kind = OpKind::RemoteLoad, .index = load.buffer, .overlapped = load.overlapped});
    return Ahead::Nothing;
  }

  Ahead add_step(const RemoteStore& store, std::int32_t /*depth*/) {
    require(store.buffer, program_.buffers.size(), "remote buffer");
    add({.kind = OpKind::RemoteStore, .index = store.buffer, .overlapped = store.overlapped});
    return Ahead::Nothing;
  }

  Ahead add_step(const RemoteWait& /*wait*/, std::int32_t /*depth*/) {
    add({.kind = OpKind::RemoteWait});
    return Ahead::Nothing;
  }

  Ahead add_step(const Collective& collective, std::int32_t /*depth*/) {
    require(collective.collective, program_.collectives.size(), "collective");
    add({.kind = OpKind::Collective, .index = collective.collective});
    return Ahead::Nothing;
  }

  Ahead add_step(const Sync& sync, std::int32_t /*depth*/) {
    add({.kind = OpKind::Sync, .scope = sync.scope});
    return Ahead::Nothing;
  }

  Ahead add_step(const HostCall& /*call*/, std::int32_t /*depth*/) {
    add({.kind = OpKind::HostCall});
    return Ahead::Drain;
  }

  // A pipeline drains at each weight update; in inference only at the end of the run.
  Ahead add_step(const EndOfUpdate& /*end*/, std::int32_t /*depth*/) {
    add({.kind = OpKind::EndOfUpdate});
    return program_.execution.mode == Mode::Training ? Ahead::Drain : Ahead::Nothing;
  }

  void add(const Op& op) { code_.ops.push_back(op); }

  [[nodiscard]] bool meets(std::int32_t begin, std::int32_t end) const {
    return std::any_of(code_.ops.begin() + begin, code_.ops.begin() + end, [](const Op& op) {
      return op.kind == OpKind::Exchange || op.kind == OpKind::Sync || op.kind == OpKind::Collective ||
             op.kind == OpKind::HostCall;
    });
  }

  [[nodiscard]] std::int32_t position() const { return static_cast<std::int32_t>(code_.ops.size()); }
  Op& op(std::int32_t index) { return code_.ops[static_cast<std::size_t>(index)]; }

  static void require(int index, std::size_t size, const char* table) {
    if (index < 0 || static_cast<std::size_t>(index) >= size) {
      throw InternalError("engine: a step uses " + std::string(table) + " " + std::to_string(index) + " of " +
                          std::to_string(size));
    }
  }

  const Program& program_;
  Code code_;
};

}  // namespace

Code flatten(const Program& program, int local_ipu) { return Flattener(program).flatten(local_ipu); }

namespace {

template <typename Wanted>
std::int64_t count_executions(const Code& code, const Wanted& wanted) {
  std::int64_t total = 0;
  std::vector<std::int64_t> factor{1};
  for (const Op& op : code.ops) {
    if (op.kind == OpKind::LoopBegin) {
      factor.push_back(factor.back() * std::max<std::int64_t>(0, code.loops[static_cast<std::size_t>(op.index)].count));
    } else if (op.kind == OpKind::LoopEnd) {
      factor.pop_back();
    } else if (wanted(op)) {
      total += factor.back();
    }
  }
  return total;
}

}  // namespace

std::int64_t executions(const Code& code, OpKind kind, int index) {
  return count_executions(code, [&](const Op& op) { return op.kind == kind && (index < 0 || op.index == index); });
}

std::int64_t overlapped_executions(const Code& code, OpKind kind, int index) {
  return count_executions(code, [&](const Op& op) { return op.kind == kind && op.index == index && op.overlapped; });
}

void Cursor::enter_loop() {
  const std::int32_t index = op().index;
  if (loop(index).count <= 0) {
    position_ = loop(index).end + 1;
    return;
  }
  frames_[depth_] = {index, 0, base()};
  ++depth_;
  ++position_;
}

bool Cursor::repeat_loop() {
  Frame& frame = frames_[depth_ - 1];
  const Loop& current = loop(frame.loop);
  if (frame.iteration + 1 < current.count) {
    ++frame.iteration;
    frame.micro_batch += current.stride;
    position_ = current.begin + 1;
    return true;
  }
  --depth_;
  ++position_;
  return false;
}

void Cursor::skip_iterations(std::size_t level, std::int64_t iterations) {
  const std::int64_t moved = iterations * loop(frames_[level].loop).stride;
  frames_[level].iteration += iterations;
  for (std::size_t i = level; i < depth_; ++i) frames_[i].micro_batch += moved;
}

bool Cursor::pass_follows() const {
  Ahead ahead = op().ahead;
  for (std::size_t level = depth_; ahead == Ahead::Nothing && level-- > 0;) {
    const Frame& frame = frames_[level];
    const Loop& current = loop(frame.loop);
    if (frame.iteration + 1 < current.count && current.first != Ahead::Nothing) {
      ahead = current.first;
    } else {
      ahead = code_->ops[static_cast<std::size_t>(current.end)].ahead;
    }
  }
  return ahead == Ahead::Pass;
}

}  // namespace podsim::engine
