// Digests, headers, tables and parts of sweeps, and the ranks that launchers announce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "simulator/app/csv.hpp"
#include "simulator/app/sha256.hpp"
#include "simulator/app/sweep_merge.hpp"
#include "simulator/app/sweep_ranks.hpp"
#include "simulator/app/sweep_write.hpp"
#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"
#include "tests/unit/output/temporary_folder.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using testing::contents_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

SweepHeader sample_header() {
  SweepHeader header;
  header.name = "test";
  header.scenario = "s";
  header.data = "d";
  header.program = "1";
  header.grid = SweepGrid({parse_axis("runs=1,2,1"), parse_axis("layers_per_ipu=[1,2],[3]")});
  return header;
}

std::vector<std::optional<SweepRow>> sample_rows(const SweepHeader& header) {
  std::vector<std::optional<SweepRow>> rows(header.grid.points());
  const std::vector<bool> runnable = header.runnable();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!runnable[i]) continue;
    rows[i].emplace();
    if (i == 1) {
      rows[i]->error = "too \"big\", by far\n  really";
    } else {
      rows[i]->set("throughput_samples_per_second", 0.1 + static_cast<double>(i));
      rows[i]->bottleneck = "stage 3";
    }
  }
  return rows;
}

// FIPS 180-4's examples, as published by NIST.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(SweepRow, MessagesOnOneLine) {
  EXPECT_EQ(on_one_line("a: b\n  c"), "a: b; c");
  EXPECT_EQ(on_one_line("a\n\nb\n"), "a; b");
}

TEST(SweepRow, JsonKeepsEveryDigit) {
  SweepRow row;
  row.set("run_seconds", 0.1 + 0.2);
  row.error = "why";
  const SweepRow back = row_from(parse_json(to_json(to_value(row), 0), "row"));
  EXPECT_EQ(back.get("run_seconds"), 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(back.get("makespan_seconds")));
  EXPECT_EQ(back.error, "why");
  EXPECT_EQ(back.bottleneck, "");
}

TEST(SweepHeader, RoundTrip) {
  SweepHeader header = sample_header();
  header.shard = {2, 5};
  const SweepHeader back = header_from(parse_json(to_json(to_value(header), 0), "header"));
  EXPECT_EQ(difference(header, back), "");
  EXPECT_EQ(back.shard.index, 2U);
  EXPECT_EQ(back.shard.count, 5U);
  EXPECT_EQ(back.grid.representative(4), header.grid.representative(4));
}

TEST(SweepHeader, Differences) {
  const SweepHeader header = sample_header();
  const auto changed = [&](const std::function<void(SweepHeader&)>& change) {
    SweepHeader other = header;
    change(other);
    return difference(header, other);
  };
  EXPECT_EQ(changed([](SweepHeader& other) { other.scenario = "x"; }), "the scenario");
  EXPECT_EQ(changed([](SweepHeader& other) { other.data = "x"; }), "the data folder");
  EXPECT_EQ(changed([](SweepHeader& other) { other.program = "x"; }), "the version of podsim");
  EXPECT_EQ(changed([](SweepHeader& other) { other.fast_forward = false; }), "--no-fast-forward");
  EXPECT_EQ(changed([](SweepHeader& other) { other.grid = SweepGrid({parse_axis("runs=1")}); }), "the axes");
  EXPECT_EQ(message_of([] { (void)header_from(parse_json("{}", "x.json")); }),
            "x.json: is not written by this version's podsim sweep (run the sweep again)");
}

TEST(SweepFormat, BySuffix) {
  EXPECT_EQ(sweep_format("a.csv"), SweepFormat::Csv);
  EXPECT_EQ(sweep_format("-"), SweepFormat::Csv);
  EXPECT_EQ(sweep_format("a.jsonl"), SweepFormat::JsonLines);
  EXPECT_EQ(sweep_format("a.h5"), SweepFormat::Hdf5);
  EXPECT_EQ(message_of([] { (void)sweep_format("a.txt"); }),
            "-o a.txt: the suffix says no format (use .csv, .jsonl or .h5, or - for CSV on standard output)");
}

TEST(SweepWrite, Csv) {
  const SweepHeader header = sample_header();
  const CsvTable table = parse_csv(sweep_text(header, sample_rows(header), SweepFormat::Csv), "table");
  ASSERT_EQ(table.rows.size(), 6U);
  EXPECT_EQ(table.columns.front(), "runs");
  EXPECT_EQ(table.columns[1], "layers_per_ipu");
  EXPECT_EQ(table.columns.back(), "error");
  EXPECT_EQ(table.cell(0, "layers_per_ipu"), "[1,2]");
  EXPECT_EQ(table.cell(2, "throughput_samples_per_second"), "2.1");
  EXPECT_EQ(table.cell(4, "throughput_samples_per_second"), "0.1");  // equals point 0
  EXPECT_EQ(table.cell(1, "error"), "too \"big\", by far\n  really");
  EXPECT_EQ(table.cell(1, "throughput_samples_per_second"), "");
  EXPECT_EQ(table.cell(0, "bottleneck"), "stage 3");
}

TEST(SweepWrite, JsonLines) {
  const SweepHeader header = sample_header();
  const std::string text = sweep_text(header, sample_rows(header), SweepFormat::JsonLines);
  const Value first = parse_json(text.substr(0, text.find('\n')), "first");
  EXPECT_EQ(first.at("runs").integer(), 1);
  EXPECT_EQ(first.at("layers_per_ipu").array().size(), 2U);
  EXPECT_TRUE(first.at("error").is_null());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
}

