// Do the transformer families have the published numbers of parameters and operations?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"

namespace podsim {
namespace {

using test::build;
using test::operator_named;

std::string message_of(const std::string& model, const test::Asked& asked) {
  try {
    static_cast<void>(build(model, asked));
  } catch (const UserError& error) {
    return error.where() + "|" + error.problem() + "|" + error.remedy();
  }
  return "no error";
}

// Hugging Face BertForPreTraining.num_parameters().
TEST(Bert, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(build("bert", {.options = R"({"variant": "large"})"})->parameter_count(), 336'226'108);
  EXPECT_EQ(build("bert", {.options = R"({"variant": "base"})"})->parameter_count(), 110'106'428);
}

// BertForQuestionAnswering of bert-large-uncased: no pooler, one dense layer of 2 outputs.
TEST(Bert, QuestionAnsweringHasThePublishedNumberOfParameters) {
  const auto graph = build("bert", {.options = R"({"variant": "large", "task": "squad", "sequence_length": 384})"});
  EXPECT_EQ(graph->parameter_count(), 334'094'338);
  EXPECT_FALSE(graph->head_with_embedding);
}

// Forward multiply-accumulates per sequence of S tokens, hidden H, L layers, M masked tokens, vocabulary V:
// L (12 S H^2 + 2 S^2 H) + M H^2 + M H V + H^2 + 2 H.
TEST(Bert, DoesTheWorkOfTheClosedFormula) {
  const double s = 128, h = 1024, l = 24, m = 20, v = 30522;
  const double macs = l * (12 * s * h * h + 2 * s * s * h) + m * h * h + m * h * v + h * h + 2 * h;
  const auto graph = build("bert", {.options = R"({"variant": "large"})", .micro_batch_size = 8});
  EXPECT_DOUBLE_EQ(graph->forward_flops(), 2 * 8 * macs);
}

TEST(Bert, ReadsAnUnmodifiedHuggingFaceConfig) {
  const std::string config = R"({"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
    "gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 1024,
    "initializer_range": 0.02, "intermediate_size": 4096, "layer_norm_eps": 1e-12, "max_position_embeddings": 512,
    "model_type": "bert", "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 0,
    "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": true, "vocab_size": 30912})";
  const auto graph = build("bert", {.config = config});
  // 390 more rows of the word embedding, and 390 more biases of the decoder that is tied to it.
  EXPECT_EQ(graph->parameter_count(), 336'226'108 + 390 * 1024 + 390);
}

TEST(Bert, MasksThePublishedNumbersOfTokens) {
  for (const auto& [length, masked] : {std::pair{128, 20}, {384, 56}, {512, 76}, {256, 38}}) {
    const auto graph = build("bert", {.options = R"({"sequence_length": )" + std::to_string(length) + "}"});
    EXPECT_EQ(operator_named(*graph, "head/masked_tokens").outputs[0].shape[1], masked) << length;
  }
}

TEST(Bert, ReturnsTheLossInTrainingAndLogitsInInference) {
  const auto training = build("bert");
  EXPECT_TRUE(operator_named(*training, "head/loss").result);
  EXPECT_EQ(operator_named(*training, "head/loss").output_bytes(), 4);
  const auto inference = build("bert", {.options = R"({"task": "squad"})", .training = false});
  EXPECT_TRUE(operator_named(*inference, "head/start_logits").result);
  EXPECT_THROW(static_cast<void>(operator_named(*inference, "head/loss")), std::runtime_error);
  EXPECT_THROW(static_cast<void>(operator_named(*inference, "encoder/0/ffn/dropout")), std::runtime_error);
}

TEST(Bert, LayersAreAlikeForOutlining) {
  const auto graph = build("bert");
  const Operator& first = operator_named(*graph, "encoder/0/attention/query_key_value");
  const Operator& last = operator_named(*graph, "encoder/11/attention/query_key_value");
  EXPECT_EQ(first.outline_key, "encoder/attention/query_key_value");
  EXPECT_EQ(first.outline_key, last.outline_key);
  EXPECT_EQ(first.signature(), last.signature());
  EXPECT_NE(first.signature(), operator_named(*graph, "encoder/0/attention/output").signature());
}

TEST(Bert, AttentionIsABatchedMatmulOfActivations) {
  const auto graph = build("bert", {.options = R"({"variant": "large"})", .micro_batch_size = 3});
  const auto& scores = std::get<MatMulShape>(operator_named(*graph, "encoder/5/attention/scores").shape);
  EXPECT_EQ(scores.groups, 3 * 16);
  EXPECT_EQ(scores.rows, 128);
  EXPECT_EQ(scores.inner, 64);
  EXPECT_EQ(scores.columns, 128);
  EXPECT_FALSE(scores.right_is_weight);
}

