// Intervals of residency of every buffer over the steps of an IPU, repeats followed twice.
#include "simulator/program/remote_residency.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

using Steps = std::vector<const Step*>;

// The steps of a tree in order. Two iterations of a repeat show everything: what comes before and after is alike.
void flatten(const std::vector<Step>& body, Steps& steps) {
  for (const Step& step : body) {
    const auto* repeat = std::get_if<Repeat>(&step);
    if (repeat == nullptr) {
      steps.push_back(&step);
      continue;
    }
    const bool twice = repeat->count > 1 && repeat->kind != LoopKind::Runs;
    for (int iteration = 0; iteration < (twice ? 2 : 1); ++iteration) flatten(repeat->body, steps);
  }
}

struct Interval {
  std::size_t first = 0, last = 0;
};

class Residency {
 public:
  Residency(const Program& program, int ipu) : program_(program), ipu_(ipu) {
    flatten(program.ipus[static_cast<std::size_t>(ipu)], steps_);
  }

  void add_to(std::vector<BuffersBeside>& beside) const {
    std::vector<double> others(steps_.size(), 0);  // bytes in each run
    for (std::size_t buffer = 0; buffer < program_.buffers.size(); ++buffer) {
      if (program_.buffers[buffer].ipu == ipu_) mark(static_cast<int>(buffer), others);
    }
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      const Run* run = std::get_if<Run>(steps_[at]);
      if (run == nullptr) continue;
      BuffersBeside& stage = beside[static_cast<std::size_t>(run->stage)];
      double& most = run->pass == Pass::Forward        ? stage.forward_bytes
                     : run->pass == Pass::WeightUpdate ? stage.update_bytes
                                                       : stage.backward_bytes;
      most = std::max(most, others[at]);
    }
  }

 private:
  // Adds a buffer's bytes to the runs of other stages in its intervals.
  void mark(int buffer, std::vector<double>& others) const {
    const RemoteBuffer& known = program_.buffers[static_cast<std::size_t>(buffer)];
    for (const Interval& interval : intervals(buffer)) {
      for (std::size_t at = interval.first; at <= interval.last; ++at) {
        const Run* run = std::get_if<Run>(steps_[at]);
        if (run != nullptr && run->stage != known.stage) others[at] += known.bytes;
      }
    }
  }

  // Begins with a load, or with the forward pass that makes the activations.
  [[nodiscard]] std::vector<Interval> intervals(int buffer) const {
    const RemoteBuffer& known = program_.buffers[static_cast<std::size_t>(buffer)];
    std::vector<Interval> result;
    bool open = false;
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      const auto* load = std::get_if<RemoteLoad>(steps_[at]);
      const auto* store = std::get_if<RemoteStore>(steps_[at]);
      const auto* run = std::get_if<Run>(steps_[at]);
      const bool makes = run != nullptr && known.content == Variable::Activations && run->pass == Pass::Forward;
      if ((load != nullptr && load->buffer == buffer) || (makes && run->stage == known.stage)) {
        result.push_back({at, at});
        open = true;
      } else if (open && run != nullptr && run->stage == known.stage && uses(run->pass, known.content)) {
        result.back().last = at;
        open = !ends(run->pass, known.content);
      } else if (open && store != nullptr && store->buffer == buffer) {
        result.back().last = store->overlapped ? next_wait(at) : at;
        open = false;
      }
    }
    return result;
  }

  [[nodiscard]] static bool uses(Pass pass, Variable content) {
    const bool update = pass == Pass::WeightUpdate;
    switch (content) {
      case Variable::Activations: return !update;
      case Variable::Weights: return true;
      case Variable::Accumulators: return update || pass == Pass::Backward || pass == Pass::BackwardWeights;
      case Variable::OptimizerState: return update;
    }
    throw InternalError("unknown content of a buffer");
  }
  // The backward pass is the last one to need the activations of a micro-batch.
  [[nodiscard]] static bool ends(Pass pass, Variable content) {
    return content == Variable::Activations && (pass == Pass::Backward || pass == Pass::BackwardWeights);
  }

  [[nodiscard]] std::size_t next_wait(std::size_t at) const {
    const auto wait = std::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(at), steps_.end(),
                                   [](const Step* step) { return std::holds_alternative<RemoteWait>(*step); });
    return std::min(static_cast<std::size_t>(wait - steps_.begin()), steps_.size() - 1);
  }

  const Program& program_;
  int ipu_;
  Steps steps_;
};

}  // namespace

std::vector<BuffersBeside> buffers_beside(const Program& program) {
  std::vector<BuffersBeside> beside(static_cast<std::size_t>(program.stages));
  if (program.buffers.empty()) return beside;
  for (std::size_t ipu = 0; ipu < program.ipus.size(); ++ipu) Residency(program, static_cast<int>(ipu)).add_to(beside);
  return beside;
}

}  // namespace podsim
