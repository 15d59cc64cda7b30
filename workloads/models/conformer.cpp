// Conformer (Gulati et al. 2020) with a transformer decoder and CTC, operator by operator as the speech example for
// IPUs builds it (graphcore/examples v2.6.0, speech/wenet_conformer/pytorch/src): one projection for keys and values,
// layer norms where the paper has batch norms, no shift of the position scores, tensors spread anew between layers.
#include "simulator/core/error.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/transformer.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

using enum ElementFunction;

struct Conformer {
  std::int64_t hidden, heads, inner, kernel, encoder_layers, decoder_layers, vocabulary;
  std::int64_t frames, mels, target_length;
  std::int64_t length = 0;  // of the encoder's sequence
  double dropout;
};

// y added to x with dropout; an encoder's layer multiplies y by a coefficient before, 1/2 or 1.
Vertex add_residual(LayerBuilder& builder, const std::string& name, Vertex y, Vertex x, double dropout, bool scaled) {
  y = builder.dropout(name + "_dropout", y, dropout);
  return scaled ? builder.functions(name, {y, x}, {Multiply, Add}) : builder.functions(name, {y, x}, {Add});
}

// The custom operator RemapCE: a linear layout again, forward and backward.
Vertex remap(LayerBuilder& builder, const std::string& name, Vertex x) {
  if (!builder.request().training) return x;
  return builder.rearrange(name, OperatorKind::Transpose, {x}, builder.tensor(x).shape);
}

// x * sigmoid(x), not fused.
Vertex swish(LayerBuilder& builder, const std::string& name, Vertex x) {
  const Vertex gate = builder.activation(name + "_sigmoid", x, OperatorKind::Sigmoid);
  return builder.functions(name, {x, gate}, {Multiply});
}

