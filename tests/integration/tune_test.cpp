// podsim tune returns the optimum of its space: on small spaces the same as simulating all of it.
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

class TuneProgram : public SweepProgram {
 protected:
  TuneProgram() {
    std::ofstream(folder_.file("bert.json")) << R"({"version": 1, "system": {"pod": "pod4"},
      "workload": {"model": "bert", "micro_batch_size": 2, "sequence_length": 128, "optimizer": "lamb",
        "config": {"model_type": "bert", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8,
          "intermediate_size": 2048, "vocab_size": 8192, "max_position_embeddings": 128, "type_vocab_size": 2}},
      "ipu_config": {"gradient_accumulation_steps": 32, "matmul_proportion": 0.2}})";
    std::ofstream(folder_.file("uneven.json")) << R"({"version": 1, "system": {"pod": "pod16"},
      "workload": {"model": "stage_times", "forward_seconds": [0.001, 0.003, 0.002, 0.001],
        "backward_seconds": [0.002, 0.005, 0.004, 0.003], "output_bytes": 1048576, "weight_bytes": 4194304},
      "ipu_config": {"gradient_accumulation_steps": 64}})";
  }

  Value tune(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"tune"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.emplace_back("--json");
    const Finished finished = podsim(all);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return parse_json(finished.out, "tune");
  }

  void expect_exhaustive_optimum(std::vector<std::string> arguments) {
    const Value pruned = tune(arguments);
    arguments.emplace_back("--exhaustive");
    const Value all = tune(arguments);
    EXPECT_EQ(pruned.at("candidates").integer(), all.at("candidates").integer());
    EXPECT_TRUE(pruned.at("best") == all.at("best")) << to_json(pruned.at("best").array().front().at("configuration"))
                                                     << to_json(all.at("best").array().front().at("configuration"));
  }
};

TEST_F(TuneProgram, ExhaustiveOptimumOfGivenStages) {
  expect_exhaustive_optimum({"uneven.json"});
  expect_exhaustive_optimum({"uneven.json", "--objective", "latency", "--vary", "device_iterations=1,2,4"});
  expect_exhaustive_optimum({"uneven.json", "--set", "workload.mode=inference", "--vary",
                             "inference_device_iterations=4,8,16", "--top", "2"});
}

TEST_F(TuneProgram, ExhaustiveOptimumOfASmallModel) {
  expect_exhaustive_optimum({"bert.json", "--vary", "workload.micro_batch_size=2,8", "--vary", "pipeline_depth=2,4",
                             "--vary", "execution.recomputation=none,every_layer", "--top", "3"});
}

// What tune calls the best of a model's splits is the best of all of them, each simulated by a sweep.
TEST_F(TuneProgram, BestOfAllSplits) {
  constexpr int kLayers = 6;
  std::string axis = "layers_per_ipu=";
  for (int a = 0; a <= kLayers; ++a) {
    for (int b = 0; a + b <= kLayers; ++b) {
      for (int c = 0; a + b + c <= kLayers; ++c) {
        axis += "[" + std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(c) + "," +
                std::to_string(kLayers - a - b - c) + "],";
      }
    }
  }
  axis.pop_back();
  const Finished swept =
      podsim({"sweep", "bert.json", "--vary", axis, "--set", "ipus_per_replica=4", "--set", "schedule=pipelined",
              "--set", "execution.recomputation=stage,optimizer_state_offchip=false", "-o", "all.csv"});
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const CsvTable table = parse_csv(contents_of(folder_.file("all.csv")), "all.csv");
  ASSERT_EQ(table.rows.size(), 84U);
  double best = 0;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& text = table.cell(row, "throughput_samples_per_second");
    if (!text.empty()) best = std::max(best, std::stod(text));
  }
  EXPECT_GT(best, 0);
  const Value tuned = tune({"bert.json", "--vary", "pipeline_depth=4", "--vary", "workload.micro_batch_size=2",
                            "--vary", "execution.recomputation=stage", "--vary", "schedule=pipelined", "--vary",
                            "optimizer_state_offchip=false", "--vary", "replicated_tensor_sharding=false"});
  EXPECT_EQ(tuned.at("best").array().front().at("result").at("throughput_samples_per_second").number(), best);
}

TEST_F(TuneProgram, CtrlCStops) {
  const pid_t child = start({"tune", std::string(PODSIM_SOURCE_DIR) + "/scenarios/bert_large_bow_pod16.json"}, "tune");
  const std::string children = "/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children";
  for (int i = 0; i < 3000 && contents_of(children).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGINT);
  const Finished stopped = finish(child, "tune");
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_EQ(stopped.err, "podsim: tune: stopped (it starts again from the beginning)\n");
}

TEST_F(TuneProgram, TheSameForAnyNumberOfJobs) {
  const Value one = tune({"uneven.json", "--jobs", "1"});
  EXPECT_TRUE(tune({"uneven.json", "--jobs", "3"}) == one);
}

// The winner, written as a scenario, gives what tune said.
TEST_F(TuneProgram, WritesTheWinner) {
  const Value best = tune({"uneven.json", "-o", "best.json"}).at("best").array().front();
  const Value summary = parse_json(podsim({"run", "best.json", "--json"}).out, "run");
  EXPECT_EQ(summary.at("throughput_samples_per_second").number(),
            best.at("result").at("throughput_samples_per_second").number());
}

TEST_F(TuneProgram, SaysWhatLimits) {
  const Finished finished = podsim({"tune", "uneven.json", "--top", "1"});
  EXPECT_THAT(finished.out, HasSubstr("Best of 4 configurations on 16 IPUs with 64 samples for each weight update"));
  EXPECT_THAT(finished.out, HasSubstr("1. "));
  EXPECT_THAT(finished.out, HasSubstr("4 x 4 IPUs, micro-batch 1 x 16"));
  EXPECT_EQ(finished.err, "");
}

// The published pipeline of BERT-Large is in the space; the whole space takes a minute, its four-IPU part suffices
// here.
TEST_F(TuneProgram, AtLeastAsGoodAsThePublishedPipeline) {
  const std::string scenario = std::string(PODSIM_SOURCE_DIR) + "/scenarios/bert_large_bow_pod16.json";
  const Value published = parse_json(podsim({"run", scenario, "--json"}).out, "run");
  const Value best = tune({scenario, "--vary", "pipeline_depth=4", "--vary", "workload.micro_batch_size=8,16", "--vary",
                           "execution.recomputation=stage,every_layer", "--top", "1"});
  EXPECT_GE(best.at("best").array().front().at("result").at("throughput_samples_per_second").number(),
            published.at("throughput_samples_per_second").number());
}

TEST_F(TuneProgram, NothingFits) {
  const Finished finished = podsim({"tune", "bert.json", "--vary", "pipeline_depth=1", "--set",
                                    "workload.config.hidden_size=4096", "--vary", "workload.micro_batch_size=8"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("configurations can run; one of them says: "));
  EXPECT_THAT(finished.err, HasSubstr("out of memory"));
}

}  // namespace
}  // namespace podsim