TEST(Bert, OnlyTheMaskIsBeyondDifferentiation) {
  const auto graph = build("bert");
  EXPECT_FALSE(operator_named(*graph, "embedding/mask").differentiable);
  EXPECT_TRUE(operator_named(*graph, "encoder/0/attention/scores").differentiable);
}

TEST(Bert, SerializesEmbeddingAndProjection) {
  const auto graph = build("bert", {.embedding_serialization = 4, .projection_serialization = 2});
  EXPECT_EQ(operator_named(*graph, "embedding/word").serial_splits, 4);
  EXPECT_EQ(operator_named(*graph, "head/decoder").serial_splits, 2);
  EXPECT_EQ(operator_named(*graph, "head/transform").serial_splits, 1);
}

TEST(Bert, PacksHaveTheirOwnMasksPositionsAndLabels) {
  const auto graph = build("bert", {.options = R"({"sequence_length": 512, "sequences_per_pack": 3})"});
  EXPECT_EQ(graph->sample_name, "packs");
  EXPECT_EQ(operator_named(*graph, "embedding/pack_mask").outputs[0].elements(), 512 * 512);
  EXPECT_EQ(operator_named(*graph, "embedding/position_ids").outputs[0].elements(), 512);
  EXPECT_EQ(operator_named(*graph, "head/next_sentence_labels").outputs[0].elements(), 3);
  EXPECT_EQ(graph->parameter_count(), 110'106'428);
}

TEST(Bert, SaysWhatIsWrong) {
  using ::testing::HasSubstr;
  EXPECT_THAT(message_of("bert", {.options = R"({"sequence_length": 1024})"}),
              HasSubstr("options.json:/sequence_length|sequence length 1024 is beyond max_position_embeddings 512"));
  EXPECT_THAT(message_of("bert", {.options = R"({"masked_tokens": 200})"}),
              HasSubstr("200 masked tokens in sequences of 128"));
  EXPECT_THAT(message_of("bert", {.options = R"({"task": "squad", "masked_tokens": 20})"}),
              HasSubstr("concern pretraining only"));
  EXPECT_THAT(message_of("bert", {.options = R"({"variant": "base"})", .config = R"({"hidden_size": 8})"}),
              HasSubstr("both a config and a variant"));
  EXPECT_THAT(message_of("bert", {.config = R"({"model_type": "gpt2"})"}),
              HasSubstr("config.json:/model_type|this is the configuration of a \"gpt2\" model"));
  EXPECT_THAT(message_of("bert", {.config = R"({"vocab_size": "30522"})"}), HasSubstr("config.json:/vocab_size"));
  EXPECT_THAT(message_of("bert", {.config = R"({"vocab_size": 0})"}), HasSubstr("must be at least 1, found 0"));
  const std::string sizes = R"("vocab_size": 100, "hidden_size": 10, "num_hidden_layers": 1, "intermediate_size": 40,
                               "max_position_embeddings": 512)";
  EXPECT_THAT(message_of("bert", {.config = "{" + sizes + R"(, "num_attention_heads": 3})"}),
              HasSubstr("3 attention heads do not divide the hidden size 10"));
  const std::string good = "{" + sizes + R"(, "num_attention_heads": 2)";
  EXPECT_THAT(message_of("bert", {.config = good + R"(, "hidden_act": "mish"})"}),
              HasSubstr("config.json:/hidden_act|unknown activation \"mish\""));
  EXPECT_THAT(message_of("bert", {.config = good + R"(, "hidden_dropout_prob": 1.5})"}),
              HasSubstr("must be a probability below 1"));
  EXPECT_THAT(message_of("bert", {.config = good + R"(, "position_embedding_type": "relative_key"})"}),
              HasSubstr("position embedding \"relative_key\" is not known"));
}