Vertex named_feed_forward(LayerBuilder& builder, const std::string& name, Vertex x, const Conformer& net,
                          bool encoder) {
  const std::int64_t width = builder.tensor(x).shape.back();
  Vertex y = builder.dense(name + "_up", builder.layer_norm(name + "_norm", x), net.inner, Split::Columns);
  y = encoder ? swish(builder, name + "_activation", y)
              : builder.activation(name + "_activation", y, OperatorKind::Relu);
  y = builder.dense(name + "_down", builder.dropout(name + "_dropout", y, net.dropout), width, Split::Rows);
  return add_residual(builder, name + "_residual", y, x, net.dropout, encoder);
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

struct Attention {
  std::int64_t key_length;
  Vertex mask;                      // 1 where there is something to attend to
  std::optional<Vertex> positions;  // added to the scores
};

// scores * mask + (mask - 1) * 1000, softmax, * mask.
Vertex masked_attention(LayerBuilder& builder, Vertex query, const Projected& p, const Attention& attention,
                        const Conformer& net) {
  const std::vector<std::int64_t> shape = builder.tensor(query).shape;  // [batch * heads, length, width]
  const std::int64_t groups = shape[0], length = shape[1], width = shape[2];
  Vertex x = builder.batched_matmul("scores", query, p.key, {groups, length, width, attention.key_length, false},
                                    {groups, length, attention.key_length});
  if (attention.positions) x = builder.functions("add_positions", {x, *attention.positions}, {Add});
  const Vertex outside = builder.functions("outside", {attention.mask}, {Subtract, Multiply});
  x = builder.functions("mask_scores", {x, attention.mask, outside}, {Divide, Multiply, Add});
  x = builder.functions("mask_probabilities", {builder.softmax("softmax", x), attention.mask}, {Multiply});
  x = builder.batched_matmul("context", x, p.value, {groups, length, attention.key_length, width, false},
                             {groups, length, width});
  x = builder.rearrange("merge_heads", OperatorKind::Transpose, {x}, {groups / net.heads, length, net.heads * width});
  return builder.dense("output", x, net.hidden, Split::Rows);
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
  y = swish(builder, "depthwise_activation", y);
  y = builder.dense("pointwise_2", y, {net.hidden, false, "", 1, false});
  builder.at(y).outputs.front().shape = sequence;
  return add_residual(builder, "convolution_residual", y, x, net.dropout, true);
}

Vertex add_encoder_layer(LayerBuilder& builder, int layer, Vertex x, Vertex mask, const Conformer& net) {
  builder.begin_block("encoder/" + std::to_string(layer), BlockRole::Layer, -1, "encoder");
  x = named_feed_forward(builder, "ffn_1", remap(builder, "remap_in", x), net, true);
  const Vertex normed = builder.layer_norm("attention_norm", x);
  const Projected p = project(builder, "attention", normed, normed, net);
  const Vertex query = builder.elementwise("bias_u", {p.query}, 1, net.hidden);
  const Vertex positions = position_scores(builder, p.query, net);
  const Vertex y = masked_attention(builder, query, p, {net.length, mask, positions}, net);
  x = add_residual(builder, "attention_residual", y, x, net.dropout, true);
  x = convolution_module(builder, x, net);
  x = named_feed_forward(builder, "ffn_2", x, net, true);
  return remap(builder, "remap_out", builder.layer_norm("norm", x));
}

struct Masks {
  Vertex memory, target;
};

// Two blocks, so that a layer's operators of self- and cross-attention have names of their own; one layer.
Vertex add_decoder_layer(LayerBuilder& builder, int layer, Vertex x, Vertex memory, const Masks& masks,
                         const Conformer& net) {
  const std::string name = "decoder/" + std::to_string(layer);
  builder.begin_block(name + "/self", BlockRole::Layer, static_cast<int>(net.encoder_layers) + layer, "decoder/self");
  Vertex normed = builder.layer_norm("norm", x);
  Projected p = project(builder, "attention", normed, normed, net);
  Vertex y = masked_attention(builder, p.query, p, {net.target_length, masks.target, std::nullopt}, net);
  x = remap(builder, "remap", add_residual(builder, "residual", y, x, net.dropout, false));
  builder.begin_block(name + "/cross", BlockRole::Layer, static_cast<int>(net.encoder_layers) + layer, "decoder/cross");
  normed = builder.layer_norm("norm", x);
  p = project(builder, "attention", normed, memory, net);
  y = masked_attention(builder, p.query, p, {net.length, masks.memory, std::nullopt}, net);
  x = add_residual(builder, "residual", y, x, net.dropout, false);
  return remap(builder, "remap", named_feed_forward(builder, "ffn", x, net, false));
}

// Two 3x3 convolutions with stride 2 over time and frequency, and a projection of each time step.
Vertex add_frontend(LayerBuilder& builder, Conformer& net) {
  builder.begin_block("frontend", BlockRole::Embedding);
  const std::int64_t batch = builder.request().micro_batch_size;
  Vertex x = builder.input("features", {batch, net.frames, net.mels, 1}, builder.request().precision);
  x = builder.functions("normalize", {x}, {Subtract, Multiply});
  for (const char* name : {"subsample_1", "subsample_2"}) {
    ConvolutionLayer layer{net.hidden, 3, 3, 2};
    layer.bias = true;
    x = builder.activation(std::string(name) + "_activation", builder.convolution(name, x, layer), OperatorKind::Relu);
  }
  const std::vector<std::int64_t> shape = builder.tensor(x).shape;
  net.length = shape[1];
  x = builder.rearrange("to_sequence", OperatorKind::Transpose, {x}, {batch, shape[1], shape[2] * shape[3]});
  x = builder.functions("scale", {builder.dense("project", x, net.hidden)}, {Multiply});
  return builder.dropout("dropout", x, net.dropout);
}

Vertex add_ctc(LayerBuilder& builder, Vertex memory, Vertex labels, const Conformer& net) {
  const std::int64_t batch = builder.request().micro_batch_size;
  builder.begin_block("ctc", BlockRole::Head);
  Operator ctc;
  ctc.kind = OperatorKind::CtcLoss;
  ctc.shape = CtcShape{batch, net.length, net.target_length, net.vocabulary};
  ctc.outputs = {{"", {batch}, builder.request().precision}};
  const Vertex probabilities = builder.softmax("log_softmax", builder.dense("output", memory, net.vocabulary));
  return builder.functions("mean", {builder.emit("loss", std::move(ctc), {probabilities, labels})}, {Divide});
}

// Kullback-Leibler divergence of smoothed one-hot labels y: the sum of y (log y - log softmax) over unmasked targets.
Vertex add_label_smoothing_loss(LayerBuilder& builder, Vertex logits, Vertex labels, Vertex mask) {
  const std::vector<std::int64_t> shape = builder.tensor(logits).shape;
  Vertex truth = builder.functions("one_hot", {labels}, {Compare, Multiply, Add}, shape);
  truth = builder.functions("log_truth", {truth}, {Logarithm});
  const Vertex x = builder.softmax("log_softmax", logits);
  const Vertex terms = builder.functions("divergence", {x, truth, mask}, {Subtract, Multiply, Multiply});
  return builder.functions("mean", {builder.rearrange("sum", OperatorKind::Reduction, {terms}, {1})}, {Divide});
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
  const Vertex mask = builder.functions("mask", {builder.input("mask_input", {batch, net.length}, ElementType::Int32)},
                                        {Compare, Select});
  for (int layer = 0; layer < net.encoder_layers; ++layer) x = add_encoder_layer(builder, layer, x, mask, net);
  builder.begin_block("decoder_embedding", BlockRole::Layer, static_cast<int>(net.encoder_layers));
  const Vertex memory = builder.layer_norm("encoder_norm", x);
  const Vertex ids = builder.input("target_in", {batch, net.target_length}, ElementType::Int32);
  Vertex y = builder.embedding("embedding", ids, net.vocabulary, net.hidden);
  y = builder.dropout("dropout", builder.functions("position", {y}, {Multiply, Add}), net.dropout);
  const std::vector<std::int64_t> square = {batch, net.target_length, net.target_length};
  const Vertex target = builder.functions("target_mask", {ids}, {Compare, Add, Compare}, square);
  for (int layer = 0; layer < net.decoder_layers; ++layer) {
    y = add_decoder_layer(builder, layer, y, memory, {mask, target}, net);
  }
  builder.begin_block("head", BlockRole::Head);
  const Vertex logits = builder.dense("output", builder.layer_norm("norm", y), net.vocabulary);
  if (!request.training) {
    builder.mark_result(logits);
    return builder.finish();
  }
  const Vertex labels = builder.input("target_out", {batch, net.target_length}, ElementType::Int32, InputRole::Label);
  const Vertex attention_loss = add_label_smoothing_loss(builder, logits, labels, target);
  const Vertex ctc_loss = add_ctc(builder, memory, labels, net);
  const Vertex loss = builder.functions("weighted", {attention_loss, ctc_loss}, {Multiply, Multiply, Add});
  builder.mark_result(builder.loss("total", {loss}));
  return builder.finish();
}

}  // namespace

const Workload& workload_conformer() {
  static const ConformerWorkload workload;
  return workload;
}

}  // namespace podsim
