// Conformer (Gulati et al. 2020) with a transformer decoder and CTC, as the speech example for IPUs builds it: one
// projection for keys and values, layer norms where the paper has batch norms, no shift of the position scores.
#include "simulator/core/error.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/transformer.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

// Two log-additions (max, difference, exp, log1p, add) for each state of alpha and of beta.
constexpr double kCtcOperations = 10;

struct Conformer {
  std::int64_t hidden, heads, inner, kernel, encoder_layers, decoder_layers, vocabulary;
  std::int64_t frames, mels, target_length;
  std::int64_t length = 0;  // of the encoder's sequence
  double dropout;
};

// y added to x with dropout; `scale` is 1/2 in the two feed-forward modules of a block.
Vertex add_residual(LayerBuilder& builder, const std::string& name, Vertex y, Vertex x, double dropout,
                    bool half = false) {
  y = builder.dropout(name + "_dropout", y, dropout);
  return builder.elementwise(name, {y, x}, half ? 2 : 1);
}

Vertex named_feed_forward(LayerBuilder& builder, const std::string& name, Vertex x, const Conformer& net,
                          OperatorKind activation) {
  const std::int64_t width = builder.tensor(x).shape.back();
  Vertex y = builder.layer_norm(name + "_norm", x);
  y = builder.activation(name + "_activation", builder.dense(name + "_up", y, net.inner, Split::Columns), activation);
  y = builder.dense(name + "_down", builder.dropout(name + "_dropout", y, net.dropout), width, Split::Rows);
  return add_residual(builder, name + "_residual", y, x, net.dropout, activation == OperatorKind::Swish);
}

struct Projected {
  Vertex query, key, value;
};

// Queries from x; keys and values from memory by one projection that is applied twice.
Projected project(LayerBuilder& builder, const std::string& name, Vertex x, Vertex memory, const Conformer& net) {
  const Vertex query = builder.dense(name + "_query_projection", x, net.hidden, Split::Columns);
  const Vertex key = builder.dense(name + "_key_projection", memory, net.hidden, Split::Columns);
  DenseLayer shared{net.hidden, false, builder.full_name(name + "_key_projection/weight"), 1, false, Split::Columns};
  const Vertex value = builder.dense(name + "_value_projection", memory, shared);
  return {split_heads(builder, name + "_query", query, net.heads, net.hidden),
          split_heads(builder, name + "_key", key, net.heads, net.hidden, true),
          split_heads(builder, name + "_value", value, net.heads, net.hidden)};
}

// Relative position scores: (query + v) times the projected position table.
Vertex position_scores(LayerBuilder& builder, Vertex query, const Conformer& net) {
  const std::int64_t groups = builder.tensor(query).shape[0];
  const std::int64_t width = net.hidden / net.heads;
  Operator projection;
  projection.kind = OperatorKind::MatMul;
  projection.shape = MatMulShape{1, net.length, net.hidden, net.hidden, true};
  projection.outputs = {{"", {net.heads, width, net.length}, builder.request().precision}};
  projection.split = Split::Heads;
  projection.weights = {{builder.full_name("position_projection/weight"), net.hidden * net.hidden,
                         builder.request().precision, true, ""}};
  const Vertex table = builder.emit("position_projection", std::move(projection), {});
  const Vertex biased = builder.elementwise("bias_v", {query}, 1, net.hidden);
  return builder.batched_matmul("position_scores", biased, table, {groups, net.length, width, net.length, false},
                                {groups, net.length, net.length});
}

Vertex convolution_module(LayerBuilder& builder, Vertex x, const Conformer& net) {
  const std::int64_t batch = builder.request().micro_batch_size;
  const std::vector<std::int64_t> sequence = {batch, net.length, net.hidden};
  Vertex y = builder.layer_norm("convolution_norm", x);
  y = builder.dense("pointwise_1", y, {2 * net.hidden, false, "", 1, false});
  const Vertex gate = builder.rearrange("gate", OperatorKind::Sigmoid, {y}, sequence);
  y = builder.rearrange("glu", OperatorKind::Elementwise, {y, gate}, {batch, 1, net.length, net.hidden});
  ConvolutionLayer depthwise{net.hidden, 1, net.kernel};
  depthwise.padding_width = (net.kernel - 1) / 2;
  depthwise.groups = net.hidden;
  y = builder.layer_norm("depthwise_norm", builder.convolution("depthwise", y, depthwise));
  y = builder.activation("depthwise_activation", y, OperatorKind::Swish);
  y = builder.dense("pointwise_2", y, {net.hidden, false, "", 1, false});
  builder.at(y).outputs.front().shape = sequence;
  return add_residual(builder, "convolution_residual", y, x, net.dropout);
}

