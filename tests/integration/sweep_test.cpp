// podsim sweep as a whole: right figures, the same bytes however it runs, and nothing lost when it is interrupted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/app/csv.hpp"
#include "simulator/config/json.hpp"
#include "tests/integration/sweep_program.hpp"

namespace podsim {
namespace {

using testing::contents_of;
using testing::Finished;
using ::testing::HasSubstr;
using testing::SweepProgram;

constexpr double kForward = 1e-3;
constexpr double kBackward = 2.5e-3;

const std::vector<std::string> kAxes = {"--vary", "gradient_accumulation_steps=8,16,12", "--vary",
                                        "pipeline_depth=1,2,4"};
// Enough points to be met at work.
const std::vector<std::string> kLong = {"--vary", "gradient_accumulation_steps=100:400"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

double cell(const CsvTable& table, std::size_t row, const std::string& column) {
  return std::stod(table.cell(row, column));
}

// N stages with forward f and backward b, M micro-batches: M + N - 1 slots of f + b (the first N - 1 forward passes and
// the last N - 1 backward passes make one slot each).
TEST_F(SweepProgram, FiguresAreThoseOfClosedForms) {
  const CsvTable table = parse_csv(sweep(kAxes, "out.csv"), "out.csv");
  ASSERT_EQ(table.rows.size(), 9U);
  std::size_t row = 0;
  for (const int m : {8, 16, 12}) {
    for (const int n : {1, 2, 4}) {
      EXPECT_EQ(table.cell(row, "gradient_accumulation_steps"), std::to_string(m));
      EXPECT_EQ(table.cell(row, "pipeline_depth"), std::to_string(n));
      EXPECT_EQ(table.cell(row, "error"), "");
      const double seconds = (m + n - 1) * (kForward + kBackward);
      EXPECT_NEAR(cell(table, row, "makespan_seconds") / seconds, 1, 1e-9);
      EXPECT_NEAR(cell(table, row, "throughput_samples_per_second") * seconds / m, 1, 1e-9);
      EXPECT_EQ(cell(table, row, "slots_per_update"), m + 2 * n - 2);
      ++row;
    }
  }
}

TEST_F(SweepProgram, ARowIsWhatRunSays) {
  const CsvTable table = parse_csv(sweep({"--vary", "gradient_accumulation_steps=20"}, "out.csv"), "out.csv");
  const Finished run = podsim({"run", "s.json", "--json", "--set", "gradient_accumulation_steps=20"});
  const Value summary = parse_json(run.out, "run");
  for (const char* name : {"throughput_samples_per_second", "weight_update_seconds", "run_seconds", "makespan_seconds",
                           "samples_per_run", "slots_per_update"}) {
    EXPECT_EQ(cell(table, 0, name), summary.at(name).number()) << name;
  }
  EXPECT_EQ(cell(table, 0, "utilization_busy"), summary.at("utilization").at("busy").number());
  for (const auto& [state, seconds] : summary.at("state_seconds").object()) {
    EXPECT_EQ(cell(table, 0, "state_seconds_" + state), seconds.number()) << state;
  }
  EXPECT_EQ(table.cell(0, "bottleneck"), summary.at("bottleneck").text());
}

TEST_F(SweepProgram, SameBytesForAnyNumberOfJobs) {
  for (const char* suffix : {".csv", ".jsonl", ".h5"}) {
    const std::string first = sweep(with(kAxes, {"--jobs", "1"}), std::string("one") + suffix);
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(sweep(with(kAxes, {"--jobs", "2"}), std::string("two") + suffix), first) << suffix;
    EXPECT_EQ(sweep(with(kAxes, {"--jobs", "3"}), std::string("three") + suffix), first) << suffix;
  }
}

TEST_F(SweepProgram, PointsThatCannotRunAreRows) {
  const CsvTable table =
      parse_csv(sweep({"--vary", "replication_factor=4,5", "--vary", "system.pod=pod16,pod3"}, "out.csv"), "out.csv");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.cell(0, "error"), "");
  EXPECT_THAT(table.cell(1, "error"), HasSubstr("pod3"));
  EXPECT_THAT(table.cell(2, "error"), HasSubstr("5 replicas of 4 IPUs need 20 IPUs; pod16 has 16"));
  EXPECT_EQ(table.cell(2, "makespan_seconds"), "");
  EXPECT_EQ(table.cell(2, "bottleneck"), "");
}

// Points share what they have in common (the system of the first one), and no more than that.
TEST_F(SweepProgram, EachPointHasItsOwnPod) {
  const CsvTable table = parse_csv(sweep({"--set", "replication_factor=8", "--vary", "system.pod=pod64,pod16,bow-pod64",
                                          "--vary", "gradient_accumulation_steps=8:12"},
                                         "out.csv"),
                                   "out.csv");
  ASSERT_EQ(table.rows.size(), 15U);
  for (std::size_t row = 0; row < 15; ++row) {
    const bool small = table.cell(row, "system.pod") == "pod16";
    EXPECT_EQ(table.cell(row, "error").find("8 replicas of 4 IPUs need 32 IPUs; pod16 has 16") != std::string::npos,
              small);
    EXPECT_EQ(table.cell(row, "makespan_seconds").empty(), small);
  }
}

TEST_F(SweepProgram, WarnsWhereNothingCanRun) {
  const Finished finished = podsim({"sweep", "s.json", "--vary", "replication_factor=5,6", "-o", "out.csv"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_THAT(finished.err, HasSubstr("warning: none of the points can run; the first one says: "));
  EXPECT_THAT(finished.err, HasSubstr("5 replicas of 4 IPUs need 20 IPUs"));
}

TEST_F(SweepProgram, ZippedKeysChangeTogether) {
  const CsvTable table = parse_csv(
      sweep({"--vary", "replication_factor,gradient_accumulation_steps=1/32,2/16,4/8"}, "out.csv"), "out.csv");
  ASSERT_EQ(table.rows.size(), 3U);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(cell(table, row, "samples_per_run"), 32);
  EXPECT_EQ(table.cell(1, "replication_factor"), "2");
  EXPECT_EQ(table.cell(1, "gradient_accumulation_steps"), "16");
}

TEST_F(SweepProgram, DuplicatesAndStandardOutput) {
  const Finished finished = podsim({"sweep", "s.json", "--vary", "gradient_accumulation_steps=8,9,8", "-o", "-"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const CsvTable table = parse_csv(finished.out, "out");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[0], table.rows[2]);
  EXPECT_NE(table.rows[0], table.rows[1]);
  EXPECT_EQ(finished.err, "");
}

TEST_F(SweepProgram, SweepFile) {
  std::filesystem::create_directory(folder_.file("sub"));
  std::ofstream(folder_.file("sub/sweep.json"))
      << R"({"scenario": "../s.json", "vary": {"gradient_accumulation_steps": [8, 16], "runs": "1:2"},
             "set": {"pipeline_depth": 2}, "output": "named.csv"})";
  const Finished finished = podsim({"sweep", "sub/sweep.json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  const CsvTable table = parse_csv(contents_of(folder_.file("named.csv")), "named.csv");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_NEAR(cell(table, 2, "makespan_seconds") / ((16 + 2 - 1) * (kForward + kBackward)), 1, 1e-9);
  EXPECT_EQ(sweep({"--set", "pipeline_depth=2", "--vary", "gradient_accumulation_steps=8,16", "--vary", "runs=1,2"},
                  "flags.csv"),
            contents_of(folder_.file("named.csv")));
}

TEST_F(SweepProgram, XarrayOpensTheFile) {
  sweep({"--vary", "gradient_accumulation_steps=8,16", "--vary", "system.pod=pod16,pod3", "--vary",
         "runs,device_iterations=1/4,2/2,3/1"},
        "out.h5");
  std::ofstream(folder_.file("read.py")) << R"(import xarray
d = xarray.open_dataset("out.h5", engine="h5netcdf")
t = d.makespan_seconds
assert t.dims == ("gradient_accumulation_steps", "system.pod", "runs"), t.dims
assert list(d["runs"].values) == [1, 2, 3] and list(d["device_iterations"].values) == [4, 2, 1]
assert "device_iterations" in d.coords
v = float(t.sel({"gradient_accumulation_steps": 16, "system.pod": "pod16", "runs": 2}))
assert abs(v / (4 * 19 * 0.0035) - 1) < 1e-9, v
assert t.sel({"system.pod": "pod3"}).isnull().all() and "pod3" in str(d.error.values[0, 1, 0])
assert t.attrs["units"] == "s" and d.attrs["title"] == "uniform stages"
)";
  const Finished finished = finish(start({"read.py"}, "python", {}, PODSIM_PYTHON), "python");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
}

TEST_F(SweepProgram, TimeOutIsAResult) {
  const CsvTable table =
      parse_csv(sweep({"--vary", "runs=1000000", "--no-fast-forward", "--timeout", "0.3"}, "out.csv"), "out.csv");
  EXPECT_EQ(table.cell(0, "error"), "timed out after 0.3 s");
}

TEST_F(SweepProgram, CtrlCStopsAndResumeGoesOn) {
  const std::string whole = sweep(kLong, "whole.csv");
  const std::vector<std::string> arguments = with({"sweep", "s.json", "-o", "out.csv"}, kLong);
  const pid_t child = start(arguments, "first");
  wait_for_rows("out.csv", 10);
  ::kill(child, SIGINT);
  const Finished stopped = finish(child, "first");
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_THAT(stopped.err, ::testing::ContainsRegex("stopped after [0-9]+ of 301 points"));
  EXPECT_THAT(stopped.err, HasSubstr("the same command with --resume goes on"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out.csv")));
  EXPECT_LT(finished_rows("out.csv"), 301U);
  const Finished again = podsim(arguments);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("go on with --resume"));
  EXPECT_TRUE(sweep(with(kLong, {"--resume"}), "out.csv") == whole);
}

// A row that was changed in the journal stays changed: finished points do not run again.
TEST_F(SweepProgram, ResumeDoesNotRepeatAndToleratesDamage) {
  const std::vector<std::string> arguments = with({"sweep", "s.json", "-o", "out.csv"}, kLong);
  const pid_t child = start(arguments, "first");
  wait_for_rows("out.csv", 10);
  ::kill(child, SIGKILL);
  EXPECT_EQ(finish(child, "first").exit_code, 128 + SIGKILL);
  const std::string file = row_files("out.csv").front().string();
  std::string text = contents_of(file);
  const std::string name = "\"makespan_seconds\":";
  const std::size_t begin = text.find(name) + name.size();
  text.replace(begin, text.find(',', begin) - begin, "12345.5");
  text.resize(text.size() - 5);  // the last line, cut off
  std::ofstream(file, std::ios::binary) << text;
  const CsvTable table = parse_csv(sweep(with(kLong, {"--resume"}), "out.csv"), "out.csv");
  ASSERT_EQ(table.rows.size(), 301U);
  std::size_t changed = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.cell(row, "makespan_seconds") == "12345.5") {
      ++changed;
    } else {
      const double seconds = (cell(table, row, "gradient_accumulation_steps") + 3) * (kForward + kBackward);
      EXPECT_NEAR(cell(table, row, "makespan_seconds") / seconds, 1, 1e-9);
    }
  }
  EXPECT_EQ(changed, 1U);
}

TEST_F(SweepProgram, ResumeOfAnotherSweepIsRefused) {
  const pid_t child = start(with({"sweep", "s.json", "-o", "out.csv"}, kLong), "first");
  wait_for_rows("out.csv", 1);
  ::kill(child, SIGKILL);
  (void)finish(child, "first");
  const Finished axes = podsim({"sweep", "s.json", "-o", "out.csv", "--vary", "runs=1", "--resume"});
  EXPECT_THAT(axes.err, HasSubstr("out.csv.partial: belongs to another sweep: it differs in the axes"));
  const Finished scenario = podsim(with({"sweep", "s.json", "-o", "out.csv", "--set", "runs=2", "--resume"}, kLong));
  EXPECT_THAT(scenario.err, HasSubstr("belongs to another sweep: it differs in the scenario"));
}

TEST_F(SweepProgram, CacheIsUsedSharedAndMended) {
  const std::string first = sweep(with(kAxes, {"--cache", "cache"}), "first.csv");
  EXPECT_EQ(first, sweep(kAxes, "plain.csv"));
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.file("cache"))) {
    if (entry.is_regular_file()) entries.push_back(entry.path());
  }
  EXPECT_EQ(entries.size(), 9U);
  std::ofstream(entries[0]) << "damaged";
  std::string text = contents_of(entries[1].string());
  const std::string name = "\"makespan_seconds\":";
  const std::size_t begin = text.find(name) + name.size();
  text.replace(begin, text.find(',', begin) - begin, "12345.5");
  std::ofstream(entries[1], std::ios::binary) << text;
  const std::string second = sweep(with(kAxes, {"--cache", "cache"}), "second.csv");
  EXPECT_THAT(second, HasSubstr(",12345.5,"));
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), std::count(second.begin(), second.end(), '\n'));
  EXPECT_THAT(sweep(with(kAxes, {"--cache", "cache", "--set", "runs=2"}), "third.csv"),
              ::testing::Not(HasSubstr("12345.5")));
}