// GPT2LMHeadModel.num_parameters() of gpt2, gpt2-medium, gpt2-large, gpt2-xl.
TEST(Gpt2, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(build("gpt2")->parameter_count(), 124'439'808);
  EXPECT_EQ(build("gpt2", {.options = R"({"variant": "medium"})"})->parameter_count(), 354'823'168);
  EXPECT_EQ(build("gpt2", {.options = R"({"variant": "large"})"})->parameter_count(), 774'030'080);
  EXPECT_EQ(build("gpt2", {.options = R"({"variant": "xl"})"})->parameter_count(), 1'557'611'200);
}

// L (12 S H^2 + 2 S^2 H) + S H V.
TEST(Gpt2, DoesTheWorkOfTheClosedFormula) {
  const double s = 1024, h = 768, l = 12, v = 50257;
  EXPECT_DOUBLE_EQ(build("gpt2")->forward_flops(), 2 * (l * (12 * s * h * h + 2 * s * s * h) + s * h * v));
}

TEST(Gpt2, SaysWhatIsWrong) {
  using ::testing::HasSubstr;
  EXPECT_THAT(message_of("gpt2", {.options = R"({"sequence_length": 2048})"}),
              HasSubstr("sequence length 2048 is beyond n_positions 1024"));
  EXPECT_THAT(message_of("gpt2", {.options = R"({"variant": "xl"})", .config = "{}"}),
              HasSubstr("both a config and a variant"));
}

// torchvision vit_b_16 and vit_l_16: parameters and multiply-accumulates (17.56 and 61.55 G).
TEST(Vit, HasThePublishedNumbers) {
  const auto base = build("vit");
  EXPECT_EQ(base->parameter_count(), 86'567'656);
  EXPECT_NEAR(base->forward_flops() / 2, 17.56e9, 0.01 * 17.56e9);
  const auto large = build("vit", {.options = R"({"variant": "large"})"});
  EXPECT_EQ(large->parameter_count(), 304'326'632);
  EXPECT_NEAR(large->forward_flops() / 2, 61.55e9, 0.01 * 61.55e9);
}

TEST(Vit, SaysWhatIsWrong) {
  using ::testing::HasSubstr;
  const std::string config = R"({"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
                                 "intermediate_size": 3072, "image_size": 224, "patch_size": 15})";
  EXPECT_THAT(message_of("vit", {.config = config}), HasSubstr("patches of 15 do not divide images of 224"));
  EXPECT_THAT(message_of("vit", {.options = R"({"variant": "base"})", .config = config}),
              HasSubstr("both a config and a variant"));
}

TEST(Conformer, HasTheShapesOfTheSpeechExample) {
  const auto graph = build("conformer", {.micro_batch_size = 4});
  // 1220 frames and 80 bins, twice 3x3 with stride 2: 304 and 19.
  EXPECT_EQ(operator_named(*graph, "frontend/to_sequence").outputs[0].shape,
            (std::vector<std::int64_t>{4, 304, 19 * 256}));
  EXPECT_EQ(operator_named(*graph, "encoder/3/attention_residual").outputs[0].shape,
            (std::vector<std::int64_t>{4, 304, 256}));
  EXPECT_EQ(operator_named(*graph, "encoder/3/convolution_residual").outputs[0].shape,
            (std::vector<std::int64_t>{4, 304, 256}));
  const auto& ctc = std::get<CtcShape>(operator_named(*graph, "ctc/loss").shape);
  EXPECT_EQ(std::vector({ctc.batch, ctc.time, ctc.labels, ctc.classes}), (std::vector<std::int64_t>{4, 304, 48, 4233}));
  // x * sigmoid(x) is two operators of the framework, and tensors are spread anew at both ends of a layer.
  EXPECT_EQ(operator_named(*graph, "encoder/3/ffn_1_activation").functions, std::vector{ElementFunction::Multiply});
  EXPECT_EQ(operator_named(*graph, "encoder/3/remap_in").kind, OperatorKind::Transpose);
}

// With h = 256, f = 2048, v = 4233, k = 15; attention: query, one shared key-value and output projection.
TEST(Conformer, HasTheParametersOfItsLayers) {
  const std::int64_t h = 256, f = 2048, v = 4233, k = 15;
  const std::int64_t norm = 2 * h, ffn = norm + h * f + f + f * h + h, attention = 3 * (h * h + h);
  const std::int64_t frontend = (9 * h + h) + (9 * h * h + h) + (19 * h * h + h);
  const std::int64_t convolution = norm + 2 * h * h + k * h + norm + h * h;
  const std::int64_t encoder = 2 * ffn + norm + attention + h * h + 2 * h + convolution + norm;
  const std::int64_t decoder = 2 * (norm + attention) + ffn;
  const std::int64_t ends = norm + v * h + norm + 2 * (h * v + v);
  EXPECT_EQ(build("conformer")->parameter_count(), frontend + 12 * encoder + 6 * decoder + ends);
}

TEST(Conformer, SaysWhatIsWrong) {
  EXPECT_THAT(message_of("conformer", {.options = R"({"kernel": 16})"}), ::testing::HasSubstr("the kernel is 16"));
}

}  // namespace
}  // namespace podsim
