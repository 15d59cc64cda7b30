// Intervals against formulas of the parameter that decides, the same bytes for any number of jobs, and the command.
#include "simulator/app/uncertainty.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "simulator/app/data_folder.hpp"
#include "simulator/config/json.hpp"
#include "tests/integration/sweep_program.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One stage, nothing on any link: a host call is its overhead and 2 iterations of 8 micro-batches of 3 ms.
Scenario one_stage(const std::string& host) {
  const std::string text = R"({"version": 1, "system": {"pod": "pod4"},
      "workload": {"model": "stage_times", "stages": 1, "forward_seconds": 0.001, "backward_seconds": 0.002},
      "ipu_config": {"gradient_accumulation_steps": 8, "device_iterations": 2}, "host": )" +
                           host + "}";
  return read_scenario(parse_json(text, "s.json"), ".");
}
constexpr double kComputeSeconds = 2 * 8 * (0.001 + 0.002);
constexpr double kSamples = 2 * 8;

// 30 samples: the second and the last but one are 5% and 95%.
UncertaintySettings settings_with(int jobs) { return {.samples = 30, .seed = 4, .jobs = jobs}; }

// TensorFlow's host call: 1e-3 s, inferred, 1e-4 to 3e-3 s, so that its logarithm is uniform on either side of 1e-3.
// At 5% it is 1/10 of the lower half up from 1e-4, at 95% 9/10 of the upper half up from 1e-3.
TEST(Uncertainty, IntervalIsTheFormulaAtTheEndsOfTheRange) {
  const Uncertainty result =
      sample_uncertainty(one_stage(R"({"framework": "tensorflow", "data": "synthetic"})"), settings_with(2));
  const double low = kComputeSeconds + 1e-4 * std::pow(10, 0.1);
  const double high = kComputeSeconds + 1e-3 * std::pow(3, 0.9);
  ASSERT_NE(result.find("run_seconds"), nullptr);
  EXPECT_NEAR(result.find("run_seconds")->low, low, 1e-12);
  EXPECT_NEAR(result.find("run_seconds")->high, high, 1e-12);
  EXPECT_NEAR(result.find("run_seconds")->median, kComputeSeconds + 1e-3, 5e-5);
  const UncertainFigure& throughput = result.figures.front();
  EXPECT_EQ(throughput.name, "throughput_samples_per_second");
  EXPECT_NEAR(throughput.low, kSamples / high, 1e-9);
  EXPECT_NEAR(throughput.high, kSamples / low, 1e-9);
  EXPECT_NEAR(result.find("utilization_busy")->low, kComputeSeconds / high, 1e-9);
  ASSERT_EQ(throughput.influences.size(), 1U);  // of all the pod's parameters, which have no effect here
  EXPECT_EQ(result.parameters[throughput.influences[0].parameter].name, "call_overhead_tensorflow");
  EXPECT_NEAR(throughput.influences[0].share, 1, 1e-9);
  EXPECT_FALSE(throughput.influences[0].raises);
  EXPECT_GT(result.parameters.size(), 5U);
}

TEST(Uncertainty, NoWidthWhereNoInferredParameterMatters) {
  const Uncertainty result = sample_uncertainty(one_stage(R"({"call_overhead_seconds": 0.5})"), settings_with(2));
  for (const UncertainFigure& figure : result.figures) {
    EXPECT_EQ(figure.low, figure.high) << figure.name;
    EXPECT_TRUE(figure.influences.empty()) << figure.name;
  }
  EXPECT_NEAR(result.find("run_seconds")->median, 0.5 + kComputeSeconds, 1e-12);
  EXPECT_EQ(result.find("peak_tile_bytes"), nullptr);  // no chip model
}

TEST(Uncertainty, TheSeedDecidesAndNotTheJobs) {
  const Scenario scenario = one_stage(R"({"framework": "keras"})");
  const Uncertainty one = sample_uncertainty(scenario, settings_with(1));
  const Uncertainty three = sample_uncertainty(scenario, settings_with(3));
  ASSERT_EQ(one.figures.size(), three.figures.size());
  for (std::size_t i = 0; i < one.figures.size(); ++i) EXPECT_EQ(one.figures[i].samples, three.figures[i].samples);
  UncertaintySettings other = settings_with(1);
  other.seed = 5;
  EXPECT_NE(sample_uncertainty(scenario, other).values, one.values);
}

// With 13 KiB less memory than it has, more code than expected overflows tiles of this one.
TEST(Uncertainty, SamplesThatDoNotFitAreCountedAndTheirMemoryIsKept) {
  const Scenario scenario =
      load_scenario(scenarios_folder() / "bert_large_bow_pod16.json", {{"system.parameters.bytes_per_tile", "570000"}});
  const Uncertainty result = sample_uncertainty(scenario, settings_with(2));
  EXPECT_GT(result.failures(), 0U);
  EXPECT_LT(result.failures(), result.samples());
  const UncertainFigure& throughput = *result.find("throughput_samples_per_second");
  const UncertainFigure& memory = *result.find("peak_tile_bytes");
  for (std::size_t sample = 0; sample < result.samples(); ++sample) {
    const bool fits = memory.samples[sample] <= 570000;
    EXPECT_EQ(result.errors[sample].empty(), fits);
    EXPECT_EQ(std::isfinite(throughput.samples[sample]), fits);
    EXPECT_EQ(result.errors[sample].find("out of memory") != std::string::npos, !fits) << result.errors[sample];
  }
  EXPECT_GT(memory.high, 570000);
}

