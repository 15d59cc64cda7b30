// What a newcomer does wrong at the command line: one or a few lines that name it, exit code 1, and nothing written.
#include <gmock/gmock.h>

#include "tests/integration/sweep_program.hpp"

namespace podsim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Mistakes : public testing::SweepProgram {
 protected:
  void expect_refused(const std::vector<std::string>& arguments, const std::string& message) {
    const testing::Finished finished = podsim(arguments);
    EXPECT_EQ(finished.exit_code, 1) << finished.err;
    EXPECT_THAT(finished.err, StartsWith("podsim: "));
    EXPECT_THAT(finished.err, HasSubstr(message));
    EXPECT_LE(std::count(finished.err.begin(), finished.err.end(), '\n'), 3);
    EXPECT_EQ(finished.out, "");
  }
};

TEST_F(Mistakes, NamesThatThereAreNot) {
  expect_refused({"describe", "chip", "x"}, "unknown chip \"x\" (known: bow, gc2, gc200)");
  expect_refused({"describe", "workload", "x"}, "unknown workload model \"x\"");
  expect_refused({"topology", "pod5"}, "unknown pod \"pod5\"");
  expect_refused({"runn", "s.json"}, "did you mean run?");
}

TEST_F(Mistakes, FilesThatAreNone) {
  std::ofstream(folder_.file("text.json")) << "hello";
  std::filesystem::create_directory(folder_.file("folder"));
  for (const char* command : {"run", "plan", "schedule", "tune", "config"}) {
    expect_refused({command, "absent.json"}, "absent.json: there is no such file");
    expect_refused({command, "text.json"}, "text.json: line 1, column 1");
    expect_refused({command, "folder"}, "folder: is a folder, not a file");
  }
  expect_refused({"export", "s.json", "--format", "csv", "-o", "x"}, "this is not an HDF5 file");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("x")));
}

TEST_F(Mistakes, NumbersBeyondReason) {
  expect_refused({"run", "s.json", "--set", "runs=1000000000"}, "are too many");
  expect_refused({"run", "s.json", "--set", "dataset_samples=1000000000000"}, "are too many");
  expect_refused({"run", "s.json", "--set", "workload.forward_seconds=-1"}, "forward_seconds");
  expect_refused({"run", "s.json", "--set", "replication_factor=1e300"}, "replication_factor");
}

// A folder that cannot be a cache is refused before a journal is there, which would ask for --resume.
TEST_F(Mistakes, ASweepThatCannotBeginLeavesNothing) {
  expect_refused({"sweep", "s.json", "--vary", "runs=1,2", "-o", "x.csv", "--cache", "s.json"}, "s.json");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("x.csv.partial")));
}

}  // namespace
}  // namespace podsim
