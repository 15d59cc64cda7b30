// Comparing and advancing.
#include "simulator/engine/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace podsim::engine {
namespace {

// Rounding of times: of the clock's steps, and of sums in another order.
constexpr double kSameSeconds = 1e-12;
constexpr double kRoundings = 16;
// Rounding of what is left of a flow: a link moves as much in less than kSameSeconds.
constexpr double kSameBytes = 1e-3;

bool close(const std::vector<double>& left, const std::vector<double>& right, double tolerance) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [tolerance](double one, double other) { return std::abs(one - other) <= tolerance; });
}

bool same_state(const Snapshot& before, const Snapshot& after) {
  const double rounding = kRoundings * std::numeric_limits<double>::epsilon() * after.now;
  return before.words == after.words && close(before.times, after.times, std::max(kSameSeconds, rounding)) &&
         close(before.bytes, after.bytes, kSameBytes) && before.counters.size() == after.counters.size() &&
         before.totals.size() == after.totals.size() && before.counts.size() == after.counts.size();
}

}  // namespace

std::int64_t repetitions(const Snapshot& before, const Snapshot& after) {
  if (!same_state(before, after)) return 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  int moved_group = 0;  // counters of a group follow each other
  for (std::size_t i = 0; i < after.counters.size(); ++i) {
    const Snapshot::Counter& counter = after.counters[i];
    const std::int64_t delta = counter.value - before.counters[i].value;
    if (delta == 0) continue;
    if (delta < 0 || (counter.group != 0 && counter.group == moved_group)) return 0;
    moved_group = counter.group;
    most = std::min(most, (counter.limit - 1 - counter.value) / delta);
  }
  return most == std::numeric_limits<std::int64_t>::max() ? 0 : std::max<std::int64_t>(0, most);
}

// Each timeline moves on by exactly the skipped time: what rounding leaves over goes to the state that has the most.
void Advance::timeline(Timeline::Totals& totals) {
  std::array<long double, kStateCount> added{};
  long double sum = 0;
  for (long double& state : added) sum += state = next_total();
  const auto largest = std::max_element(added.begin(), added.end());
  *largest += seconds_ - sum;
  for (std::size_t state = 0; state < kStateCount; ++state) totals[state] += added[state];
}

}  // namespace podsim::engine