TEST_F(SweepProgram, ShardsMergeToTheWhole) {
  const std::string whole = sweep(kAxes, "whole.csv");
  for (int k = 1; k <= 4; ++k) {
    (void)sweep(with(kAxes, {"--shard", std::to_string(k) + "/4"}), "part" + std::to_string(k) + ".csv");
  }
  EXPECT_EQ(podsim({"merge", "all.csv", "part2.csv", "part1.csv", "part3.csv", "part4.csv"}).exit_code, 0);
  EXPECT_EQ(contents_of(folder_.file("all.csv")), whole);
  EXPECT_EQ(podsim({"merge", "all.h5", "part2.csv", "part1.csv", "part3.csv", "part4.csv"}).exit_code, 0);
  EXPECT_EQ(contents_of(folder_.file("all.h5")), sweep(kAxes, "whole.h5"));
}

TEST_F(SweepProgram, Messages) {
  const auto message = [&](const std::vector<std::string>& arguments) {
    const Finished finished = podsim(with({"sweep", "s.json"}, arguments));
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  };
  EXPECT_EQ(message({"-o", "a.csv"}),
            "podsim: sweep: nothing varies (give --vary K=V1,V2 (repeatable), or a sweep file with \"vary\")\n");
  EXPECT_EQ(message({"--vary", "runs=1"}), "podsim: sweep: no output is named (give -o OUT.csv, .jsonl or .h5)\n");
  EXPECT_EQ(message({"--vary", "runs=1", "-o", "a.h5", "--shard", "1/2"}),
            "podsim: -o a.h5: a shard is a part for podsim merge, in CSV or JSON lines (write it to a .csv or .jsonl "
            "file; podsim merge writes .h5)\n");
  EXPECT_EQ(message({"--vary", "runs=1", "-o", "-", "--resume"}),
            "podsim: --resume: standard output leaves nothing to go on with (write to a file with -o)\n");
  EXPECT_THAT(message({"--vary", "runs=1", "-o", "nowhere/a.csv"}), HasSubstr("nowhere/a.csv: cannot write this file"));
  EXPECT_THAT(message({"--vary", "runs=1", "-o", "a.csv", "--cache", "s.json"}),
              HasSubstr("--cache s.json: is no folder that can be written"));
  const Finished ranks = finish(start({"sweep", "s.json", "--vary", "runs=1", "-o", "-"}, "ranks",
                                      {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
                                "ranks");
  EXPECT_EQ(ranks.err, "podsim: -o -: several ranks need a file to share (write to a file with -o)\n");
}

TEST_F(SweepProgram, WhatNoPointCouldRunWithIsRefusedAtOnce) {
  const auto message = [&](const std::vector<std::string>& vary, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"sweep", "s.json", "-o", "a.csv"};
    for (const std::string& axis : vary) arguments.insert(arguments.end(), {"--vary", axis});
    const Finished finished = podsim(with(arguments, more));
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_FALSE(std::filesystem::exists(folder_.file("a.csv.partial")));
    return finished.err;
  };
  EXPECT_EQ(message({"runs=1:1e12"}),
            "podsim: --vary runs=1:1e12: the range 1:1e12 has more than 1,000,000 values (for example 1:10, 1:10:+3, "
            "10:1:-3 or 1:64:x2)\n");
  EXPECT_EQ(message({"runs=1:1e6", "device_iterations=1:100"}),
            "podsim: --vary device_iterations=1:100: the sweep has more than 10,000,000 points (vary less, or split it "
            "into several sweeps)\n");
  EXPECT_EQ(message({"runs=1,2", "runs=3"}), "podsim: --vary runs=3: runs is given twice (give it once)\n");
  EXPECT_EQ(message({"runs=1,2"}, {"--set", "runs=3"}),
            "podsim: --vary runs=1,2: runs is given twice (give it once)\n");
  EXPECT_EQ(message({"pipeline_depth=1", "partition.pipeline_depth=2"}),
            "podsim: --vary partition.pipeline_depth=2: partition.pipeline_depth and pipeline_depth set the same value "
            "(give it once)\n");
  EXPECT_EQ(message({"nonsense=1"}),
            "podsim: --vary nonsense=1: unknown key \"nonsense\" (give the dotted path of a scenario value, e.g. "
            "system.pod)\n");
  EXPECT_EQ(message({"runs=1"}, {"--jobs", "0"}),
            "podsim: --jobs: Value 0 not in range 1 to 4096 (see 'podsim --help')\n");
  EXPECT_THAT(message({"runs=1"}, {"--timeout", "0"}),
              HasSubstr("--timeout: Value 0 not in range 0.001000 to 1000000000"));
}

TEST_F(SweepProgram, SweepFilesThatAreWrong) {
  const auto message = [&](const std::string& text) {
    std::ofstream(folder_.file("f.json")) << text;
    const Finished finished = podsim({"sweep", "f.json"});
    EXPECT_EQ(finished.exit_code, 1);
    return finished.err;
  };
  EXPECT_EQ(message(R"({"scenario": "s.json", "vary": {"runs": [1]}, "bogus": 1, "output": "x.csv"})"),
            "podsim: f.json:/bogus: unknown key \"bogus\" (known: scenario, vary, set, output)\n");
  EXPECT_EQ(message(R"({"scenario": "nope.json", "vary": {"runs": [1]}, "output": "x.csv"})"),
            "podsim: nope.json: there is no such file\n");
  EXPECT_EQ(message(R"({"scenario": "s.json", "vary": {"runs": []}, "output": "x.csv"})"),
            "podsim: f.json:/vary/runs: an axis without values (give at least one, or leave it out)\n");
  EXPECT_EQ(message(R"({"scenario": "s.json", "vary": {"runs,device_iterations": [[1]]}, "output": "x.csv"})"),
            "podsim: f.json:/vary/runs,device_iterations/0: 1 values for 2 keys (give one value for each key: "
            "[[1, 2], [2, 4]])\n");
  EXPECT_EQ(message(R"({"scenario": "s.json", "output": "x.csv"})"),
            "podsim: f.json: \"vary\" is missing (Axes: key to values.)\n");
}

// Stands for a full disk: files may not grow beyond 4 KiB. What was written until then is kept.
TEST_F(SweepProgram, AFullDiskStopsAndResumeGoesOn) {
  const std::vector<std::string> axes = {"--vary", "runs=1:30"};
  const Finished full = finish(
      start({"-c", "trap '' XFSZ; ulimit -f 4; exec " PODSIM_PROGRAM " sweep s.json --vary runs=1:30 -o out.csv"},
            "full", {}, "bash"),
      "full");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_THAT(full.err, HasSubstr("cannot be written: File too large (make room, then go on with --resume)"));
  EXPECT_GE(finished_rows("out.csv"), 1U);
  EXPECT_TRUE(sweep(with(axes, {"--resume"}), "out.csv") == sweep(axes, "whole.csv"));
  const Finished temporary = finish(
      start({"sweep", "s.json", "--vary", "runs=1", "-o", "-"}, "temporary", {{"TMPDIR", "/nowhere"}}), "temporary");
  EXPECT_EQ(temporary.exit_code, 1);
  EXPECT_THAT(temporary.err, HasSubstr("(set TMPDIR to another folder)"));
}

TEST_F(SweepProgram, TooManyJobsForTheSystem) {
  const Finished finished =
      finish(start({"-c", "ulimit -n 12; exec " PODSIM_PROGRAM " sweep s.json --vary runs=1:30 --jobs 20 -o out.csv"},
                   "few", {}, "bash"),
             "few");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.err, "podsim: --jobs: no connection to a process: Too many open files (use fewer jobs)\n");
}

}  // namespace
}  // namespace podsim