Vertex add_encoder_layer(LayerBuilder& builder, int layer, Vertex x, Vertex mask, const Conformer& net) {
  builder.begin_block("encoder/" + std::to_string(layer), BlockRole::Layer, -1, "encoder");
  x = named_feed_forward(builder, "ffn_1", x, net, OperatorKind::Swish);
  const Vertex normed = builder.layer_norm("attention_norm", x);
  const Projected p = project(builder, "attention", normed, normed, net);
  const Vertex query = builder.elementwise("bias_u", {p.query}, 1, net.hidden);
  const Vertex positions = position_scores(builder, p.query, net);
  const Vertex y = attend(builder, query, p.key, p.value, {net.heads, net.length, 0, mask, false}, positions);
  x = add_residual(builder, "attention_residual", y, x, net.dropout);
  x = convolution_module(builder, x, net);
  x = named_feed_forward(builder, "ffn_2", x, net, OperatorKind::Swish);
  return builder.layer_norm("norm", x);
}

// Two blocks, so that a layer's operators of self- and cross-attention have names of their own; one layer.
Vertex add_decoder_layer(LayerBuilder& builder, int layer, Vertex x, Vertex memory, const Conformer& net) {
  const std::string name = "decoder/" + std::to_string(layer);
  builder.begin_block(name + "/self", BlockRole::Layer, static_cast<int>(net.encoder_layers) + layer, "decoder/self");
  Vertex normed = builder.layer_norm("norm", x);
  Projected p = project(builder, "attention", normed, normed, net);
  Vertex y = attend(builder, p.query, p.key, p.value, {net.heads, net.target_length, 0, std::nullopt, true});
  x = add_residual(builder, "residual", y, x, net.dropout);
  builder.begin_block(name + "/cross", BlockRole::Layer, static_cast<int>(net.encoder_layers) + layer, "decoder/cross");
  normed = builder.layer_norm("norm", x);
  p = project(builder, "attention", normed, memory, net);
  y = attend(builder, p.query, p.key, p.value, {net.heads, net.length, 0, std::nullopt, false});
  x = add_residual(builder, "residual", y, x, net.dropout);
  return named_feed_forward(builder, "ffn", x, net, OperatorKind::Relu);
}

// Two 3x3 convolutions with stride 2 over time and frequency, and a projection of each time step.
Vertex add_frontend(LayerBuilder& builder, Conformer& net) {
  builder.begin_block("frontend", BlockRole::Embedding);
  const std::int64_t batch = builder.request().micro_batch_size;
  Vertex x = builder.input("features", {batch, net.frames, net.mels, 1}, builder.request().precision);
  x = builder.elementwise("normalize", {x}, 2);
  for (const char* name : {"subsample_1", "subsample_2"}) {
    ConvolutionLayer layer{net.hidden, 3, 3, 2};
    layer.bias = true;
    x = builder.activation(std::string(name) + "_activation", builder.convolution(name, x, layer), OperatorKind::Relu);
  }
  const std::vector<std::int64_t> shape = builder.tensor(x).shape;
  net.length = shape[1];
  x = builder.rearrange("to_sequence", OperatorKind::Transpose, {x}, {batch, shape[1], shape[2] * shape[3]});
  x = builder.elementwise("scale", {builder.dense("project", x, net.hidden)});
  return builder.dropout("dropout", x, net.dropout);
}

// CTC: forward and backward variables of 2 L + 1 states, one serial step for each time step.
Vertex add_ctc(LayerBuilder& builder, Vertex memory, Vertex labels, const Conformer& net) {
  const std::int64_t batch = builder.request().micro_batch_size;
  builder.begin_block("ctc", BlockRole::Head);
  const Vertex scores = builder.softmax("softmax", builder.dense("output", memory, net.vocabulary));
  const Vertex states = builder.rearrange("states", OperatorKind::Elementwise, {scores, labels},
                                          {batch, net.length, 2 * net.target_length + 1});
  builder.at(states).operations_per_element = kCtcOperations;
  builder.at(states).serial_splits = net.length;
  return builder.loss("loss", {states});
}

