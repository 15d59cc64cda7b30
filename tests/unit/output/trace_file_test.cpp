// The trace file: what goes in comes out, the same bytes every time, and failures leave nothing behind.
#include "simulator/output/trace_file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>

#include "simulator/core/error.hpp"
#include "simulator/output/atomic_file.hpp"
#include "tests/unit/output/sample_content.hpp"
#include "tests/unit/output/temporary_folder.hpp"

namespace podsim {
namespace {

using testing::contents_of;
using ::testing::HasSubstr;
using testing::SampleContent;
using testing::TemporaryFolder;

void expect_user_error(const std::function<void()>& action, const std::string& where, const std::string& problem) {
  try {
    action();
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(error.where(), where);
    EXPECT_THAT(error.problem(), HasSubstr(problem));
    EXPECT_FALSE(error.remedy().empty());
  }
}

TEST(TraceFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  SampleContent sample;
  sample.trace.repeats = {{0.125, 0.03125, 7, 3}, {0.25, 0.1, 2, 12}};
  const std::string path = folder.file("trace.h5");
  write_trace(path, sample.content());
  EXPECT_EQ(folder.entries(), 1U);
  const StoredTrace stored = read_trace(path);
  EXPECT_EQ(stored.name, "sample");
  EXPECT_EQ(stored.trace.ipus, 8);
  EXPECT_EQ(stored.trace.makespan_seconds, sample.trace.makespan_seconds);
  EXPECT_EQ(stored.trace.intervals.ipu, sample.trace.intervals.ipu);
  EXPECT_EQ(stored.trace.intervals.state, sample.trace.intervals.state);
  EXPECT_EQ(stored.trace.intervals.stage, sample.trace.intervals.stage);
  EXPECT_EQ(stored.trace.intervals.micro_batch, sample.trace.intervals.micro_batch);
  EXPECT_EQ(stored.trace.intervals.start, sample.trace.intervals.start);
  EXPECT_EQ(stored.trace.intervals.end, sample.trace.intervals.end);
  ASSERT_EQ(stored.trace.repeats.size(), 2U);
  EXPECT_EQ(stored.trace.repeats[0].period, 0.03125);
  EXPECT_EQ(stored.trace.repeats[0].count, 7);
  EXPECT_EQ(stored.trace.repeats[1].micro_batches, 12);
  ASSERT_EQ(stored.trace.queues.size(), 3U);
  EXPECT_EQ(stored.trace.queues[1].depth, 2);
}

TEST(TraceFile, SameContentSameBytes) {
  const SampleContent first, second;
  EXPECT_EQ(trace_image(first.content()), trace_image(second.content()));
}

TEST(TraceFile, ReplacesAnOlderFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.h5");
  std::ofstream(path) << "old";
  const SampleContent sample;
  write_trace(path, sample.content());
  EXPECT_EQ(read_trace(path).name, "sample");
}

TEST(TraceFile, WithoutIntervalsTilesAndMemory) {
  const TemporaryFolder folder;
  SampleContent sample;
  sample.trace.intervals = {};
  sample.trace.links.clear();
  sample.trace.queues.clear();
  TraceContent content = sample.content();
  content.tiles = nullptr;
  content.memory = nullptr;
  const std::vector<char> without = trace_image(content);
  const TileTable no_tiles;
  const MemoryTable no_memory;
  content.tiles = &no_tiles;
  content.memory = &no_memory;
  EXPECT_TRUE(trace_image(content) == without);
  write_trace(folder.file("trace.h5"), content);
  EXPECT_EQ(read_trace(folder.file("trace.h5")).trace.intervals.size(), 0U);
}

TEST(TraceFile, AbsentFolder) {
  const SampleContent sample;
  const std::string path = "/no/such/folder/trace.h5";
  expect_user_error([&] { write_trace(path, sample.content()); }, path, "No such file or directory");
  expect_user_error([&] { check_writable(path); }, path, "No such file or directory");
}

TEST(TraceFile, AFolderInItsPlace) {
  const TemporaryFolder folder;
  const std::string path = folder.file("");
  expect_user_error([&] { check_writable(path); }, path, "Is a directory");
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(TraceFile, CheckingLeavesNothingBehindAndNothingChanged) {
  const TemporaryFolder folder;
  check_writable(folder.file("new.h5"));
  EXPECT_EQ(folder.entries(), 0U);
  std::ofstream(folder.file("old.h5")) << "old";
  check_writable(folder.file("old.h5"));
  EXPECT_EQ(contents_of(folder.file("old.h5")), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(TraceFile, FollowsLinksAndKeepsThem) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("real")) << "old";
  std::filesystem::create_symlink(folder.file("real"), folder.file("link"));
  AtomicFile file(folder.file("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(contents_of(folder.file("real")), "new");
}

TEST(TraceFile, WritesToDevicesDirectly) {
  const SampleContent sample;
  write_trace("/dev/null", sample.content());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_FALSE(std::filesystem::exists("/dev/null.tmp"));
}

// A limit on file sizes acts like a full disk; in a child, since the limit holds for the whole process.
TEST(TraceFile, FullDiskLeavesNothingBehind) {
  const TemporaryFolder folder;
  const std::string path = folder.file("trace.h5");
  std::ofstream(path) << "old";
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int result = 1;
    try {
      const SampleContent sample;
      write_trace(path, sample.content());
    } catch (const UserError& error) {
      if (error.where() == path && error.problem() == "cannot write this file: File too large") result = 0;
    }
    ::_exit(result);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_EQ(contents_of(path), "old");
}

TEST(TraceFile, FullDeviceIsAnError) {
  expect_user_error(
      [] {
        AtomicFile file("/dev/full");
        file.write("text");
        file.commit();
      },
      "/dev/full", "No space left on device");
}

TEST(TraceReader, RefusesWhatIsNoTrace) {
  const TemporaryFolder folder;
  const std::string absent = folder.file("absent.h5");
  expect_user_error([&] { (void)read_trace(absent); }, absent, "cannot read this file: No such file");
  const std::string text = folder.file("text.h5");
  std::ofstream(text) << "not HDF5";
  expect_user_error([&] { (void)read_trace(text); }, text, "this is not an HDF5 file");
  const std::string cut = folder.file("cut.h5");
  const SampleContent sample;
  write_trace(cut, sample.content());
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
  expect_user_error([&] { (void)read_trace(cut); }, cut, "truncated");
}

}  // namespace
}  // namespace podsim
