// A set of micro-batches that is nearly always "all below some number": small however many there are.
#pragma once

#include <cstdint>
#include <set>

namespace podsim {

class MicroBatchSet {
 public:
  // False where it is a member already (or negative).
  bool insert(std::int64_t micro_batch);
  [[nodiscard]] bool contains(std::int64_t micro_batch) const;
  [[nodiscard]] std::int64_t size() const;
  // The members are exactly 0 … size() - 1.
  [[nodiscard]] bool contiguous() const { return others_.empty(); }
  // This set is `earlier` with all its numbers raised by `distance`, and those that became free at the bottom filled.
  [[nodiscard]] bool is_shifted(const MicroBatchSet& earlier, std::int64_t distance) const;
  void shift(std::int64_t distance);

  friend bool operator==(const MicroBatchSet& left, const MicroBatchSet& right) = default;

 private:
  std::int64_t below_ = 0;         // all of 0 … below_ - 1 are members, below_ is not
  std::set<std::int64_t> others_;  // members above below_
};

}  // namespace podsim
