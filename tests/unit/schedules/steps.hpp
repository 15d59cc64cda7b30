// Counts steps of an IPU's tree with all repeats followed.
#pragma once

#include <vector>

#include "simulator/program/program.hpp"

namespace podsim {

// Every step of kind T with the micro-batch base that its repeats give it, in the order of execution.
template <typename T>
struct Executed {
  T step;
  std::int64_t base = 0;
};

template <typename T>
void collect(const std::vector<Step>& body, std::int64_t base, std::vector<Executed<T>>& found) {
  for (const Step& step : body) {
    if (const auto* wanted = std::get_if<T>(&step)) found.push_back({*wanted, base});
    const auto* loop = std::get_if<Repeat>(&step);
    for (std::int64_t i = 0; loop != nullptr && i < loop->count; ++i)
      collect(loop->body, base + i * loop->stride, found);
  }
}

template <typename T>
std::vector<Executed<T>> executed(const Program& program, int ipu) {
  std::vector<Executed<T>> found;
  collect(program.ipus[static_cast<std::size_t>(ipu)], 0, found);
  return found;
}

// Number of steps in the trees as they are stored.
inline std::size_t stored_steps(const std::vector<Step>& body) {
  std::size_t count = 0;
  for (const Step& step : body) {
    const auto* loop = std::get_if<Repeat>(&step);
    count += 1 + (loop == nullptr ? 0 : stored_steps(loop->body));
  }
  return count;
}

inline std::size_t stored_steps(const Program& program) {
  std::size_t count = 0;
  for (const std::vector<Step>& tree : program.ipus) count += stored_steps(tree);
  return count;
}

}  // namespace podsim
