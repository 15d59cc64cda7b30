// EfficientNet B0 to B7 (Tan and Le 2019), with depthwise convolutions or, as in "Making EfficientNet More Efficient"
// (Masters et al. 2021), groups of 16 channels and an expansion of 4.
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/core/error.hpp"
#include "workloads/convolutional.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

constexpr std::int64_t kColours = 3;
constexpr std::int64_t kChannelDivisor = 8;
constexpr std::int64_t kStemChannels = 32;
constexpr std::int64_t kTopChannels = 1280;
constexpr std::int64_t kSqueezeDivisor = 4;  // squeeze-excite ratio 0.25 of the block's input channels

struct Scale {
  const char* variant;
  double width, depth, dropout;
  std::int64_t image_size;
};
constexpr std::array<Scale, 8> kScales = {{{"b0", 1.0, 1.0, 0.2, 224},
                                           {"b1", 1.0, 1.1, 0.2, 240},
                                           {"b2", 1.1, 1.2, 0.3, 260},
                                           {"b3", 1.2, 1.4, 0.3, 300},
                                           {"b4", 1.4, 1.8, 0.4, 380},
                                           {"b5", 1.6, 2.2, 0.4, 456},
                                           {"b6", 1.8, 2.6, 0.5, 528},
                                           {"b7", 2.0, 3.1, 0.5, 600}}};

struct StageShape {
  std::int64_t kernel, repeats, channels, stride;
  bool expands;
};
constexpr std::array<StageShape, 7> kStages = {{{3, 1, 16, 1, false},
                                                {3, 2, 24, 2, true},
                                                {5, 2, 40, 2, true},
                                                {3, 3, 80, 2, true},
                                                {5, 3, 112, 1, true},
                                                {5, 4, 192, 2, true},
                                                {3, 1, 320, 1, true}}};

struct EfficientNet {
  Scale scale;
  std::int64_t expansion, group_width;
  NormChoice norm;
};

// Nearest multiple of 8, at most 10% below (Tan and Le's reference code).
std::int64_t scaled_channels(std::int64_t channels, double width) {
  const double wanted = static_cast<double>(channels) * width;
  const double half = static_cast<double>(kChannelDivisor) / 2;
  std::int64_t rounded = static_cast<std::int64_t>(wanted + half) / kChannelDivisor * kChannelDivisor;
  rounded = std::max(kChannelDivisor, rounded);
  if (static_cast<double>(rounded) < 0.9 * wanted) rounded += kChannelDivisor;
  return rounded;
}

Vertex squeeze_and_excite(LayerBuilder& builder, Vertex x, std::int64_t squeezed) {
  const std::int64_t channels = builder.tensor(x).shape.back();
  Vertex y = builder.global_pool("squeeze", x);
  y = builder.dense("squeeze_down", y, squeezed);
  y = builder.activation("squeeze_activation", y, OperatorKind::Swish);
  y = builder.dense("squeeze_up", y, channels);
  y = builder.activation("gate", y, OperatorKind::Sigmoid);
  return builder.elementwise("excite", {x, y});
}

// Groups of `group_width` channels, one group where there are fewer.
std::int64_t group_count(const LayerBuilder& builder, std::int64_t channels, std::int64_t group_width) {
  const std::int64_t groups = std::max<std::int64_t>(1, channels / group_width);
  if (channels % groups == 0) return groups;
  throw UserError(
      builder.request().options.where("group_width"),
      "groups of " + std::to_string(group_width) + " do not divide " + std::to_string(channels) + " channels",
      "choose 1, 2, 4, 8 or 16");
}

