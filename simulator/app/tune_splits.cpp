// Even splits, and their neighbours.
#include "simulator/app/tune_splits.hpp"

#include <algorithm>
#include <set>

namespace podsim {

namespace {

using LayerCounts = std::vector<std::int64_t>;

constexpr std::size_t kFewSplits = 128;  // as many are tried one and all

bool is_usable(const LayerCounts& split) {
  if (split.size() > 1 && std::any_of(split.begin() + 1, split.end() - 1, [](std::int64_t n) { return n < 1; })) {
    return false;
  }
  return split.front() >= 0 && split.back() >= 0;
}

// Adds all ways to give `rest` layers to the IPUs behind `begun`; stops when there are too many.
void add_all(LayerCounts begun, std::int64_t rest, std::size_t depth, std::vector<LayerCounts>& splits) {
  if (splits.size() > kFewSplits) return;
  if (begun.size() + 1 == depth) {
    begun.push_back(rest);
    if (is_usable(begun)) splits.push_back(std::move(begun));
    return;
  }
  const std::int64_t least = begun.empty() ? 0 : 1;
  begun.push_back(0);
  for (std::int64_t count = least; count <= rest; ++count) {
    begun.back() = count;
    add_all(begun, rest - count, depth, splits);
  }
}

// [first, rest … evenly], larger shares last: earlier stages stash more.
LayerCounts even_split(std::int64_t layers, std::int64_t depth, std::int64_t first) {
  LayerCounts split = {first};
  const std::int64_t rest = layers - first;
  for (std::int64_t ipu = 1; ipu < depth; ++ipu) {
    split.push_back(rest * ipu / (depth - 1) - rest * (ipu - 1) / (depth - 1));
  }
  return split;
}

void add_with_neighbours(const LayerCounts& split, std::set<LayerCounts>& splits) {
  if (is_usable(split)) splits.insert(split);
  for (std::size_t ipu = 0; ipu + 1 < split.size(); ++ipu) {
    for (const std::int64_t moved : {-1, 1}) {
      LayerCounts neighbour = split;
      neighbour[ipu] += moved;
      neighbour[ipu + 1] -= moved;
      if (is_usable(neighbour)) splits.insert(std::move(neighbour));
    }
  }
}

}  // namespace

std::vector<LayerCounts> layer_splits(std::int64_t layers, std::int64_t depth) {
  if (layers < 1 || depth < 1 || layers < depth - 2) return {};
  std::vector<LayerCounts> all;
  add_all({}, layers, static_cast<std::size_t>(depth), all);
  if (all.size() <= kFewSplits) return all;
  std::set<LayerCounts> splits;
  const std::int64_t even = (layers + depth - 1) / depth;
  for (std::int64_t first = 0; first <= even; ++first) {
    add_with_neighbours(even_split(layers, depth, first), splits);
  }
  return {splits.begin(), splits.end()};
}

}  // namespace podsim
