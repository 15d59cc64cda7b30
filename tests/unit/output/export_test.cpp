// Exports of a two-IPU trace, word by word, and agreement of the formats.
#include "simulator/output/export.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "simulator/core/error.hpp"
#include "simulator/trace/repeats.hpp"
#include "tests/unit/output/sample_content.hpp"
#include "tests/unit/output/temporary_folder.hpp"

namespace podsim {
namespace {

using testing::contents_of;
using ::testing::HasSubstr;
using testing::SampleContent;
using testing::TemporaryFolder;

// IPU 0 runs a forward pass of 1 s four times, three of them a repeated window; IPU 1 waits, then works once.
StoredTrace small() {
  StoredTrace stored;
  stored.name = "small \"test\"";
  Trace& trace = stored.trace;
  trace.ipus = 2;
  trace.makespan_seconds = 4.5;
  trace.intervals.ipu = {0, 0, 1, 1};
  trace.intervals.state = {State::Forward, State::HostCall, State::RampUp, State::Backward};
  trace.intervals.stage = {0, -1, -1, 1};
  trace.intervals.micro_batch = {0, -1, -1, 2};
  trace.intervals.start = {0, 4, 0, 4};
  trace.intervals.end = {1, 4.5, 1, 4.5};
  trace.repeats = {{1, 1, 3, 1}};
  trace.queues = {{0, 1, 0.5, 2}};
  return stored;
}

std::string exported(const StoredTrace& stored, const std::string& format, bool expand = true) {
  std::string text;
  export_trace(stored, format, {expand}, [&text](std::string_view piece) { text += piece; });
  return text;
}

TEST(Export, Csv) {
  EXPECT_EQ(exported(small(), "csv"),
            "ipu,state,stage,micro_batch,start_seconds,end_seconds\n"
            "0,forward,0,0,0,1\n"
            "0,forward,0,1,1,2\n"
            "0,forward,0,2,2,3\n"
            "0,forward,0,3,3,4\n"
            "0,host_call,-1,-1,4,4.5\n"
            "1,ramp_up,-1,-1,0,4\n"
            "1,backward,1,2,4,4.5\n");
}

TEST(Export, CsvWithoutExpansion) {
  EXPECT_EQ(exported(small(), "csv", false),
            "ipu,state,stage,micro_batch,start_seconds,end_seconds\n"
            "0,forward,0,0,0,1\n"
            "0,host_call,-1,-1,4,4.5\n"
            "1,ramp_up,-1,-1,0,1\n"
            "1,backward,1,2,4,4.5\n");
}

TEST(Export, Chrome) {
  const auto json = nlohmann::json::parse(exported(small(), "chrome"));
  EXPECT_EQ(json["displayTimeUnit"], "ns");
  const auto& events = json["traceEvents"];
  ASSERT_EQ(events.size(), 3U + 7U + 1U);
  EXPECT_EQ(events[0]["args"]["name"], "small \"test\"");
  EXPECT_EQ(events[2]["args"]["name"], "IPU 1");
  EXPECT_EQ(events[5], nlohmann::json::parse(R"({"ph": "X", "pid": 0, "tid": 0, "ts": 2000000.0, "dur": 1000000.0,
      "name": "forward 2", "cat": "forward", "args": {"stage": 0, "micro_batch": 2}})"));
  EXPECT_EQ(events[10]["ph"], "C");
  EXPECT_EQ(events[10]["args"]["depth"], 2);
}

TEST(Export, Paje) {
  const std::string text = exported(small(), "paje");
  const std::size_t body = text.find("3 0 pod");
  ASSERT_NE(body, std::string::npos);
  EXPECT_EQ(text.substr(body),
            "3 0 pod POD 0 \"small \\\"test\\\"\"\n"
            "3 0 ipu0 IPU pod \"IPU 0\"\n"
            "3 0 ipu1 IPU pod \"IPU 1\"\n"
            "5 0 STATE ipu0 S0\n"
            "5 0 STATE ipu1 S10\n"
            "5 1 STATE ipu0 S0\n"
            "5 2 STATE ipu0 S0\n"
            "5 3 STATE ipu0 S0\n"
            "5 4 STATE ipu0 S9\n"
            "5 4 STATE ipu1 S1\n"
            "4 4.5 IPU ipu0\n"
            "4 4.5 IPU ipu1\n"
            "4 4.5 POD pod\n");
  EXPECT_THAT(text.substr(0, body), HasSubstr("%EventDef PajeSetState 5"));
}

TEST(Export, FileToFile) {
  const TemporaryFolder folder;
  const SampleContent sample;
  write_trace(folder.file("trace.h5"), sample.content());
  export_trace_file(folder.file("trace.h5"), "csv", {}, folder.file("trace.csv"));
  const std::string text = contents_of(folder.file("trace.csv"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            1 + expand_repeats(sample.trace).size());
}

TEST(Export, UnknownFormat) {
  try {
    (void)exported(small(), "svg");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(error.where(), "--format");
    EXPECT_EQ(error.problem(), "unknown format \"svg\"");
    EXPECT_EQ(error.remedy(), "use chrome, csv or paje");
  }
  EXPECT_THAT(export_formats(), ::testing::ElementsAre("chrome", "csv", "paje"));
}

}  // namespace
}  // namespace podsim
