// The trailing time of IPUs that end early, and intervals cut where periods were skipped.
#include "simulator/engine/trace_builder.hpp"

#include <algorithm>

namespace podsim::engine {
namespace {

void add_trailing_time(std::deque<Ipu>& ipus, int ipus_per_replica, double makespan) {
  for (std::size_t first = 0; first < ipus.size(); first += static_cast<std::size_t>(ipus_per_replica)) {
    double replica_end = 0;
    for (int i = 0; i < ipus_per_replica; ++i) {
      replica_end = std::max(replica_end, ipus[first + static_cast<std::size_t>(i)].timeline.time());
    }
    for (int i = 0; i < ipus_per_replica; ++i) {
      Ipu& ipu = ipus[first + static_cast<std::size_t>(i)];
      ipu.timeline.spend(ipu.worked ? State::RampDown : State::Imbalance, replica_end);
      ipu.timeline.spend(State::Sync, makespan);
    }
  }
}

void reserve(Intervals& columns, std::size_t size) {
  columns.ipu.reserve(size);
  columns.state.reserve(size);
  columns.stage.reserve(size);
  columns.micro_batch.reserve(size);
  columns.start.reserve(size);
  columns.end.reserve(size);
}

void append(Intervals& columns, int ipu, const Timeline::Piece& piece, double start, double end) {
  if (!(start < end)) return;
  columns.ipu.push_back(ipu);
  columns.state.push_back(piece.state);
  columns.stage.push_back(piece.stage);
  columns.micro_batch.push_back(piece.micro_batch);
  columns.start.push_back(start);
  columns.end.push_back(end);
}

void append_pieces(Ipu& ipu, const std::vector<TraceClock::Cut>& cuts, Intervals& columns) {
  const std::vector<Timeline::Piece> pieces = std::move(ipu.timeline.pieces());
  double start = 0;
  double offset = 0;
  auto cut = cuts.begin();
  for (const Timeline::Piece& piece : pieces) {
    for (; cut != cuts.end() && cut->kernel_time < piece.end - kClockRoundingSeconds; ++cut) {
      if (cut->kernel_time > start + kClockRoundingSeconds) {
        append(columns, ipu.index, piece, start + offset, cut->kernel_time + offset);
        start = cut->kernel_time;
      }
      offset = cut->offset;
    }
    append(columns, ipu.index, piece, start + offset, piece.end + offset);
    start = piece.end;
  }
}

}  // namespace

TraceClock::TraceClock(const std::vector<Skip>& skips) {
  double offset = 0;
  for (const Skip& skip : skips) {
    offset += skip.seconds();
    if (!cuts_.empty() && cuts_.back().kernel_time == skip.kernel_time) {
      cuts_.back().offset = offset;
    } else {
      cuts_.push_back({skip.kernel_time, offset});
    }
  }
}

double TraceClock::operator()(double kernel_time) const {
  const auto behind = std::lower_bound(cuts_.begin(), cuts_.end(), kernel_time,
                                       [](const Cut& cut, double time) { return cut.kernel_time < time; });
  return kernel_time + (behind == cuts_.begin() ? 0.0 : (behind - 1)->offset);
}

void build_timelines(std::deque<Ipu>& ipus, int ipus_per_replica, const std::vector<Skip>& skips, Trace& trace) {
  double end = 0;
  for (const Ipu& ipu : ipus) end = std::max(end, ipu.timeline.time());
  add_trailing_time(ipus, ipus_per_replica, end);

  const TraceClock clock(skips);
  trace.ipus = static_cast<int>(ipus.size());
  trace.makespan_seconds = clock(end);
  std::size_t pieces = 0;
  for (Ipu& ipu : ipus) pieces += ipu.timeline.pieces().size() + (ipu.timeline.pieces().empty() ? 0 : skips.size());
  reserve(trace.intervals, pieces);
  for (Ipu& ipu : ipus) {
    append_pieces(ipu, clock.cuts(), trace.intervals);
    PerState& totals = trace.state_seconds.emplace_back();
    for (std::size_t state = 0; state < kStateCount; ++state) {
      totals[state] = static_cast<double>(ipu.timeline.totals()[state]);
    }
  }
  for (const Skip& skip : skips) trace.repeats.push_back({skip.start, skip.period, skip.count, skip.micro_batches});
}

}  // namespace podsim::engine
