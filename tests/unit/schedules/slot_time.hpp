// A reference interpreter: every iteration of every repeat is followed, and a stretch between two meetings of the
// replica lasts as long as its slowest IPU. Only passes take time.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "simulator/program/program.hpp"

namespace podsim {

using PassSeconds = std::function<double(int stage, Pass pass)>;

class SlotTime {
 public:
  SlotTime(const Program& program, PassSeconds seconds) : seconds_(std::move(seconds)) {
    for (const std::vector<Step>& tree : program.ipus) {
      stretches_.emplace_back(1, 0.0);
      follow(tree);
    }
  }

  [[nodiscard]] double total() const {
    double sum = 0;
    for (std::size_t i = 0; i < stretches_.front().size(); ++i) {
      double longest = 0;
      for (const std::vector<double>& ipu : stretches_) longest = std::max(longest, ipu.at(i));
      sum += longest;
    }
    return sum;
  }

 private:
  void follow(const std::vector<Step>& body) {
    for (const Step& step : body) {
      if (const auto* run = std::get_if<Run>(&step)) stretches_.back().back() += seconds_(run->stage, run->pass);
      if (std::holds_alternative<Exchange>(step) || std::holds_alternative<Sync>(step)) stretches_.back().push_back(0);
      const auto* loop = std::get_if<Repeat>(&step);
      for (std::int64_t i = 0; loop != nullptr && i < loop->count; ++i) follow(loop->body);
    }
  }

  PassSeconds seconds_;
  std::vector<std::vector<double>> stretches_;  // per IPU
};

inline double slot_time(const Program& program, const PassSeconds& seconds) {
  return SlotTime(program, seconds).total();
}

// The same times for all stages; the weight update takes none.
inline PassSeconds uniform(double forward, double backward) {
  return [=](int, Pass pass) {
    if (pass == Pass::Forward) return forward;
    if (pass == Pass::BackwardInput || pass == Pass::BackwardWeights) return backward / 2;
    return pass == Pass::Backward ? backward : 0.0;
  };
}

}  // namespace podsim
