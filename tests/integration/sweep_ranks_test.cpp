// Several ranks on one sweep: the same bytes, and nothing lost with a rank that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/sweep_program.hpp"

namespace podsim {
namespace {

using testing::contents_of;
using testing::Environment;
using testing::Finished;
using testing::SweepProgram;

// Enough work to be met at it.
const std::vector<std::string> kLong = {
    "sweep", "s.json", "--vary", "gradient_accumulation_steps=2000:2299", "--no-fast-forward", "--jobs",
    "1",     "-o",     "out.csv"};

class SweepRanksProgram : public SweepProgram {
 protected:
  static Environment rank(int number, int size) {
    return {{"OMPI_COMM_WORLD_RANK", std::to_string(number)},
            {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
            {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(size)},
            {"PMIX_NAMESPACE", folder_name()}};
  }
  static std::string folder_name() { return std::to_string(getpid()); }

  std::string whole() {
    std::string bytes = sweep({kLong.begin() + 2, kLong.end() - 2}, "whole.csv");
    return bytes;
  }

  bool has_mpirun() { return finish(start({"--version"}, "version", {}, "mpirun"), "version").exit_code == 0; }

  Finished mpirun(const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"--allow-run-as-root", "--oversubscribe", "-n", "3"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.push_back(PODSIM_PROGRAM);
    arguments.insert(arguments.end(), kLong.begin(), kLong.end());
    return finish(start(arguments, "mpirun", {}, "mpirun"), "mpirun");
  }
};

TEST_F(SweepRanksProgram, RanksShareASweep) {
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) children.push_back(start(kLong, "rank" + std::to_string(i), rank(i, 3)));
  for (int i = 0; i < 3; ++i) {
    const Finished finished = finish(children[static_cast<std::size_t>(i)], "rank" + std::to_string(i));
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.csv.partial")));
  const std::string bytes = contents_of(folder_.file("out.csv"));
  EXPECT_TRUE(bytes == whole());
}

TEST_F(SweepRanksProgram, OthersGoOnForAKilledRank) {
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) children.push_back(start(kLong, "rank" + std::to_string(i), rank(i, 3)));
  wait_for_rows("out.csv", 20);
  ::kill(children[0], SIGKILL);
  EXPECT_EQ(finish(children[0], "rank0").exit_code, 128 + SIGKILL);
  EXPECT_EQ(finish(children[1], "rank1").exit_code, 0);
  EXPECT_EQ(finish(children[2], "rank2").exit_code, 0);
  EXPECT_TRUE(contents_of(folder_.file("out.csv")) == whole());
}

TEST_F(SweepRanksProgram, ALateRankFindsTheWorkDone) {
  ASSERT_EQ(finish(start(kLong, "early", rank(0, 2)), "early").exit_code, 0);  // waits for the other one for a while
  ASSERT_TRUE(std::filesystem::exists(folder_.file("out.csv.partial")));
  const auto written = std::filesystem::last_write_time(folder_.file("out.csv"));
  EXPECT_EQ(finish(start(kLong, "late", rank(1, 2)), "late").exit_code, 0);
  EXPECT_EQ(std::filesystem::last_write_time(folder_.file("out.csv")), written);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.csv.partial")));
}

TEST_F(SweepRanksProgram, UnderMpirun) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  const Finished finished = mpirun({});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_TRUE(contents_of(folder_.file("out.csv")) == whole());
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.csv.partial")));
}

// By default mpirun ends the whole job when a rank dies, a second later: in that time two ranks could finish the sweep,
// so that they do not begin with it here. With --enable-recovery the others go on.
TEST_F(SweepRanksProgram, UnderMpirunWithAKilledRank) {
  if (!has_mpirun()) GTEST_SKIP() << "mpirun is not installed";
  std::ofstream(folder_.file("rank.sh")) << R"sh(others=$1
shift
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
  "$@" & pid=$!
  while [ "$(cat out.csv.partial/rows-* 2>/dev/null | wc -l)" -lt 20 ];
  do sleep 0.01; done
  kill -9 $pid
  kill -9 $$
fi
if [ "$others" = wait ]; then exec sleep 60; fi
exec "$@"
)sh";
  const Finished killed = mpirun({"bash", "rank.sh", "wait"});
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.csv")));
  EXPECT_GE(finished_rows("out.csv"), 20U);
  std::vector<std::string> resumed = kLong;
  resumed.push_back("--resume");
  EXPECT_EQ(podsim(resumed).exit_code, 0);
  EXPECT_TRUE(contents_of(folder_.file("out.csv")) == whole());

  std::filesystem::remove(folder_.file("out.csv"));
  (void)mpirun({"--enable-recovery", "bash", "rank.sh", "work"});
  EXPECT_TRUE(contents_of(folder_.file("out.csv")) == contents_of(folder_.file("whole.csv")));
}

}  // namespace
}  // namespace podsim