Vertex add_inverted_bottleneck(LayerBuilder& builder, Vertex x, const EfficientNet& net, const StageShape& shape,
                               std::int64_t outputs, std::int64_t stride) {
  const std::int64_t inputs = builder.tensor(x).shape.back();
  const std::int64_t inner = shape.expands ? inputs * net.expansion : inputs;
  Vertex y = x;
  if (inner != inputs) {
    y = convolve_and_norm(builder, "expand", y, square_convolution(inner, 1), net.norm, OperatorKind::Swish);
  }
  const std::int64_t groups = group_count(builder, inner, net.group_width);
  y = convolve_and_norm(builder, "spatial", y, square_convolution(inner, shape.kernel, stride, groups), net.norm,
                        OperatorKind::Swish);
  y = squeeze_and_excite(builder, y, std::max<std::int64_t>(1, inputs / kSqueezeDivisor));
  y = convolve_and_norm(builder, "project", y, square_convolution(outputs, 1), net.norm, OperatorKind::Elementwise);
  return stride == 1 && inputs == outputs ? builder.add("residual", y, x) : y;
}

EfficientNet read_efficientnet(const WorkloadRequest& request) {
  const Options& options = request.options;
  const std::string& variant = options.text("variant");
  const auto scale = std::find_if(kScales.begin(), kScales.end(),
                                  [&variant](const Scale& candidate) { return variant == candidate.variant; });
  return {*scale, options.integer("expansion"), options.integer("group_width"), read_norm(request)};
}

class EfficientNetWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "efficientnet"; }
  [[nodiscard]] std::string description() const override {
    return "EfficientNet B0 to B7, depthwise or with groups of 16 channels, image classification.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    Option variant{"variant", OptionType::Choice, "b4", "Width, depth and image size."};
    for (const Scale& scale : kScales) variant.choices.emplace_back(scale.variant);
    std::vector<Option> declared = {
        variant,
        {"group_width", OptionType::Integer, 1, "Channels of a group in the spatial convolutions; 1: depthwise.", 1},
        {"expansion", OptionType::Integer, 6, "Channels inside a block over its input channels.", 1},
        {"image_size",
         OptionType::Integer,
         {},
         "Height and width, pixels; the variant's own where not given.",
         32,
         16384},
        {"classes", OptionType::Integer, 1000, "Classes of the last layer.", 1}};
    for (Option& option : norm_options("batch", 4)) declared.push_back(std::move(option));
    return declared;
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override;
};

// Blocks are named as in TensorFlow: block4a is the first one of the fourth stage.
std::unique_ptr<WorkloadGraph> EfficientNetWorkload::build(const WorkloadRequest& request) const {
  const EfficientNet net = read_efficientnet(request);
  const Scale& scale = net.scale;
  LayerBuilder builder(name(), request);
  builder.graph().sample_name = "images";
  builder.begin_block("stem", BlockRole::Embedding);
  const bool given = request.options.has("image_size");
  Vertex x = image_input(builder, given ? request.options.integer("image_size") : scale.image_size, kColours);
  x = convolve_and_norm(builder, "convolution", x,
                        square_convolution(scaled_channels(kStemChannels, scale.width), 3, 2), net.norm,
                        OperatorKind::Swish);
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    const StageShape& shape = kStages[stage];
    const auto repeats = static_cast<std::int64_t>(std::ceil(scale.depth * static_cast<double>(shape.repeats)));
    const std::string prefix = "block" + std::to_string(stage + 1);
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      builder.begin_block(prefix + static_cast<char>('a' + repeat), BlockRole::Layer, -1,
                          repeat == 0 ? std::string{} : prefix);
      x = add_inverted_bottleneck(builder, x, net, shape, scaled_channels(shape.channels, scale.width),
                                  repeat == 0 ? shape.stride : 1);
    }
  }
  builder.begin_block("head", BlockRole::Head);
  x = convolve_and_norm(builder, "convolution", x, square_convolution(scaled_channels(kTopChannels, scale.width), 1),
                        net.norm, OperatorKind::Swish);
  x = builder.dropout("dropout", builder.global_pool("pool", x), scale.dropout);
  finish_classifier(builder, builder.dense("classifier", x, request.options.integer("classes")));
  return builder.finish();
}

}  // namespace

const Workload& workload_efficientnet() {
  static const EfficientNetWorkload workload;
  return workload;
}

}  // namespace podsim