class SweepMerge : public ::testing::Test {
 protected:
  std::string part(std::size_t index, std::size_t count, const std::string& name) {
    SweepHeader header = sample_header();
    header.shard = {index, count};
    write_sweep(folder_.file(name), header, sample_rows(sample_header()));
    return folder_.file(name);
  }
  TemporaryFolder folder_;
};

TEST_F(SweepMerge, GivesTheBytesOfTheWhole) {
  const SweepHeader header = sample_header();
  const std::vector<std::string> parts = {part(1, 3, "b.jsonl"), part(0, 3, "a.csv"), part(2, 3, "c.csv"),
                                          part(0, 2, "overlap.csv")};
  for (const char* name : {"all.csv", "all.jsonl", "all.h5"}) {
    merge_parts(folder_.file(name), parts);
    EXPECT_EQ(contents_of(folder_.file(name)), sweep_text(header, sample_rows(header), sweep_format(name))) << name;
  }
}

TEST_F(SweepMerge, Refusals) {
  const std::string a = part(0, 3, "a.csv");
  const std::string out = folder_.file("out.csv");
  EXPECT_EQ(message_of([&] { merge_parts(out, {a}); }),
            "merge: 4 of 6 points are missing, the first is 1 (give all parts)");
  SweepHeader other = sample_header();
  other.shard = {1, 3};
  other.scenario = "x";
  const std::string b = folder_.file("b.csv");
  write_sweep(b, other, sample_rows(sample_header()));
  EXPECT_THAT(message_of([&] {
                merge_parts(out, {a, b});
              }),
              AllOf(HasSubstr(b + ": belongs to another sweep than " + a + ": it differs in the scenario"),
                    HasSubstr("merge parts of one sweep")));
  std::vector<std::optional<SweepRow>> rows = sample_rows(sample_header());
  rows[0]->set("run_seconds", 7);
  other = sample_header();
  other.shard = {0, 2};
  write_sweep(b, other, rows);
  EXPECT_THAT(message_of([&] { merge_parts(out, {a, b}); }), HasSubstr("disagrees with another part on point 0"));
  std::ofstream(b) << "runs,error\n1,\n";
  EXPECT_THAT(message_of([&] { merge_parts(out, {b}); }),
              AllOf(HasSubstr(b + ": is not a part of a sweep"),
                    HasSubstr("parts are written by podsim sweep --shard K/N -o PART")));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(SweepMerge, DamagedParts) {
  const std::string whole = contents_of(part(0, 3, "a.csv"));  // comment, columns, points 0 and 3
  const auto message = [&](const std::string& text) {
    std::ofstream(folder_.file("b.csv")) << text;
    return message_of([&] { merge_parts(folder_.file("out.csv"), {folder_.file("b.csv")}); });
  };
  const std::size_t columns = whole.find('\n') + 1;
  const std::size_t first = whole.find('\n', columns) + 1;
  ASSERT_EQ(whole.substr(first, 2), "0,");
  const auto with_point = [&](const std::string& point) {
    return whole.substr(0, first) + point + whole.substr(first + 1);
  };
  EXPECT_THAT(message(with_point("6")), HasSubstr("b.csv: has a point that the sweep has not (run this part again)"));
  EXPECT_THAT(message(with_point("-1")), HasSubstr("b.csv: \"-1\" is no number of a point (run this part again)"));
  EXPECT_THAT(message(with_point("")), HasSubstr("b.csv: \"\" is no number of a point"));
  EXPECT_THAT(message(whole.substr(0, first) + "0,1,2\n"), HasSubstr("b.csv:2: 3 fields, but the header has "));
  EXPECT_THAT(message(whole.substr(0, columns) + "x" + whole.substr(columns)),
              HasSubstr("b.csv: has no column \"point\" (the first line names the columns)"));
  EXPECT_THAT(message(whole.substr(0, columns)), HasSubstr("b.csv: is empty (the first line names the columns)"));
}

Ranks ranks_from(const std::map<std::string, const char*>& variables) {
  return find_ranks([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(SweepRanks, AsLaunchersAnnounceThem) {
  const Ranks open_mpi = ranks_from({{"OMPI_COMM_WORLD_RANK", "2"},
                                     {"OMPI_COMM_WORLD_SIZE", "8"},
                                     {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                     {"PMIX_NAMESPACE", "77"}});
  EXPECT_EQ(open_mpi.rank, 2);
  EXPECT_EQ(open_mpi.size, 8);
  EXPECT_EQ(open_mpi.on_this_machine, 4);
  EXPECT_THAT(open_mpi.job, HasSubstr("77"));
  EXPECT_EQ(ranks_from({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).size, 2);
  const Ranks slurm =
      ranks_from({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_JOB_ID", "9"}, {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(slurm.rank, 3);
  EXPECT_THAT(slurm.job, HasSubstr("9 0"));
}

TEST(SweepRanks, AloneOtherwise) {
  EXPECT_EQ(ranks_from({}).size, 1);
  EXPECT_EQ(ranks_from({}).job, "");
  EXPECT_EQ(ranks_from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).size, 1);  // the batch script itself
  EXPECT_EQ(ranks_from({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "2"}}).size, 1);
}

}  // namespace
}  // namespace podsim
