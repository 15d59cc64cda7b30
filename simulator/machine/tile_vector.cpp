// TileVector: run-length arithmetic over the tiles of an IPU.
#include "simulator/machine/tile_vector.hpp"

#include <algorithm>
#include <string>

#include "simulator/core/error.hpp"

namespace podsim {

void TileVector::append(int tiles, double value) {
  if (tiles < 0) throw InternalError("TileVector::append: negative number of tiles");
  if (tiles == 0) return;
  if (!runs_.empty() && runs_.back().value == value) {
    runs_.back().tiles += tiles;
  } else {
    runs_.push_back({tiles, value});
  }
}

int TileVector::tiles() const {
  int count = 0;
  for (const TileRun& run : runs_) count += run.tiles;
  return count;
}

double TileVector::maximum() const {
  double largest = 0;
  for (const TileRun& run : runs_) largest = std::max(largest, run.value);
  return largest;
}

double TileVector::sum() const {
  double total = 0;
  for (const TileRun& run : runs_) total += run.tiles * run.value;
  return total;
}

double TileVector::at(int tile) const {
  int first = 0;
  for (const TileRun& run : runs_) {
    if (tile >= first && tile < first + run.tiles) return run.value;
    first += run.tiles;
  }
  throw InternalError("TileVector::at: tile " + std::to_string(tile) + " of " + std::to_string(first));
}

std::vector<double> TileVector::expand() const {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(tiles()));
  for (const TileRun& run : runs_) values.insert(values.end(), static_cast<std::size_t>(run.tiles), run.value);
  return values;
}

TileVector& TileVector::operator+=(const TileVector& other) {
  if (other.runs_.empty()) return *this;
  if (runs_.empty()) return *this = other;
  if (tiles() != other.tiles()) {
    throw InternalError("TileVector: adding " + std::to_string(other.tiles()) + " tiles to " + std::to_string(tiles()));
  }
  TileVector result;
  std::size_t left = 0;
  std::size_t right = 0;
  int left_rest = runs_[0].tiles;
  int right_rest = other.runs_[0].tiles;
  while (left < runs_.size()) {
    const int step = std::min(left_rest, right_rest);
    result.append(step, runs_[left].value + other.runs_[right].value);
    left_rest -= step;
    right_rest -= step;
    if (left_rest == 0 && ++left < runs_.size()) left_rest = runs_[left].tiles;
    if (right_rest == 0 && ++right < other.runs_.size()) right_rest = other.runs_[right].tiles;
  }
  runs_ = std::move(result.runs_);
  return *this;
}

TileVector TileVector::scaled(double factor) const {
  return mapped([factor](double value) { return value * factor; });
}

namespace {

// Values of `runs` for the tiles [first, first + count), appended to `result`.
void append_window(TileVector& result, const std::vector<TileVector::TileRun>& runs, int first, int count) {
  int begin = 0;
  for (const TileVector::TileRun& run : runs) {
    const int from = std::max(begin, first);
    const int to = std::min(begin + run.tiles, first + count);
    if (to > from) result.append(to - from, run.value);
    begin += run.tiles;
  }
}

}  // namespace

TileVector TileVector::spread(std::int64_t amount, std::int64_t grain, int used, int tiles, int first) {
  if (amount < 0 || grain <= 0 || used <= 0 || used > tiles) {
    throw InternalError("TileVector::spread: wrong arguments");
  }
  const std::int64_t grains = (amount + grain - 1) / grain;
  const std::int64_t fewest = grains / used;
  const int more = static_cast<int>(grains % used);
  // The last grain may be partial: the last of the fuller tiles has it.
  const double missing = static_cast<double>(grains * grain - amount);
  const double high = static_cast<double>((fewest + 1) * grain);
  const double low = static_cast<double>(fewest * grain);
  TileVector line;
  if (more > 0) {
    line.append(more - 1, high);
    line.append(1, high - missing);
    line.append(used - more, low);
  } else {
    line.append(used - 1, low);
    line.append(1, low - missing);
  }
  line.append(tiles - used, 0);
  const int start = ((first % tiles) + tiles) % tiles;
  if (start == 0) return line;
  TileVector rotated;
  append_window(rotated, line.runs(), tiles - start, start);
  append_window(rotated, line.runs(), 0, tiles - start);
  return rotated;
}

}  // namespace podsim
