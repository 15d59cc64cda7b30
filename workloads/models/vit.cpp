// Vision Transformer (Dosovitskiy et al. 2021) from a Hugging Face config.json: patches by a convolution, class token,
// pre-norm encoder, linear classifier. A layer is two blocks, attention and feed-forward.
#include "simulator/core/error.hpp"
#include "workloads/convolutional.hpp"
#include "workloads/model_config.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/transformer.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

struct Vit {
  std::int64_t hidden, layers, heads, inner, image_size, patch_size, channels, classes;
  double hidden_dropout, attention_dropout;
  OperatorKind activation = OperatorKind::Gelu;

  [[nodiscard]] std::int64_t patches() const { return (image_size / patch_size) * (image_size / patch_size); }
  [[nodiscard]] std::int64_t tokens() const { return patches() + 1; }
};

// The published sizes with patches of 16. Dosovitskiy et al. 2021, table 1.
Value published_config(const std::string& variant) {
  const bool large = variant == "large";
  Value config;
  config.set("hidden_size", large ? 1024 : 768);
  config.set("num_hidden_layers", large ? 24 : 12);
  config.set("num_attention_heads", large ? 16 : 12);
  config.set("intermediate_size", large ? 4096 : 3072);
  config.set("image_size", 224);
  config.set("patch_size", 16);
  return config;
}

Vit read_vit(const WorkloadRequest& request) {
  const Options& options = request.options;
  const ModelConfig config = model_config(request, "vit", "base", published_config);
  Vit vit{};
  vit.hidden = config.size("hidden_size");
  vit.layers = config.size("num_hidden_layers");
  vit.heads = config.size("num_attention_heads");
  vit.inner = config.size("intermediate_size");
  vit.image_size = config.size("image_size");
  vit.patch_size = config.size("patch_size");
  vit.channels = config.size("num_channels", 3);
  vit.classes = options.has("classes") ? options.integer("classes") : config.labels(1000);
  vit.hidden_dropout = config.probability("hidden_dropout_prob", 0.0);
  vit.attention_dropout = config.probability("attention_probs_dropout_prob", 0.0);
  vit.activation = activation_named(config.text("hidden_act", "gelu"), config.where("hidden_act"));
  check_heads(vit.hidden, vit.heads, config.where("num_attention_heads"));
  check_divides(request, vit.heads, "num_attention_heads", config.where("num_attention_heads"));
  check_divides(request, vit.inner, "intermediate_size", config.where("intermediate_size"));
  if (vit.image_size % vit.patch_size != 0) {
    throw UserError(
        config.where("patch_size"),
        "patches of " + std::to_string(vit.patch_size) + " do not divide images of " + std::to_string(vit.image_size),
        "choose a divisor of image_size");
  }
  return vit;
}

Vertex add_embedding(LayerBuilder& builder, const Vit& vit) {
  const std::int64_t batch = builder.request().micro_batch_size;
  builder.begin_block("embedding", BlockRole::Embedding);
  Vertex x = image_input(builder, vit.image_size, vit.channels);
  ConvolutionLayer patches{vit.hidden, vit.patch_size, vit.patch_size, vit.patch_size};
  patches.bias = true;
  x = builder.convolution("patches", x, patches);
  x = builder.rearrange("class_token", OperatorKind::Concat, {x}, {batch, vit.tokens(), vit.hidden});
  builder.at(x).weights = {{builder.full_name("class_token"), vit.hidden, builder.request().precision, true, ""}};
  x = builder.elementwise("position", {x}, 1, vit.tokens() * vit.hidden);
  return builder.dropout("dropout", x, vit.hidden_dropout);
}

Vertex add_layer(LayerBuilder& builder, const Vit& vit, int layer, Vertex x) {
  const std::string name = "encoder/" + std::to_string(layer);
  builder.begin_block(name + "/attention", BlockRole::Layer, layer, "encoder/attention");
  Vertex y = builder.layer_norm("norm", x);
  y = self_attention(builder, y, {vit.heads, vit.tokens(), vit.attention_dropout, std::nullopt, false});
  x = builder.add("residual", builder.dropout("dropout", y, vit.hidden_dropout), x);
  builder.begin_block(name + "/ffn", BlockRole::Layer, layer, "encoder/ffn");
  y = feed_forward(builder, builder.layer_norm("norm", x), vit.inner, vit.activation);
  return builder.add("residual", builder.dropout("dropout", y, vit.hidden_dropout), x);
}

class VitWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "vit"; }
  [[nodiscard]] std::string description() const override {
    return "Vision Transformer for image classification, from a Hugging Face config.json.";
  }
  [[nodiscard]] bool reads_config() const override { return true; }
  [[nodiscard]] std::vector<Option> options() const override {
    Option variant{"variant", OptionType::Choice, {}, "Published size, where no config is given (base, then)."};
    variant.choices = {"base", "large"};
    return {variant, configured_classes_option(), tensor_parallel_option(), checkpoints_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const Vit vit = read_vit(request);
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = "images";
    Vertex x = add_embedding(builder, vit);
    for (int layer = 0; layer < vit.layers; ++layer) x = add_layer(builder, vit, layer, x);
    builder.begin_block("head", BlockRole::Head);
    x = builder.layer_norm("norm", x);
    x = builder.rearrange("first_token", OperatorKind::Slice, {x}, {request.micro_batch_size, vit.hidden});
    finish_classifier(builder, builder.dense("classifier", x, vit.classes));
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_vit() {
  static const VitWorkload workload;
  return workload;
}

}  // namespace podsim
