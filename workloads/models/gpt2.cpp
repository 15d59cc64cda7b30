// GPT-2 with a language-model head tied to the word embedding, from a Hugging Face config.json. A layer is two blocks,
// attention and feed-forward.
#include "simulator/core/error.hpp"
#include "workloads/model_config.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/transformer.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

struct Gpt2 {
  std::int64_t vocabulary, hidden, layers, heads, inner, positions, sequence_length;
  double residual_dropout, attention_dropout, embedding_dropout;
  OperatorKind activation = OperatorKind::Gelu;
};

// The published sizes. Radford et al. 2019, table 2.
Value published_config(const std::string& variant) {
  const bool small = variant == "small", medium = variant == "medium", large = variant == "large";
  Value config;
  config.set("vocab_size", 50257);
  config.set("n_positions", 1024);
  config.set("n_embd", small ? 768 : medium ? 1024 : large ? 1280 : 1600);
  config.set("n_layer", small ? 12 : medium ? 24 : large ? 36 : 48);
  config.set("n_head", small ? 12 : medium ? 16 : large ? 20 : 25);
  return config;
}

Gpt2 read_gpt2(const WorkloadRequest& request) {
  const Options& options = request.options;
  const ModelConfig config = model_config(request, "gpt2", "small", published_config);
  Gpt2 gpt{};
  gpt.vocabulary = padded_vocabulary(request, config.size("vocab_size"));
  gpt.hidden = config.size("n_embd");
  gpt.layers = config.size("n_layer");
  gpt.heads = config.size("n_head");
  gpt.inner = config.size("n_inner", 4 * gpt.hidden);
  gpt.positions = config.size("n_positions");
  gpt.residual_dropout = config.probability("resid_pdrop", 0.1);
  gpt.attention_dropout = config.probability("attn_pdrop", 0.1);
  gpt.embedding_dropout = config.probability("embd_pdrop", 0.1);
  gpt.activation =
      activation_named(config.text("activation_function", "gelu_new"), config.where("activation_function"));
  check_heads(gpt.hidden, gpt.heads, config.where("n_head"));
  check_divides(request, gpt.heads, "n_head", config.where("n_head"));
  check_divides(request, gpt.inner, "n_inner", config.where("n_inner"));
  gpt.sequence_length = options.integer("sequence_length");
  if (gpt.sequence_length > gpt.positions) {
    throw UserError(options.where("sequence_length"),
                    "sequence length " + std::to_string(gpt.sequence_length) + " is beyond n_positions " +
                        std::to_string(gpt.positions),
                    "shorten the sequences, or raise n_positions in the config");
  }
  return gpt;
}

Vertex add_layer(LayerBuilder& builder, const Gpt2& gpt, int layer, Vertex x) {
  const std::string name = "decoder/" + std::to_string(layer);
  builder.begin_block(name + "/attention", BlockRole::Layer, layer, "decoder/attention");
  Vertex y = builder.layer_norm("norm", x);
  y = self_attention(builder, y, {gpt.heads, gpt.sequence_length, gpt.attention_dropout, std::nullopt, true});
  x = builder.add("residual", builder.dropout("dropout", y, gpt.residual_dropout), x);
  builder.begin_block(name + "/ffn", BlockRole::Layer, layer, "decoder/ffn");
  y = feed_forward(builder, builder.layer_norm("norm", x), gpt.inner, gpt.activation);
  return builder.add("residual", builder.dropout("dropout", y, gpt.residual_dropout), x);
}

class Gpt2Workload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "gpt2"; }
  [[nodiscard]] std::string description() const override {
    return "GPT-2 with a language-model head, from a Hugging Face config.json.";
  }
  [[nodiscard]] bool reads_config() const override { return true; }
  [[nodiscard]] std::vector<Option> options() const override {
    Option variant{"variant", OptionType::Choice, {}, "Published size, where no config is given (small, then)."};
    variant.choices = {"small", "medium", "large", "xl"};
    return {variant,
            {"sequence_length", OptionType::Integer, 1024, "Tokens of a sequence.", 1},
            tensor_parallel_option(),
            checkpoints_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const Gpt2 gpt = read_gpt2(request);
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = "sequences";
    builder.graph().head_with_embedding = true;
    const std::vector<std::int64_t> shape = {request.micro_batch_size, gpt.sequence_length};
    builder.begin_block("embedding", BlockRole::Embedding);
    const Vertex ids = builder.input("input_ids", shape, ElementType::Int32);
    Vertex x = builder.embedding("word", ids, gpt.vocabulary, gpt.hidden, request.embedding_serialization, Split::Rows);
    x = builder.elementwise("position", {x}, 1, gpt.positions * gpt.hidden);
    x = builder.dropout("dropout", x, gpt.embedding_dropout);
    for (int layer = 0; layer < gpt.layers; ++layer) x = add_layer(builder, gpt, layer, x);
    builder.begin_block("head", BlockRole::Head);
    DenseLayer head{gpt.vocabulary, false,         "embedding/word/weight", request.projection_serialization,
                    false,          Split::Columns};
    x = builder.dense("language_model", builder.layer_norm("norm", x), head);
    if (request.training) {
      const Vertex labels = builder.input("labels", shape, ElementType::Int32, InputRole::Label);
      x = builder.cross_entropy("cross_entropy", x, labels);
    }
    builder.mark_result(x);
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_gpt2() {
  static const Gpt2Workload workload;
  return workload;
}

}  // namespace podsim
