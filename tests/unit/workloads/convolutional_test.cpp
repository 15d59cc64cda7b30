// Do the convolutional families and small networks have the published numbers of parameters and operations?
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

// torchvision resnet50: 25,557,032 parameters, 4.09 G multiply-accumulates; two moving averages for each channel of
// the 53 batch norms are not parameters.
TEST(ResNet50, HasThePublishedNumbers) {
  const auto graph = build("resnet50");
  EXPECT_EQ(graph->parameter_count(), 25'557'032);
  EXPECT_EQ(graph->weight_count(), 25'557'032 + 53'120);
  EXPECT_NEAR(graph->forward_flops() / 2, 4.09e9, 0.01 * 4.09e9);
}

TEST(ResNet50, ScalesWithTheMicroBatch) {
  EXPECT_DOUBLE_EQ(build("resnet50", {.micro_batch_size = 20})->forward_flops(),
                   20 * build("resnet50")->forward_flops());
}

TEST(ResNet50, SharesBatchNormStatisticsBetweenReplicas) {
  const auto graph = build("resnet50", {.options = R"({"norm_span": 2})"});
  EXPECT_EQ(std::get<NormShape>(operator_named(*graph, "stem/convolution_norm").shape).replica_span, 2);
  EXPECT_THAT(message_of("resnet50", {.options = R"({"norm": "group", "norm_span": 2})"}),
              ::testing::HasSubstr("a group norm has no statistics to share"));
  EXPECT_THAT(message_of("resnet50", {.options = R"({"norm": "group", "norm_groups": 7})"}),
              ::testing::HasSubstr("7 groups do not divide the 64 channels"));
  EXPECT_THAT(message_of("resnet50", {.options = R"({"norm_groups": 32})"}),
              ::testing::HasSubstr("a batch norm has no groups of channels"));
  const auto inference = build("resnet50", {.options = R"({"norm_span": 2})", .training = false});
  EXPECT_EQ(std::get<NormShape>(operator_named(*inference, "stem/convolution_norm").shape).replica_span, 1);
}

TEST(ResNet50, RefusesImagesSmallerThanItsKernels) {
  EXPECT_THAT(message_of("small_cnn", {.options = R"({"image_size": 4})"}),
              ::testing::HasSubstr("the input is smaller than the kernel"));
}

// torchvision resnet18 and resnet152, as Hugging Face's configurations of microsoft/resnet-18 and -152 write them.
TEST(ResNet50, ReadsConfigurationsOfOtherDepths) {
  const auto small =
      build("resnet50", {.config = R"({"model_type": "resnet", "layer_type": "basic", "depths": [2, 2, 2, 2],
                                                      "hidden_sizes": [64, 128, 256, 512]})"});
  EXPECT_EQ(small->parameter_count(), 11'689'512);
  EXPECT_EQ(small->blocks.size(), 10U);
  EXPECT_EQ(build("resnet50", {.config = R"({"depths": [3, 8, 36, 3]})"})->parameter_count(), 60'192'808);
  EXPECT_EQ(build("resnet50", {.config = "{}"})->parameter_count(), 25'557'032);
}

TEST(ResNet50, ReadsTheOtherKeysOfAConfiguration) {
  const auto graph = build("resnet50", {.config = R"({"num_channels": 1, "embedding_size": 32, "hidden_act": "gelu",
    "downsample_in_first_stage": true, "downsample_in_bottleneck": true, "id2label": {"0": "cat", "1": "dog"}})"});
  const auto shape_of = [&](const std::string& name) {
    return std::get<ConvolutionShape>(operator_named(*graph, name).shape);
  };
  EXPECT_EQ(shape_of("stem/convolution").in_channels, 1);
  EXPECT_EQ(shape_of("stage1/block0/reduce").in_channels, 32);
  EXPECT_EQ(shape_of("stage1/block0/reduce").stride_height, 2);
  EXPECT_EQ(shape_of("stage1/block0/spatial").stride_height, 1);
  EXPECT_EQ(operator_named(*graph, "stage1/block0/activation").kind, OperatorKind::Gelu);
  EXPECT_EQ(operator_named(*graph, "head/classifier").outputs[0].shape.back(), 2);
}

TEST(ResNet50, RefusesConfigurationsThatItCannotBuild) {
  const auto refused = [](const std::string& config) { return message_of("resnet50", {.config = config}); };
  EXPECT_THAT(refused(R"({"model_type": "bert"})"), ::testing::HasSubstr(R"(configuration of a "bert" model)"));
  EXPECT_THAT(refused(R"({"depths": [3, 4]})"), ::testing::HasSubstr("depths has 2 stages, and hidden_sizes has 4"));
  EXPECT_THAT(refused(R"({"depths": []})"), ::testing::HasSubstr("the list is empty"));
  EXPECT_THAT(refused(R"({"hidden_sizes": [2, 4, 8, 0]})"), ::testing::HasSubstr("must be at least 1"));
  EXPECT_THAT(refused(R"({"hidden_sizes": [2, 4, 8, 16]})"), ::testing::HasSubstr("a quarter of them"));
  EXPECT_THAT(refused(R"({"layer_type": "wide"})"), ::testing::HasSubstr("one of bottleneck, basic"));
  EXPECT_THAT(refused(R"({"downsample_in_bottleneck": 1})"), ::testing::HasSubstr("downsample_in_bottleneck"));
}

// torchvision resnext101_32x8d: 88,791,336 and 16.41 G; timm resnext101_32x4d: 44,177,704 and 8.01 G.
TEST(ResNeXt101, HasThePublishedNumbers) {
  const auto wide = build("resnext101", {.options = R"({"variant": "32x8d"})"});
  EXPECT_EQ(wide->parameter_count(), 88'791'336);
  EXPECT_NEAR(wide->forward_flops() / 2, 16.41e9, 0.01 * 16.41e9);
  const auto narrow = build("resnext101");
  EXPECT_EQ(narrow->parameter_count(), 44'177'704);
  EXPECT_NEAR(narrow->forward_flops() / 2, 8.01e9, 0.01 * 8.01e9);
}

// torchvision efficientnet_b0 and b4: 5,288,548 and 19,341,616 parameters, 0.386 and 4.39 G multiply-accumulates.
TEST(EfficientNet, HasThePublishedNumbers) {
  const auto b0 = build("efficientnet", {.options = R"({"variant": "b0"})"});
  EXPECT_EQ(b0->parameter_count(), 5'288'548);
  EXPECT_NEAR(b0->forward_flops() / 2, 0.386e9, 0.01 * 0.386e9);
  const auto b4 = build("efficientnet");
  EXPECT_EQ(b4->parameter_count(), 19'341'616);
  EXPECT_NEAR(b4->forward_flops() / 2, 4.39e9, 0.01 * 4.39e9);
}

TEST(EfficientNet, GroupsOfSixteenChannels) {
  const auto graph =
      build("efficientnet", {.options = R"({"group_width": 16, "expansion": 4, "norm": "group", "norm_groups": 4})"});
  const auto& shape = std::get<ConvolutionShape>(operator_named(*graph, "block4a/spatial").shape);
  EXPECT_EQ(shape.in_channels, 56 * 4);
  EXPECT_EQ(shape.groups, 56 * 4 / 16);
  EXPECT_EQ(shape.stride_height, 2);
  EXPECT_EQ(graph->weight_count(), graph->parameter_count());  // no moving averages
  EXPECT_THAT(message_of("efficientnet", {.options = R"({"group_width": 5})"}),
              ::testing::HasSubstr("groups of 5 do not divide 48 channels"));
}

// PopTorch pipelining tutorial: 5x5 convolutions of 10 and 20 filters, 320 -> 256 -> 10.
TEST(MnistPipeline, IsTheNetworkOfTheTutorial) {
  const auto graph = build("mnist_pipeline", {.micro_batch_size = 40});
  EXPECT_EQ(graph->parameter_count(), (25 * 10 + 10) + (25 * 10 * 20 + 20) + (320 * 256 + 256) + (256 * 10 + 10));
  ASSERT_EQ(graph->blocks.size(), 4U);
  EXPECT_EQ(graph->blocks[3].name, "B4");
  EXPECT_EQ(operator_named(*graph, "B2/pool").outputs[0].elements(), 40 * 320);
  EXPECT_EQ(operator_named(*graph, "B4/labels").block, 3);
}

// Argmax of logits and labels, hits, and for accuracy and mean loss a sum, a total and a count.
TEST(MnistCnnKeras, MetricsAreOperatorsOfTheTrainingLoop) {
  const auto operators = [](const test::Asked& request) {
    return boost::num_vertices(build("mnist_cnn_keras", request)->graph);
  };
  EXPECT_EQ(operators({.options = R"({"metrics": true})"}), operators({}) + 9);
  EXPECT_EQ(operators({.options = R"({"metrics": true})", .training = false}), operators({.training = false}));
}

TEST(SmallNetworks, HaveTheNumbersOfTheTutorials) {
  EXPECT_EQ(build("mnist_cnn_keras")->parameter_count(), 34'826);
  const auto small = build("small_cnn");
  EXPECT_EQ(std::get<MatMulShape>(operator_named(*small, "network/dense_1").shape).inner, 41'772);
  EXPECT_EQ(small->parameter_count(), 4'179'896);
  EXPECT_EQ(build("mlp")->parameter_count(), 932'362);
}

TEST(Mlp, MakesABlockForEachLayer) {
  const auto graph = build("mlp", {.options = R"({"layers": [4, 3, 2]})", .micro_batch_size = 5});
  EXPECT_EQ(graph->blocks.size(), 2U);
  EXPECT_EQ(graph->parameter_count(), 4 * 3 + 3 + 3 * 2 + 2);
  EXPECT_DOUBLE_EQ(graph->forward_flops(), 2.0 * 5 * (4 * 3 + 3 * 2));
  EXPECT_THAT(message_of("mlp", {.options = R"({"layers": [4]})"}), ::testing::HasSubstr("at least 2 widths"));
}

// PyTorch Geometric's SchNet with 100 features: 186,701 parameters.
TEST(SchNet, HasTheNumbersOfTheReferenceImplementation) {
  const auto graph = build("schnet", {.options = R"({"atoms_per_pack": 30})", .micro_batch_size = 2});
  EXPECT_EQ(graph->parameter_count(), 186'701);
  const auto& gather = std::get<GatherShape>(operator_named(*graph, "interaction/1/gather").shape);
  EXPECT_EQ(gather.lookups, 2 * 30 * 28);
  EXPECT_EQ(gather.rows, 60);
  EXPECT_EQ(gather.width, 100);
}

}  // namespace
}  // namespace podsim
