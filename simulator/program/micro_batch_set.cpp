// A set of micro-batches as a dense beginning and a few stragglers.
#include "simulator/program/micro_batch_set.hpp"

#include <algorithm>

namespace podsim {

bool MicroBatchSet::insert(std::int64_t micro_batch) {
  if (micro_batch < below_) return false;
  if (micro_batch > below_) return others_.insert(micro_batch).second;
  ++below_;
  while (!others_.empty() && *others_.begin() == below_) {
    others_.erase(others_.begin());
    ++below_;
  }
  return true;
}

bool MicroBatchSet::contains(std::int64_t micro_batch) const {
  if (micro_batch < 0) return false;
  return micro_batch < below_ || others_.count(micro_batch) > 0;
}

std::int64_t MicroBatchSet::size() const { return below_ + static_cast<std::int64_t>(others_.size()); }

bool MicroBatchSet::is_shifted(const MicroBatchSet& earlier, std::int64_t distance) const {
  return below_ == earlier.below_ + distance && others_.size() == earlier.others_.size() &&
         std::equal(others_.begin(), others_.end(), earlier.others_.begin(),
                    [&](std::int64_t now, std::int64_t before) { return now == before + distance; });
}

void MicroBatchSet::shift(std::int64_t distance) {
  below_ += distance;
  std::set<std::int64_t> moved;
  for (const std::int64_t micro_batch : others_) moved.insert(moved.end(), micro_batch + distance);
  others_ = std::move(moved);
}

}  // namespace podsim