class UncertaintyProgram : public testing::SweepProgram {
 protected:
  using Finished = testing::Finished;

  Finished run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "s.json", "--set", "host.framework=keras", "--set",
                                         "host.data=synthetic", "--set", "host.call_overhead_seconds=null"});
    return podsim(arguments);
  }
  std::string contents() { return testing::contents_of(folder_.file("t.h5")); }
};

TEST_F(UncertaintyProgram, JsonHasTheFiguresAndIsTheSameForAnyJobs) {
  const Finished one = run({"--uncertainty", "30", "--json", "--jobs", "1"});
  const Finished two = run({"--uncertainty=30", "--json", "--jobs", "2", "--seed", "0"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(one.err, "");
  const auto json = nlohmann::json::parse(one.out);
  const auto& uncertainty = json["uncertainty"];
  const auto& figure = uncertainty["figures"]["throughput_samples_per_second"];
  EXPECT_LT(figure["low"], figure["median"]);
  EXPECT_LT(figure["median"], figure["high"]);
  EXPECT_EQ(figure["unit"], "1/s");
  EXPECT_EQ(uncertainty["samples"], 30);
  EXPECT_EQ(uncertainty["ranking"][0]["parameter"], "software/frameworks/call_overhead_keras");
  EXPECT_TRUE(uncertainty["failures"].empty());
}

TEST_F(UncertaintyProgram, TheScenariosSeedIsTheDefault) {
  const Finished by_scenario = run({"--uncertainty", "20", "--json", "--set", "seed=7"});
  const Finished by_option = run({"--uncertainty", "20", "--json", "--seed", "7"});
  const auto figures = [](const Finished& finished) { return nlohmann::json::parse(finished.out)["uncertainty"]; };
  EXPECT_EQ(figures(by_scenario), figures(by_option));
  EXPECT_EQ(figures(by_option)["seed"], 7);
}

TEST_F(UncertaintyProgram, TextNamesTheParameterAndTheTraceHasTheSamples) {
  const Finished finished = run({"--uncertainty", "-o", "t.h5"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              AllOf(HasSubstr("Uncertainty (64 samples of "), HasSubstr("call_overhead_keras"), HasSubstr("lowers it"),
                    HasSubstr("0.002 to 0.0035 s"), Not(HasSubstr("could not run"))));
  EXPECT_THAT(contents(), HasSubstr("figure_quantile"));
  ASSERT_EQ(run({"-o", "t.h5"}).exit_code, 0);
  EXPECT_THAT(contents(), Not(HasSubstr("figure_quantile")));
}

// Keras' call costs 2.8 ms, inferred 2 to 3.5 ms. An update is 3 slots of 1 ms to fill 4 stages, 8 of 3.5 ms, and 3 of
// 2.5 ms to drain them: 38.5 ms, so 40.5 to 42 ms with the call.
TEST_F(UncertaintyProgram, ValidationCountsMeasuredTimesInsideTheIntervals) {
  std::string scenario = testing::contents_of(folder_.file("s.json"));
  const std::string given = R"("host": {"call_overhead_seconds": 0})";
  scenario.replace(scenario.find(given), given.size(), R"("host": {"framework": "keras", "data": "synthetic"})");
  std::ofstream(folder_.file("keras.json")) << scenario;
  std::ofstream(folder_.file("m.csv")) << "id,family,scenario,weight_update_ms\n"
                                          "inside,f,keras.json,41.5\noutside,f,keras.json,60\n";
  const Finished finished = podsim({"validate", "m.csv", "--uncertainty", "30", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["intervals"]["rows"], 2);
  EXPECT_EQ(json["intervals"]["inside"], 1);
  const double compute = 3 * 0.001 + 8 * 0.0035 + 3 * 0.0025;
  const auto& interval = json["rows"][0]["interval_seconds"];
  EXPECT_NEAR(interval[0].get<double>(), compute + 0.002 + 0.1 * 0.0008, 1e-12);  // 5%: a tenth of the lower half
  EXPECT_NEAR(interval[1].get<double>(), compute + 0.0028 + 0.9 * 0.0007, 1e-12);
  EXPECT_EQ(json["rows"][0]["inside"], true);
  EXPECT_EQ(json["rows"][1]["inside"], false);
}

TEST_F(UncertaintyProgram, Mistakes) {
  const auto complaint = [this](const std::vector<std::string>& arguments) {
    const Finished finished = podsim(arguments);
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  };
  EXPECT_THAT(complaint({"run", "s.json", "--jobs", "2"}), HasSubstr("--jobs requires --uncertainty"));
  EXPECT_THAT(complaint({"run", "s.json", "--seed", "2"}), HasSubstr("--seed requires --uncertainty"));
  EXPECT_THAT(complaint({"run", "s.json", "--uncertainty", "--seed", "-2"}), HasSubstr("--seed"));
  EXPECT_THAT(complaint({"run", "s.json", "--uncertainty", "19"}),
              HasSubstr("--uncertainty: expected a number of samples from 20 to 100000, found \"19\""));
  EXPECT_THAT(complaint({"run", "--uncertainty", "s.json", "--json"}),
              HasSubstr("found \"s.json\"; the file goes before it"));
  EXPECT_THAT(complaint({"run", "s.json", "--uncertainty", "--set", "replication_factor=64"}), HasSubstr("IPUs"));
}

}  // namespace
}  // namespace podsim
