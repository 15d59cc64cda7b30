// Reads what exporters need; states go by their names, so that files survive changes of the enumeration's order.
#include <algorithm>

#include "simulator/output/hdf5_reader.hpp"
#include "simulator/output/trace_file.hpp"

namespace podsim {
namespace {

std::vector<State> read_states(const Hdf5Reader& file, const std::string& dataset) {
  const std::vector<std::string> names = file.text_attribute(dataset, "names");
  std::vector<State> meaning;
  for (const std::string& name : names) {
    const auto found = std::find(kStateNames.begin(), kStateNames.end(), name);
    if (found == kStateNames.end()) file.fail("unknown state " + name + " in " + dataset);
    meaning.push_back(static_cast<State>(found - kStateNames.begin()));
  }
  std::vector<State> states;
  for (const std::uint8_t number : file.bytes(dataset)) {
    if (number >= meaning.size()) file.fail("state " + std::to_string(number) + " without a name in " + dataset);
    states.push_back(meaning[number]);
  }
  return states;
}

Intervals read_intervals(const Hdf5Reader& file) {
  Intervals columns;
  columns.ipu = file.integers("/intervals/ipu");
  columns.state = read_states(file, "/intervals/state");
  columns.stage = file.integers("/intervals/stage");
  columns.micro_batch = file.long_integers("/intervals/micro_batch");
  columns.start = file.doubles("/intervals/start");
  columns.end = file.doubles("/intervals/end");
  const std::size_t size = columns.size();
  if (columns.state.size() != size || columns.stage.size() != size || columns.micro_batch.size() != size ||
      columns.start.size() != size || columns.end.size() != size) {
    file.fail("the columns of /intervals differ in length");
  }
  return columns;
}

std::vector<RepeatedWindow> read_windows(const Hdf5Reader& file) {
  const std::vector<double> start = file.doubles("/repeats/start"), period = file.doubles("/repeats/period");
  const std::vector<std::int64_t> count = file.long_integers("/repeats/count"),
                                  micro_batches = file.long_integers("/repeats/micro_batches");
  if (period.size() != start.size() || count.size() != start.size() || micro_batches.size() != start.size()) {
    file.fail("the columns of /repeats differ in length");
  }
  std::vector<RepeatedWindow> windows;
  for (std::size_t i = 0; i < start.size(); ++i) {
    windows.push_back({start[i], period[i], count[i], micro_batches[i]});
  }
  return windows;
}

std::vector<QueueSample> read_queues(const Hdf5Reader& file) {
  const std::vector<std::int32_t> replica = file.integers("/host/queue_replica"),
                                  stream = file.integers("/host/queue_stream"),
                                  depth = file.integers("/host/queue_depth");
  const std::vector<double> time = file.doubles("/host/queue_time");
  if (stream.size() != replica.size() || depth.size() != replica.size() || time.size() != replica.size()) {
    file.fail("the columns of /host differ in length");
  }
  std::vector<QueueSample> queues;
  for (std::size_t i = 0; i < time.size(); ++i) queues.push_back({replica[i], stream[i], time[i], depth[i]});
  return queues;
}

}  // namespace

StoredTrace read_trace(const std::string& path) {
  const Hdf5Reader file(path);
  const std::vector<std::string> format = file.text_attribute("/", "format");
  if (format.empty() || format.front() != "podsim trace") file.fail("this is not a trace of podsim");
  StoredTrace stored;
  stored.name = file.text_attribute("/summary", "name").at(0);
  stored.trace.ipus = static_cast<int>(file.number_attribute("/intervals", "ipus"));
  stored.trace.makespan_seconds = file.number_attribute("/intervals", "makespan_seconds");
  stored.trace.intervals = read_intervals(file);
  stored.trace.repeats = read_windows(file);
  stored.trace.queues = read_queues(file);
  return stored;
}

}  // namespace podsim
