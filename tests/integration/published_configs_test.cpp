// Unmodified ipu_config.json files of Graphcore's organisation on the Hugging Face Hub, as `podsim run` and `podsim
// config` take them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "simulator/app/data_folder.hpp"
#include "simulator/config/json.hpp"
#include "tests/integration/sweep_program.hpp"

namespace podsim {
namespace {

using testing::Finished;
using ::testing::HasSubstr;

struct Published {
  std::string config, model, model_config, options, pod;
  std::int64_t replicas, accumulation, iterations;
};

const Published kPublished[] = {
    {"ipu-bert-large", "bert", "bert-large-uncased", R"("task": "squad", "sequence_length": 384)", "pod4", 1, 16, 1},
    {"bert-large-pod16-pretraining", "bert", "bert-large-uncased", R"("task": "pretraining", "sequence_length": 128)",
     "pod16", 4, 2048, 1},
    {"bert-large-pod64-pretraining", "bert", "bert-large-uncased", R"("task": "pretraining", "sequence_length": 128)",
     "pod64", 16, 512, 1},
    {"ipu-gpt2-medium", "gpt2", "gpt2-medium", R"("sequence_length": 128)", "pod16", 4, 16, 2},
    {"ipu-vit-base", "vit", "vit-base-patch16-224", R"("micro_batch_size": 1)", "pod4", 1, 128, 1},
};

class PublishedConfigs : public testing::SweepProgram {
 protected:
  static std::string place(const std::string& name) {
    return (scenarios_folder() / "configs" / (name + ".json")).string();
  }
  Finished run(const std::string& config, const std::string& model, const std::string& model_config,
               const std::string& options, const std::string& pod) {
    std::ofstream(folder_.file("published.json"))
        << R"({"version": 1, "system": {"pod": ")" << pod << R"("}, "workload": {"model": ")" << model
        << R"(", "optimizer": "adamw", "config": ")" << place(model_config) << R"(", )" << options
        << R"(}, "ipu_config": ")" << place(config) << R"(", "allow_out_of_memory": true})";
    return podsim({"run", "published.json", "--json"});
  }
};

TEST_F(PublishedConfigs, RunAsTheyAre) {
  for (const Published& published : kPublished) {
    const Finished finished =
        run(published.config, published.model, published.model_config, published.options, published.pod);
    ASSERT_EQ(finished.exit_code, 0) << published.config << ": " << finished.err;
    const Value summary = parse_json(finished.out, published.config);
    EXPECT_EQ(summary.at("replicas").integer(), published.replicas) << published.config;
    EXPECT_EQ(summary.at("ipus_per_replica").integer(), 4) << published.config;
    EXPECT_EQ(summary.at("batch_size_factor").integer(),
              published.replicas * published.accumulation * published.iterations)
        << published.config;
    // executable_cache_dir: compiled once, loaded later. Optimiser state in streaming memory.
    EXPECT_TRUE(summary.at("startup").contains("load_seconds")) << published.config;
    EXPECT_GT(summary.at("state_seconds").at("remote_memory").number(), 0) << published.config;
  }
}

// The older form: numbers of replicas for each pod type. 21 layers on [9, 4, 4, 4].
TEST_F(PublishedConfigs, PodTypesFollowThePod) {
  for (const auto& [pod, replicas] : std::map<std::string, int>{{"pod4", 1}, {"pod16", 4}, {"bow-pod64", 16}}) {
    std::ofstream(folder_.file("layers21.json")) << R"({"model_type": "bert", "hidden_size": 256,
      "intermediate_size": 1024, "num_attention_heads": 4, "num_hidden_layers": 21, "vocab_size": 1000,
      "max_position_embeddings": 64, "type_vocab_size": 2})";
    std::ofstream(folder_.file("published.json"))
        << R"({"version": 1, "system": {"pod": ")" << pod
        << R"("}, "workload": {"model": "bert", "config": "layers21.json", "task": "squad", "sequence_length": 64},
             "ipu_config": ")"
        << place("ipu-wav2vec2-ctc-base-pod-types") << R"("})";
    const Finished finished = podsim({"run", "published.json", "--json"});
    ASSERT_EQ(finished.exit_code, 0) << pod << ": " << finished.err;
    EXPECT_EQ(parse_json(finished.out, pod).at("replicas").integer(), replicas) << pod;
  }
}

TEST_F(PublishedConfigs, ShowTheirResolvedFormWhichReadsBackEqual) {
  for (const Published& published : kPublished) {
    const Finished first = podsim({"config", place(published.config)});
    ASSERT_EQ(first.exit_code, 0) << first.err;
    std::ofstream(folder_.file("resolved.json")) << first.out;
    const Finished second = podsim({"config", "resolved.json"});
    EXPECT_EQ(second.out, first.out) << published.config;
    const Finished options = podsim({"config", place(published.config), "--options"});
    EXPECT_THAT(options.out, HasSubstr("replicationFactor")) << published.config;
  }
}

TEST_F(PublishedConfigs, WithoutAnEntryForThePodAreRefused) {
  std::ofstream(folder_.file("few.json")) << R"({"replication_factor": {"pod4": 1}, "layers_per_ipu": [12, 12]})";
  std::ofstream(folder_.file("published.json"))
      << R"({"version": 1, "system": {"pod": "pod16"}, "workload": {"model": "bert"}, "ipu_config": "few.json"})";
  const Finished finished = podsim({"run", "published.json"});
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("there is no entry for \"pod16\" (it has pod4)"));
}

}  // namespace
}  // namespace podsim
