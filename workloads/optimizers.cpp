// The optimisers: state tensors, and the floating-point operations of one weight's update, counted from the published
// update rules with one operation for each add, multiply, divide and square root.
#include <algorithm>

#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"
#include "workloads/workload.hpp"

namespace podsim {

namespace {

// w -= r g.
constexpr double kSgdOperations = 2;
// v = mu v + g (2), w -= r v (2).
constexpr double kMomentumOperations = 4;
// m = b1 m + (1 - b1) g (3), v = b2 v + (1 - b2) g^2 (4), both bias corrections (2), sqrt, + eps, divide (3),
// w -= r u (2). Kingma and Ba 2015, algorithm 1.
constexpr double kAdamOperations = 14;
// Adam and the decoupled decay u += d w (2). Loshchilov and Hutter 2019, algorithm 2.
constexpr double kAdamWOperations = 16;
// AdamW's u, and the squares and sums of |w| and |u| (4). You et al. 2020, algorithm 2.
constexpr double kLambOperations = 20;
// Squares and sums of |w| and |g| (4), g + d w (2), scaled by the local rate (1), v = mu v + … (2), w -= v (1).
// You et al. 2017, algorithm 1.
constexpr double kLarsOperations = 10;

std::vector<Optimizer> make_optimizers() {
  const std::vector<ElementType> none;
  const std::vector<ElementType> velocity = {ElementType::Float32};
  const std::vector<ElementType> moments = {ElementType::Float32, ElementType::Float32};
  return {
      {"sgd", 0, none, kSgdOperations, 0, ElementType::Float16},
      {"momentum", 1, velocity, kMomentumOperations, 0, ElementType::Float16},
      {"adam", 2, moments, kAdamOperations, 0, ElementType::Float16},
      {"adamw", 2, moments, kAdamWOperations, 0, ElementType::Float16},
      {"lamb", 2, moments, kLambOperations, 2, ElementType::Float16},
      {"lars", 1, velocity, kLarsOperations, 2, ElementType::Float16},
  };
}

}  // namespace

const std::vector<Optimizer>& optimizers() {
  static const std::vector<Optimizer> table = make_optimizers();
  return table;
}

const Optimizer& find_optimizer(std::string_view name, const std::string& where) {
  std::vector<std::string> known;
  std::string list;
  for (const Optimizer& optimizer : optimizers()) {
    if (optimizer.name == name) return optimizer;
    known.push_back(optimizer.name);
    list += (list.empty() ? "" : ", ") + optimizer.name;
  }
  const std::string nearest = nearest_name(name, known);
  throw UserError(where, "unknown optimizer \"" + std::string(name) + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + "known: " + list);
}

}  // namespace podsim
