// Groups over time: intervals, repeats, utilisation, bubbles, host and links.
#include "simulator/output/trace_groups.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "simulator/trace/utilization.hpp"

namespace podsim {
namespace {

constexpr std::size_t kFullBins = 256;  // IPUs up to which all time bins asked for are kept
constexpr int kFewestBins = 16;

const std::vector<std::string>& state_names() {
  static const std::vector<std::string> names(kStateNames.begin(), kStateNames.end());
  return names;
}

std::span<const std::uint8_t> bytes_of(std::span<const State> states) {
  static_assert(sizeof(State) == 1);
  return {reinterpret_cast<const std::uint8_t*>(states.data()), states.size()};
}

void write_states(Hdf5Group& group, const std::string& name, const std::string& axis, std::span<const State> states,
                  std::string_view description) {
  group.enumeration(name, {axis}, bytes_of(states), state_names(), description);
}

// The intervals in some of the states, as columns over `axis`.
void write_selection(Hdf5Group& group, const Trace& trace, std::span<const State> wanted, const std::string& axis,
                     const std::string& state_name) {
  const Intervals& all = trace.intervals;
  Intervals chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(wanted.begin(), wanted.end(), all.state[i]) == wanted.end()) continue;
    chosen.ipu.push_back(all.ipu[i]);
    chosen.state.push_back(all.state[i]);
    chosen.stage.push_back(all.stage[i]);
    chosen.start.push_back(all.start[i]);
    chosen.end.push_back(all.end[i]);
  }
  group.count_axis(axis, chosen.size(), "row number; repeated windows are in /repeats, not here");
  group.column(axis + "_ipu", {axis}, chosen.ipu, "1", "IPU of the pod");
  write_states(group, state_name, axis, chosen.state, "why the IPU waits");
  group.column(axis + "_stage", {axis}, chosen.stage, "1", "pipeline stage, -1 where none");
  group.column(axis + "_start", {axis}, chosen.start, "s", "from the start of the first run");
  group.column(axis + "_end", {axis}, chosen.end, "s", "from the start of the first run");
}

// Totals per IPU of some states, repeats included.
void write_state_totals(Hdf5Group& group, const Trace& trace, std::span<const State> states, const std::string& axis) {
  std::vector<std::string> names;
  for (const State state : states) names.emplace_back(name_of(state));
  std::vector<double> totals;
  for (const PerState& seconds : trace.state_seconds) {
    for (const State state : states) totals.push_back(seconds[index_of(state)]);
  }
  group.count_axis("ipu", trace.state_seconds.size(), "IPU of the pod");
  group.axis(axis, names, "why the IPU waits");
  group.column("total", {"ipu", axis}, totals, "s", "seconds in the whole run, repeats included");
}

}  // namespace

void write_intervals(const Hdf5Builder& file, const Trace& trace) {
  Hdf5Group group = file.group("intervals");
  group.attribute("makespan_seconds", trace.makespan_seconds);
  group.attribute("ipus", std::int64_t{trace.ipus});
  const Intervals& columns = trace.intervals;
  group.count_axis("interval", columns.size(), "row number; rows are sorted by IPU and start");
  group.column("ipu", {"interval"}, columns.ipu, "1", "IPU of the pod");
  write_states(group, "state", "interval", columns.state, "what the IPU does");
  group.column("stage", {"interval"}, columns.stage, "1", "pipeline stage, -1 where none");
  group.column("micro_batch", {"interval"}, columns.micro_batch, "1", "micro-batch, -1 where none");
  group.column("start", {"interval"}, columns.start, "s", "from the start of the first run");
  group.column("end", {"interval"}, columns.end, "s", "from the start of the first run");
}

