// Shared parts of convolutional workloads.
#include "workloads/convolutional.hpp"

#include "simulator/core/error.hpp"
#include "workloads/domain_sharding.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

constexpr std::int64_t kExpansion = 4;   // outputs of a bottleneck over its base channels
constexpr std::int64_t kBaseWidth = 64;  // of one group

// 1x1, 3x3, 1x1.
Vertex add_bottleneck(LayerBuilder& builder, const ResidualNetwork& network, Vertex x, std::int64_t outputs,
                      std::int64_t stride, const NormChoice& norm) {
  const std::int64_t width = outputs / kExpansion * network.base_width / kBaseWidth * network.groups;
  const std::int64_t first = network.stride_in_reduction ? stride : 1;
  x = convolve_and_norm(builder, "reduce", x, square_convolution(width, 1, first), norm, network.activation);
  x = convolve_and_norm(builder, "spatial", x, square_convolution(width, 3, stride / first, network.groups), norm,
                        network.activation);
  return convolve_and_norm(builder, "expand", x, square_convolution(outputs, 1), norm, OperatorKind::Elementwise);
}

Vertex add_residual_block(LayerBuilder& builder, const ResidualNetwork& network, Vertex x, std::int64_t outputs,
                          std::int64_t stride, const NormChoice& norm) {
  const bool same_shape = stride == 1 && builder.tensor(x).shape.back() == outputs;
  Vertex y = x;
  if (network.bottleneck) {
    y = add_bottleneck(builder, network, x, outputs, stride, norm);
  } else {
    y = convolve_and_norm(builder, "first", x, square_convolution(outputs, 3, stride), norm, network.activation);
    y = convolve_and_norm(builder, "second", y, square_convolution(outputs, 3), norm, OperatorKind::Elementwise);
  }
  const Vertex shortcut = same_shape ? x
                                     : convolve_and_norm(builder, "shortcut", x, square_convolution(outputs, 1, stride),
                                                         norm, OperatorKind::Elementwise);
  return builder.activation("activation", builder.add("residual", y, shortcut), network.activation);
}

}  // namespace

std::vector<Option> norm_options(const std::string& default_norm, std::int64_t default_groups) {
  Option norm{"norm", OptionType::Choice, Value(default_norm), "Normalisation: batch or group."};
  norm.choices = {"batch", "group"};
  return {norm,
          {"norm_groups", OptionType::Integer, Value(default_groups), "Groups of channels of a group norm.", 1},
          {"norm_span", OptionType::Integer, Value(1), "Replicas that share the statistics of a batch norm.", 1},
          checkpoints_option(),
          domain_sharding_option()};
}

NormChoice read_norm(const WorkloadRequest& request) {
  const Options& options = request.options;
  NormChoice norm{options.text("norm") == "batch", options.integer("norm_groups"), options.integer("norm_span")};
  if (norm.batch && options.given("norm_groups")) {
    throw UserError(options.where("norm_groups"), "a batch norm has no groups of channels",
                    "remove norm_groups, or use the group norm");
  }
  if (!norm.batch && norm.replica_span > 1) {
    throw UserError(options.where("norm_span"), "a group norm has no statistics to share between replicas",
                    "remove norm_span, or use the batch norm");
  }
  if (!request.training) norm.replica_span = 1;
  return norm;
}

Vertex add_norm(LayerBuilder& builder, const std::string& name, Vertex x, const NormChoice& norm) {
  if (norm.batch) return builder.batch_norm(name, x, norm.replica_span);
  const std::int64_t channels = builder.tensor(x).shape.back();
  if (channels % norm.groups != 0) {
    throw UserError(builder.request().options.where("norm_groups"),
                    std::to_string(norm.groups) + " groups do not divide the " + std::to_string(channels) +
                        " channels of " + builder.full_name(name),
                    "choose a divisor");
  }
  return builder.group_norm(name, x, norm.groups);
}

Vertex convolve_and_norm(LayerBuilder& builder, const std::string& name, Vertex x, const ConvolutionLayer& layer,
                         const NormChoice& norm, OperatorKind activation) {
  x = add_norm(builder, name + "_norm", builder.convolution(name, x, layer), norm);
  return activation == OperatorKind::Elementwise ? x : builder.activation(name + "_activation", x, activation);
}

Option image_size_option(std::int64_t image_size) {
  return {"image_size", OptionType::Integer, Value(image_size), "Height and width of the images, pixels.", 1, 16384};
}

Option configured_classes_option() {
  return {
      "classes", OptionType::Integer, {}, "Classes of the last layer; those of config, or 1000, where not given.", 1};
}

std::vector<Option> image_options(std::int64_t image_size, std::int64_t classes) {
  return {image_size_option(image_size),
          {"classes", OptionType::Integer, Value(classes), "Classes of the last layer.", 1}};
}

Vertex image_input(LayerBuilder& builder, std::int64_t image_size, std::int64_t channels) {
  return builder.input("images", {builder.request().micro_batch_size, image_size, image_size, channels},
                       builder.request().precision);
}

void finish_classifier(LayerBuilder& builder, Vertex logits) {
  if (!builder.request().training) {
    builder.mark_result(logits);
    return;
  }
  const Vertex labels =
      builder.input("labels", {builder.request().micro_batch_size}, ElementType::Int32, InputRole::Label);
  builder.mark_result(builder.cross_entropy("cross_entropy", logits, labels));
}

std::unique_ptr<WorkloadGraph> build_residual_network(const ResidualNetwork& network, const WorkloadRequest& request) {
  const NormChoice norm = read_norm(request);
  LayerBuilder builder(network.model, request);
  builder.graph().sample_name = "images";
  builder.begin_block("stem", BlockRole::Embedding);
  Vertex x = image_input(builder, request.options.integer("image_size"), network.image_channels);
  x = convolve_and_norm(builder, "convolution", x, square_convolution(network.stem_channels, 7, 2), norm,
                        network.activation);
  x = builder.pool("pool", x, {3, 2, 1, true});
  for (std::size_t stage = 0; stage < network.repeats.size(); ++stage) {
    const std::string name = "stage" + std::to_string(stage + 1);
    for (std::int64_t repeat = 0; repeat < network.repeats[stage]; ++repeat) {
      // The first block of a stage has other shapes; the rest are alike.
      builder.begin_block(name + "/block" + std::to_string(repeat), BlockRole::Layer, -1,
                          repeat == 0 ? std::string{} : name);
      const std::int64_t stride = (stage > 0 || network.stride_in_first_stage) && repeat == 0 ? 2 : 1;
      x = add_residual_block(builder, network, x, network.outputs[stage], stride, norm);
    }
  }
  builder.begin_block("head", BlockRole::Head);
  x = builder.global_pool("pool", x);
  finish_classifier(builder, builder.dense("classifier", x, network.classes));
  return builder.finish();
}

}  // namespace podsim
