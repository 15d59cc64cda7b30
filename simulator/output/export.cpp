// One function per format; each walks the IPUs' intervals and needs no more memory than the trace itself, except
// Paje, which wants all events in time order.
#include "simulator/output/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "simulator/core/error.hpp"
#include "simulator/output/atomic_file.hpp"
#include "simulator/trace/repeats.hpp"

namespace podsim {
namespace {

using Write = std::function<void(std::string_view)>;
using Visit = std::function<void(const Interval&)>;

void visit_ipu(const Trace& trace, const ExportOptions& options, int ipu, const Visit& visit) {
  if (options.expand) {
    visit_intervals(trace, ipu, 0, std::numeric_limits<double>::infinity(), visit);
    return;
  }
  const Intervals& columns = trace.intervals;
  const IntervalRange range = range_of(columns, ipu);
  for (std::size_t i = range.begin; i < range.end; ++i) {
    visit(
        {columns.ipu[i], columns.state[i], columns.stage[i], columns.micro_batch[i], columns.start[i], columns.end[i]});
  }
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

double microseconds(double seconds) { return seconds * 1e6; }

std::string chrome_name(const Interval& interval) {
  std::string name(name_of(interval.state));
  if (interval.micro_batch >= 0) name += fmt::format(" {}", interval.micro_batch);
  return name;
}

// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event Format)
void export_chrome(const StoredTrace& stored, const ExportOptions& options, const Write& write) {
  const Trace& trace = stored.trace;
  write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
  write(fmt::format(R"({{"ph": "M", "pid": 0, "name": "process_name", "args": {{"name": {}}}}})",
                    quoted(stored.name.empty() ? "podsim" : stored.name)));
  for (int ipu = 0; ipu < trace.ipus; ++ipu) {
    write(
        fmt::format(",\n"
                    R"({{"ph": "M", "pid": 0, "tid": {0}, "name": "thread_name", "args": {{"name": "IPU {0}"}}}})",
                    ipu));
  }
  for (int ipu = 0; ipu < trace.ipus; ++ipu) {
    visit_ipu(trace, options, ipu, [&](const Interval& interval) {
      write(
          fmt::format(",\n"
                      R"({{"ph": "X", "pid": 0, "tid": {}, "ts": {}, "dur": {}, "name": "{}", "cat": "{}", )"
                      R"("args": {{"stage": {}, "micro_batch": {}}}}})",
                      interval.ipu, microseconds(interval.start), microseconds(interval.end - interval.start),
                      chrome_name(interval), name_of(interval.state), interval.stage, interval.micro_batch));
    });
  }
  for (const QueueSample& sample : trace.queues) {
    write(
        fmt::format(",\n"
                    R"({{"ph": "C", "pid": 0, "ts": {}, "name": "host queue, replica {} stream {}", )"
                    R"("args": {{"depth": {}}}}})",
                    microseconds(sample.time), sample.replica, sample.stream, sample.depth));
  }
  write("\n]}\n");
}

void export_csv(const StoredTrace& stored, const ExportOptions& options, const Write& write) {
  write("ipu,state,stage,micro_batch,start_seconds,end_seconds\n");
  for (int ipu = 0; ipu < stored.trace.ipus; ++ipu) {
    visit_ipu(stored.trace, options, ipu, [&](const Interval& interval) {
      write(fmt::format("{},{},{},{},{},{}\n", interval.ipu, name_of(interval.state), interval.stage,
                        interval.micro_batch, interval.start, interval.end));
    });
  }
}

// Colours of the states in Paje and in the plots of tools/, as red, green, blue.
constexpr std::array<std::array<int, 3>, kStateCount> kColours = {{{66, 133, 244},
                                                                   {219, 68, 55},
                                                                   {0, 188, 212},
                                                                   {244, 160, 0},
                                                                   {123, 31, 162},
                                                                   {15, 157, 88},
                                                                   {121, 85, 72},
                                                                   {255, 112, 67},
                                                                   {194, 158, 120},
                                                                   {120, 120, 120},
                                                                   {224, 224, 224},
                                                                   {200, 200, 200},
                                                                   {240, 240, 220},
                                                                   {176, 190, 197},
                                                                   {255, 171, 145},
                                                                   {69, 90, 100}}};

// http://paje.sourceforge.net/download/publication/lang-paje.pdf
constexpr std::string_view kPajeHeader = R"(%EventDef PajeDefineContainerType 0
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineEntityValue 2
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeCreateContainer 3
%  Time date
%  Alias string
%  Type string
%  Container string
%  Name string
%EndEventDef
%EventDef PajeDestroyContainer 4
%  Time date
%  Type string
%  Name string
%EndEventDef
%EventDef PajeSetState 5
%  Time date
%  Type string
%  Container string
%  Value string
%EndEventDef
)";

struct Change {
  double time = 0;
  std::int32_t ipu = 0;
  State state = State::Forward;
};

std::vector<Change> changes_in_order(const Trace& trace, const ExportOptions& options) {
  std::vector<Change> changes;
  for (int ipu = 0; ipu < trace.ipus; ++ipu) {
    visit_ipu(trace, options, ipu, [&changes](const Interval& interval) {
      changes.push_back({interval.start, interval.ipu, interval.state});
    });
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& left, const Change& right) { return left.time < right.time; });
  return changes;
}

void export_paje(const StoredTrace& stored, const ExportOptions& options, const Write& write) {
  const Trace& trace = stored.trace;
  write(kPajeHeader);
  write("0 POD 0 \"Pod\"\n0 IPU POD \"IPU\"\n1 STATE IPU \"State\"\n");
  for (std::size_t state = 0; state < kStateCount; ++state) {
    const auto& [red, green, blue] = kColours[state];
    write(fmt::format("2 S{} STATE \"{}\" \"{:.3f} {:.3f} {:.3f}\"\n", state, kStateNames[state], red / 255.0,
                      green / 255.0, blue / 255.0));
  }
  write(fmt::format("3 0 pod POD 0 {}\n", quoted(stored.name.empty() ? "podsim" : stored.name)));
  for (int ipu = 0; ipu < trace.ipus; ++ipu) write(fmt::format("3 0 ipu{0} IPU pod \"IPU {0}\"\n", ipu));
  for (const Change& change : changes_in_order(trace, options)) {
    write(fmt::format("5 {} STATE ipu{} S{}\n", change.time, change.ipu, index_of(change.state)));
  }
  for (int ipu = 0; ipu < trace.ipus; ++ipu) write(fmt::format("4 {} IPU ipu{}\n", trace.makespan_seconds, ipu));
  write(fmt::format("4 {} POD pod\n", trace.makespan_seconds));
}

}  // namespace

const std::vector<std::string>& export_formats() {
  static const std::vector<std::string> formats = {"chrome", "csv", "paje"};
  return formats;
}

void export_trace(const StoredTrace& stored, const std::string& format, const ExportOptions& options,
                  const Write& write) {
  if (format == "chrome") return export_chrome(stored, options, write);
  if (format == "csv") return export_csv(stored, options, write);
  if (format == "paje") return export_paje(stored, options, write);
  throw UserError("--format", "unknown format \"" + format + "\"", "use chrome, csv or paje");
}

void export_trace_file(const std::string& trace_path, const std::string& format, const ExportOptions& options,
                       const std::string& output_path) {
  const StoredTrace stored = read_trace(trace_path);
  AtomicFile file(output_path);
  export_trace(stored, format, options, [&file](std::string_view text) { file.write(text); });
  file.commit();
}

}  // namespace podsim
