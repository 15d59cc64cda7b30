// Measurements are read strictly, and errors are what their definitions say.
#include "simulator/app/validation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "simulator/app/csv.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Prediction row(const std::string& id, const std::string& family, double measured, double predicted) {
  Prediction prediction;
  prediction.measurement = {id, family, "", measured};
  prediction.predicted_seconds = predicted;
  return prediction;
}

TEST(Csv, QuotedFieldsHoldCommasQuotesAndLines) {
  const CsvTable table = parse_csv("a,b\r\n\"1,2\",\"say \"\"x\"\"\nhere\"\n", "t.csv");
  EXPECT_THAT(table.columns, ElementsAre("a", "b"));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.cell(0, "a"), "1,2");
  EXPECT_EQ(table.cell(0, "b"), "say \"x\"\nhere");
}

TEST(Csv, SaysWhatIsWrong) {
  EXPECT_THAT(message_of([] { (void)parse_csv("", "t.csv"); }), HasSubstr("t.csv: is empty"));
  EXPECT_THAT(message_of([] { (void)parse_csv("a,b\n1\n", "t.csv"); }), HasSubstr("t.csv:2: 1 fields"));
  EXPECT_THAT(message_of([] { (void)parse_csv("a\n\"x\n", "t.csv"); }), HasSubstr("a quote is not closed"));
  EXPECT_THAT(message_of([] { (void)parse_csv("a\n1\n", "t.csv").cell(0, "c"); }), HasSubstr("no column \"c\""));
}

TEST(Validation, ErrorsOfAFamilyAreMedianAndWorst) {
  const std::vector<Prediction> rows = {row("a", "f", 1, 1.1), row("b", "f", 1, 0.7), row("c", "f", 1, 1.2),
                                        row("d", "g", 2, 2)};
  const std::vector<ErrorStatistics> errors = statistics(rows);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_EQ(errors[0].name, "f");
  EXPECT_NEAR(errors[0].median, 0.2, 1e-12);
  EXPECT_NEAR(errors[0].worst, 0.3, 1e-12);
  EXPECT_EQ(errors[2].name, "all");
  EXPECT_EQ(errors[2].rows, 4);
  EXPECT_NEAR(errors[2].median, 0.15, 1e-12);
}

// Widths 0.4, 0.2 and 0.5 of the predictions; the second measured time is below its interval, the last has none.
TEST(Validation, CoverageCountsMeasuredTimesInsideTheirIntervals) {
  std::vector<Prediction> rows = {row("a", "f", 1, 1), row("b", "f", 0.8, 1), row("c", "g", 3, 2), row("d", "g", 1, 1)};
  EXPECT_EQ(coverage(rows).rows, 0);
  EXPECT_THAT(validation_text(rows), Not(HasSubstr("5% to 95%")));
  EXPECT_EQ(validation_value(rows).find("intervals"), nullptr);
  rows[0].interval = {0.8, 1.2};
  rows[1].interval = {0.9, 1.1};
  rows[2].interval = {2, 3};
  const Coverage covered = coverage(rows);
  EXPECT_EQ(covered.rows, 3);
  EXPECT_EQ(covered.inside, 2);
  EXPECT_NEAR(covered.median_width, 0.4, 1e-12);
  EXPECT_THAT(validation_text(rows), HasSubstr("2 of 3 measured times lie between 5% and 95% of their samples (median "
                                               "width 40%)"));
  const Value value = validation_value(rows);
  EXPECT_EQ(value.at("intervals").at("inside").integer(), 2);
  EXPECT_EQ(value.at("rows").array()[1].at("inside").boolean(), false);
  EXPECT_EQ(value.at("rows").array()[2].at("interval_seconds").array()[1].number(), 3);
  EXPECT_EQ(value.at("rows").array()[3].find("inside"), nullptr);
}

TEST(Validation, RatiosAreAgainstTheFirstRowOfAFamily) {
  const std::vector<RatioError> ratios = ratio_errors({row("a", "f", 1, 2), row("b", "f", 4, 6), row("c", "g", 1, 1)});
  ASSERT_EQ(ratios.size(), 1U);
  EXPECT_DOUBLE_EQ(ratios[0].measured, 4);
  EXPECT_DOUBLE_EQ(ratios[0].predicted, 3);
  EXPECT_DOUBLE_EQ(ratios[0].relative_error(), -0.25);
}

TEST(Validation, ARowThatCannotRunIsAnErrorOfOne) {
  Prediction failed = row("a", "f", 1, 0);
  failed.error = "out of memory";
  EXPECT_DOUBLE_EQ(statistics({failed}).back().worst, 1);
  EXPECT_THAT(validation_text({failed}), HasSubstr("out of memory"));
}

TEST(Validation, MeasurementsArePositiveNumbers) {
  const std::string file = ::testing::TempDir() + "measured.csv";
  std::ofstream(file) << "id,family,scenario,weight_update_ms\nx,f,x.json,fast\n";
  EXPECT_THAT(message_of([&] { (void)read_measurements(file); }), HasSubstr(":2: \"fast\" is not a positive number"));
  std::ofstream(file) << "id,family,scenario,weight_update_ms\n";
  EXPECT_THAT(message_of([&] { (void)read_measurements(file); }), HasSubstr("holds no measurements"));
}

}  // namespace
}  // namespace podsim
