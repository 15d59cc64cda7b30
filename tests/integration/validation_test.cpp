// The ratchet: predictions of measured systems do not get worse. Lower the bounds when they have become better.
#include "simulator/app/validation.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "simulator/app/csv.hpp"
#include "simulator/app/data_folder.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/config/json.hpp"

namespace podsim {
namespace {

constexpr double kMedian = 0.035;
constexpr double kWorst = 0.17;
// Bounds of families that are predicted well; the others are held by the worst error.
constexpr std::pair<const char*, double> kWorstOfFamily[] = {
    {"ResNet-50", 0.095},   {"BERT MLPerf", 0.05}, {"BERT-Large", 0.05}, {"BERT-Base", 0.01},
    {"BERT SQuAD", 0.09},   {"ViT", 0.06},         {"Conformer", 0.12},  {"SchNet", 0.13},
    {"EfficientNet", 0.03}, {"Keras MNIST", 0.08}, {"PopXL MLP", 0.02},  {"PopTorch MNIST", 0.03}};

TEST(Validation, ErrorsDoNotGrow) {
  const std::filesystem::path folder = scenarios_folder() / "validation";
  const std::vector<Prediction> predictions =
      predict(read_measurements(folder / "measurements.csv"), folder, available_processors());
  for (const Prediction& prediction : predictions) {
    EXPECT_EQ(prediction.error, "") << prediction.measurement.id;
  }
  const std::vector<ErrorStatistics> families = statistics(predictions);
  EXPECT_LE(families.back().median, kMedian);
  EXPECT_LE(families.back().worst, kWorst);
  for (const auto& [name, bound] : kWorstOfFamily) {
    for (const ErrorStatistics& family : families) {
      if (family.name == name) {
        EXPECT_LE(family.worst, bound) << name;
      }
    }
  }
}

// Rows on which nothing was chosen.
TEST(Validation, HeldOutRowsArePredicted) {
  const std::filesystem::path folder = scenarios_folder() / "validation" / "held_out";
  const std::vector<Prediction> predictions =
      predict(read_measurements(folder / "measurements.csv"), folder, available_processors());
  for (const Prediction& prediction : predictions) EXPECT_EQ(prediction.error, "") << prediction.measurement.id;
  const ErrorStatistics all = statistics(predictions).back();
  EXPECT_EQ(all.rows, 7U);
  EXPECT_LE(all.median, 0.04);
  EXPECT_LE(all.worst, 0.28);
}

class ValidationScenarios : public ::testing::TestWithParam<const char*> {};

TEST_P(ValidationScenarios, SayWhereTheirRowIsFromAndWhatIsInferred) {
  const std::filesystem::path folder = scenarios_folder() / GetParam();
  const CsvTable table = read_csv(folder / "measurements.csv");
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const Value scenario = read_json(folder / table.cell(row, "scenario"));
    const std::string& description = scenario.at("description").text();
    for (const std::string& part :
         {"Source: " + table.cell(row, "source"), std::string(" Inferred: "), std::string(" Chosen here: ")}) {
      EXPECT_NE(description.find(part), std::string::npos) << table.cell(row, "id") << ": " << part;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, ValidationScenarios, ::testing::Values("validation", "validation/held_out"));

}  // namespace
}  // namespace podsim
