// SweepGrid: all combinations of the axes, numbered; the last axis changes fastest.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "simulator/app/overrides.hpp"
#include "simulator/app/sweep_axes.hpp"

namespace podsim {

class SweepGrid {
 public:
  SweepGrid() = default;
  // UserError for more than ten million points. Without axes there is one point.
  explicit SweepGrid(std::vector<SweepAxis> axes);

  [[nodiscard]] const std::vector<SweepAxis>& axes() const { return axes_; }
  [[nodiscard]] std::size_t points() const { return points_; }
  // The position on each axis.
  [[nodiscard]] std::vector<std::size_t> positions(std::size_t point) const;
  // The first point that has equal values: duplicates run once.
  [[nodiscard]] std::size_t representative(std::size_t point) const;
  [[nodiscard]] std::vector<Override> overrides(std::size_t point) const;

  [[nodiscard]] std::vector<std::string> keys() const;
  // The values of the keys at a point, as JSON values.
  [[nodiscard]] std::vector<Value> values(std::size_t point) const;

 private:
  std::vector<SweepAxis> axes_;
  std::size_t points_ = 1;
};

// One part of a sweep: the points whose number is `index` modulo `count`, so that both 0 … n-1 and 1 … n number the
// parts completely.
struct SweepShard {
  std::size_t index = 0;
  std::size_t count = 1;
  [[nodiscard]] bool holds(std::size_t point) const { return point % count == index; }
};

// "3/16". UserError otherwise.
[[nodiscard]] SweepShard parse_shard(const std::string& text);

}  // namespace podsim
