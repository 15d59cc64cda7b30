// ResNet-50 (He et al. 2016), version 1.5: the stride of a stage is in its first 3x3 convolution. A Hugging Face
// config.json (ResNetConfig, its defaults) makes it any other depth.
#include <algorithm>

#include "simulator/core/error.hpp"
#include "workloads/convolutional.hpp"
#include "workloads/model_config.hpp"

namespace podsim {

namespace {

// Keys and defaults of ResNetConfig in Hugging Face's transformers, which are those of ResNet-50.
ResidualNetwork read_network(const std::string& name, const WorkloadRequest& request) {
  const ModelConfig config(request.config.is_null() ? Value(Value::Object{}) : request.config, "resnet");
  ResidualNetwork network{name, config.sizes("depths", {3, 4, 6, 3})};
  network.outputs = config.sizes("hidden_sizes", network.outputs);
  if (network.outputs.size() != network.repeats.size()) {
    throw UserError(config.where("depths"),
                    "depths has " + std::to_string(network.repeats.size()) + " stages, and hidden_sizes has " +
                        std::to_string(network.outputs.size()),
                    "give one entry for each stage in both");
  }
  const std::string layer = config.text("layer_type", "bottleneck");
  if (layer != "bottleneck" && layer != "basic") {
    throw UserError(config.where("layer_type"), "unknown layer_type \"" + layer + "\"", "one of bottleneck, basic");
  }
  network.bottleneck = layer == "bottleneck";
  if (network.bottleneck && *std::min_element(network.outputs.begin(), network.outputs.end()) < 4) {
    throw UserError(config.where("hidden_sizes"), "a bottleneck has a quarter of them inside", "give at least 4");
  }
  network.stem_channels = config.size("embedding_size", network.stem_channels);
  network.image_channels = config.size("num_channels", network.image_channels);
  network.stride_in_first_stage = config.flag("downsample_in_first_stage", false);
  network.stride_in_reduction = config.flag("downsample_in_bottleneck", false);
  network.activation = activation_named(config.text("hidden_act", "relu"), config.where("hidden_act"));
  const Options& options = request.options;
  network.classes = options.has("classes") ? options.integer("classes") : config.labels(network.classes);
  return network;
}

class ResNet50Workload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "resnet50"; }
  [[nodiscard]] std::string description() const override {
    return "ResNet-50 v1.5, image classification; other depths from a Hugging Face config.json.";
  }
  [[nodiscard]] bool reads_config() const override { return true; }
  [[nodiscard]] std::vector<Option> options() const override {
    std::vector<Option> declared = {image_size_option(224), configured_classes_option()};
    for (Option& option : norm_options("batch", 32)) declared.push_back(std::move(option));
    return declared;
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    return build_residual_network(read_network(name(), request), request);
  }
};

}  // namespace

const Workload& workload_resnet50() {
  static const ResNet50Workload workload;
  return workload;
}

}  // namespace podsim