void write_repeats(const Hdf5Builder& file, const Trace& trace) {
  Hdf5Group group = file.group("repeats");
  group.attribute("description",
                  std::string("the window [start - period, start) of all IPUs happened `count` more times, back to "
                              "back, from `start` on; micro-batches advance by `micro_batches` each time; the "
                              "windows nest"));
  std::vector<double> start, period;
  std::vector<std::int64_t> count, micro_batches;
  for (const RepeatedWindow& window : trace.repeats) {
    start.push_back(window.start);
    period.push_back(window.period);
    count.push_back(window.count);
    micro_batches.push_back(window.micro_batches);
  }
  group.count_axis("window", start.size(), "row number");
  group.column("start", {"window"}, start, "s", "end of the body, start of its repetitions");
  group.column("period", {"window"}, period, "s", "length of the body");
  group.column("count", {"window"}, count, "1", "repetitions behind the body");
  group.column("micro_batches", {"window"}, micro_batches, "1", "advance of micro-batch numbers per repetition");
}

void write_utilization(const Hdf5Builder& file, const Trace& trace, int bins) {
  Hdf5Group group = file.group("utilization");
  const auto ipus = static_cast<std::size_t>(std::max(1, trace.ipus));
  if (ipus > kFullBins) {
    const auto scaled = static_cast<int>(static_cast<std::size_t>(bins) * kFullBins / ipus);
    bins = std::clamp(scaled, std::min(bins, kFewestBins), bins);
  }
  const Utilization utilization = utilization_over_time(trace, bins);
  std::vector<double> centres;
  for (int bin = 0; bin < utilization.bins; ++bin) centres.push_back((bin + 0.5) * utilization.bin_seconds);
  group.attribute("bin_seconds", utilization.bin_seconds);
  group.axis("time", std::span<const double>(centres), "s", "centre of the bin, from the start of the first run");
  group.count_axis("ipu", static_cast<std::size_t>(trace.ipus), "IPU of the pod");
  group.axis("state", state_names(), "what the IPU does");
  group.column("share", {"time", "ipu", "state"}, utilization.shares, "1",
               "share of the bin in the state; the states add up to 1");
}

void write_bubbles(const Hdf5Builder& file, const Trace& trace) {
  constexpr std::array kKinds = {State::RampUp, State::RampDown, State::Imbalance};
  Hdf5Group group = file.group("bubbles");
  write_selection(group, trace, kKinds, "bubble", "bubble_state");
  write_state_totals(group, trace, kKinds, "kind");
}

void write_host(const Hdf5Builder& file, const Trace& trace) {
  constexpr std::array kCauses = {State::HostInputStall, State::HostTransfer, State::HostCall, State::HostOutputStall,
                                  State::SecondGraph};
  Hdf5Group group = file.group("host");
  write_selection(group, trace, kCauses, "stall", "stall_state");
  write_state_totals(group, trace, kCauses, "cause");
  std::vector<std::int32_t> replica, stream, depth;
  std::vector<double> time;
  for (const QueueSample& sample : trace.queues) {
    replica.push_back(sample.replica);
    stream.push_back(sample.stream);
    time.push_back(sample.time);
    depth.push_back(sample.depth);
  }
  group.axis("stream", trace.streams, "host stream of the program");
  group.count_axis("change", time.size(), "row number");
  group.column("queue_replica", {"change"}, replica, "1", "replica");
  group.column("queue_stream", {"change"}, stream, "1", "its number in `stream`");
  group.column("queue_time", {"change"}, time, "s", "when the depth changed");
  group.column("queue_depth", {"change"}, depth, "1", "micro-batches in the ring buffer from then on");
}

void write_links(const Hdf5Builder& file, const TraceContent& content) {
  Hdf5Group group = file.group("links");
  std::vector<std::string> names, kinds;
  std::vector<double> bytes, capacity, utilization;
  for (const LinkUse& link : content.trace.links) {
    names.push_back(link.name);
    kinds.push_back(link.kind);
    bytes.push_back(link.bytes);
    capacity.push_back(link.bytes_per_second);
    const double possible = link.bytes_per_second * content.trace.makespan_seconds;
    utilization.push_back(possible > 0 ? link.bytes / possible : 0);
  }
  group.axis("link", names, "directed link that carried something");
  group.column("kind", {"link"}, kinds, "kind of link");
  group.column("bytes", {"link"}, bytes, "B", "carried in the whole run, repeats included");
  group.column("capacity", {"link"}, capacity, "B/s", "bandwidth");
  group.column("utilization", {"link"}, utilization, "1", "bytes / (capacity x makespan)");
}

}  // namespace podsim