Conformer read_conformer(const WorkloadRequest& request) {
  const Options& options = request.options;
  Conformer net{};
  net.hidden = options.integer("hidden");
  net.heads = options.integer("heads");
  net.inner = options.integer("ffn");
  net.kernel = options.integer("kernel");
  net.encoder_layers = options.integer("encoder_layers");
  net.decoder_layers = options.integer("decoder_layers");
  net.vocabulary = options.integer("vocabulary");
  net.frames = options.integer("frames");
  net.mels = options.integer("mels");
  net.target_length = options.integer("target_length");
  net.dropout = options.number("dropout");
  check_heads(net.hidden, net.heads, options.where("heads"));
  check_divides(request, net.heads, "heads", options.where("heads"));
  check_divides(request, net.inner, "ffn", options.where("ffn"));
  if (net.kernel % 2 == 0) {
    throw UserError(options.where("kernel"), "the kernel is " + std::to_string(net.kernel), "choose an odd number");
  }
  return net;
}

class ConformerWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "conformer"; }
  [[nodiscard]] std::string description() const override {
    return "Conformer speech recognition with a transformer decoder and CTC; the defaults are the medium size.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    return {{"hidden", OptionType::Integer, 256, "Width of encoder and decoder.", 1},
            {"heads", OptionType::Integer, 4, "Attention heads.", 1},
            {"ffn", OptionType::Integer, 2048, "Inner width of the feed-forward modules.", 1},
            {"kernel", OptionType::Integer, 15, "Kernel of the depthwise convolution; odd.", 1},
            {"encoder_layers", OptionType::Integer, 12, "Conformer blocks.", 1},
            {"decoder_layers", OptionType::Integer, 6, "Transformer decoder layers.", 1},
            {"vocabulary", OptionType::Integer, 4233, "Output units.", 1},
            {"frames", OptionType::Integer, 1220, "Feature frames of a padded utterance.", 7},
            {"mels", OptionType::Integer, 80, "Mel bins of a frame.", 7},
            {"target_length", OptionType::Integer, 48, "Units of a padded transcript.", 1},
            {"dropout", OptionType::Number, 0.1, "Dropout probability outside attention.", 0, 0.99},
            tensor_parallel_option(),
            checkpoints_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override;
};

std::unique_ptr<WorkloadGraph> ConformerWorkload::build(const WorkloadRequest& request) const {
  Conformer net = read_conformer(request);
  LayerBuilder builder(name(), request);
  builder.graph().sample_name = "utterances";
  const std::int64_t batch = request.micro_batch_size;
  Vertex x = add_frontend(builder, net);
  const Vertex mask =
      builder.elementwise("mask", {builder.input("mask_input", {batch, net.length}, ElementType::Int32)}, 2);
  for (int layer = 0; layer < net.encoder_layers; ++layer) x = add_encoder_layer(builder, layer, x, mask, net);
  builder.begin_block("decoder_embedding", BlockRole::Layer, static_cast<int>(net.encoder_layers));
  const Vertex memory = builder.layer_norm("encoder_norm", x);
  const Vertex ids = builder.input("target_in", {batch, net.target_length}, ElementType::Int32);
  Vertex y = builder.embedding("embedding", ids, net.vocabulary, net.hidden);
  y = builder.dropout("dropout", builder.elementwise("position", {y}, 2), net.dropout);
  for (int layer = 0; layer < net.decoder_layers; ++layer) y = add_decoder_layer(builder, layer, y, memory, net);
  builder.begin_block("head", BlockRole::Head);
  const Vertex logits = builder.dense("output", builder.layer_norm("norm", y), net.vocabulary);
  if (!request.training) {
    builder.mark_result(logits);
    return builder.finish();
  }
  const Vertex labels = builder.input("target_out", {batch, net.target_length}, ElementType::Int32, InputRole::Label);
  const Vertex attention_loss = builder.cross_entropy("cross_entropy", logits, labels);
  const Vertex ctc_loss = add_ctc(builder, memory, labels, net);
  builder.mark_result(builder.elementwise("sum", {attention_loss, ctc_loss}, 3));
  return builder.finish();
}

}  // namespace

const Workload& workload_conformer() {
  static const ConformerWorkload workload;
  return workload;
}

}  // namespace podsim
