// The journal under everything that can happen to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "simulator/app/sweep_journal.hpp"
#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"
#include "tests/unit/output/temporary_folder.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

SweepHeader sample_header(const std::string& axis = "runs=1:5") {
  SweepHeader header;
  header.grid = SweepGrid({parse_axis(axis)});
  header.scenario = "s";
  return header;
}

std::string sample_row(double run_seconds) {
  SweepRow row;
  row.set("run_seconds", run_seconds);
  return to_json(to_value(row), 0);
}

class SweepJournalTest : public ::testing::Test {
 protected:
  // In a process of its own, which ends by kill -9 where `killed`.
  void in_process(const std::function<void()>& work, bool killed = false) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      if (killed) ::kill(getpid(), SIGKILL);
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!killed) {
      EXPECT_EQ(status, 0);
    }
  }
  void run_some(int count, bool resume = false) {
    SweepJournal journal(path(), sample_header(), {}, resume);
    for (int i = 0; i < count; ++i) {
      const std::optional<std::size_t> point = journal.claim();
      ASSERT_TRUE(point);
      journal.record(*point, sample_row(static_cast<double>(*point)));
    }
  }
  std::string path() { return folder_.file("out.csv.partial"); }
  std::string rows_file() {
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (entry.path().filename().string().starts_with("rows-")) return entry.path().string();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(SweepJournalTest, HandsOutEachPointOnce) {
  SweepJournal journal(path(), sample_header("runs=1,2,1,3"), {}, false);
  EXPECT_EQ(journal.points(), 3U);
  std::vector<std::size_t> points;
  while (const auto point = journal.claim()) points.push_back(*point);
  EXPECT_THAT(points, ::testing::ElementsAre(0, 1, 3));
  EXPECT_FALSE(journal.complete());
  for (const std::size_t point : points) journal.record(point, sample_row(1));
  EXPECT_TRUE(journal.complete());
  EXPECT_TRUE(journal.claim_output());
  journal.set_output_written();
  EXPECT_FALSE(journal.claim_output());
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SweepJournalTest, GoesOnAfterKill) {
  in_process(
      [&] {
        run_some(2);
        ::kill(getpid(), SIGKILL);
      },
      true);
  SweepJournal journal(path(), sample_header(), {}, true);
  EXPECT_EQ(journal.done(), 2U);
  EXPECT_EQ(journal.claim(), 2U);
  EXPECT_EQ(journal.rows()[1]->get("run_seconds"), 1);
}

TEST_F(SweepJournalTest, DamagedRowsRunAgain) {
  in_process([&] { run_some(4); });
  const std::string name = rows_file();
  std::string text = testing::contents_of(name);
  text.resize(text.size() - 10);  // the last line cut off
  const std::size_t second = text.find('\n') + 1;
  text[second] = '#';  // the second one damaged
  std::ofstream(name, std::ios::binary) << text;
  SweepJournal journal(path(), sample_header(), {}, true);
  EXPECT_EQ(journal.done(), 2U);
  EXPECT_EQ(journal.claim(), 1U);
  EXPECT_EQ(journal.claim(), 3U);
  EXPECT_EQ(journal.claim(), 4U);
}

TEST_F(SweepJournalTest, PointsOfAKilledProcessAreFreeAgain) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const Ranks second{1, 2, 2, "job"};
  const pid_t child = fork();
  if (child == 0) {
    SweepJournal journal(path(), sample_header(), Ranks{0, 2, 2, "job"}, false);
    while (journal.claim()) {
    }
    (void)!write(ready[1], "x", 1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  SweepJournal journal(path(), sample_header(), second, false);
  EXPECT_FALSE(journal.claim());
  EXPECT_FALSE(journal.complete());
  ::kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(journal.claim(), 2U);  // rank 1 of 2 starts in the middle
}

TEST_F(SweepJournalTest, RanksShareThePoints) {
  SweepJournal first(path(), sample_header("runs=1:100"), Ranks{0, 2, 2, "job"}, false);
  EXPECT_EQ(first.claim(), 0U);
  in_process([&] {
    SweepJournal journal(path(), sample_header("runs=1:100"), Ranks{1, 2, 2, "job"}, false);
    EXPECT_EQ(journal.claim(), 50U);
    journal.record(50, sample_row(50));
  });
  EXPECT_EQ(first.done(), 1U);
  EXPECT_EQ(first.rows()[50]->get("run_seconds"), 50);
}

TEST_F(SweepJournalTest, RefusesWhatIsNotItsOwn) {
  in_process([&] { run_some(2); });
  EXPECT_THAT(message_of([&] { SweepJournal(path(), sample_header(), {}, false); }),
              AllOf(HasSubstr(path() + ": holds an interrupted sweep with 2 of 5 points finished"),
                    HasSubstr("go on with --resume, or remove it")));
  EXPECT_THAT(message_of([&] { SweepJournal(path(), sample_header("runs=1:6"), {}, true); }),
              AllOf(HasSubstr(path() + ": belongs to another sweep: it differs in the axes"),
                    HasSubstr("remove it, or write to another output")));
  SweepHeader part = sample_header();
  part.shard = {1, 2};
  EXPECT_THAT(message_of([&] { SweepJournal(path(), part, {}, true); }), HasSubstr("it differs in --shard"));
  EXPECT_THAT(message_of([&] { SweepJournal("/nowhere/out.partial", sample_header(), {}, true); }),
              HasSubstr("/nowhere/out.partial: cannot be made: No such file or directory"));
  std::ofstream(folder_.file("file")) << "x";
  EXPECT_THAT(message_of([&] { SweepJournal(folder_.file("file"), sample_header(), {}, true); }),
              HasSubstr("a file has this name"));
}

TEST_F(SweepJournalTest, AFinishedOneDoesNotStandInTheWay) {
  in_process([&] {
    SweepJournal journal(path(), sample_header(), {}, false);
    journal.set_output_written();
  });
  SweepJournal journal(path(), sample_header("runs=1:3"), {}, false);
  EXPECT_EQ(journal.done(), 0U);
  EXPECT_FALSE(journal.output_written());
}

TEST_F(SweepJournalTest, ForgottenPointsRunAgain) {
  SweepJournal journal(path(), sample_header(), {}, false);
  const auto point = journal.claim();
  journal.record(*point, sample_row(1));
  journal.forget(*point);
  EXPECT_EQ(journal.done(), 0U);
}

}  // namespace
}  // namespace podsim
