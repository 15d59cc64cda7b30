// BERT: pre-training with masked-LM and next-sentence heads, or question answering, from a Hugging Face config.json.
// A layer is two blocks, attention and feed-forward, since published pipelines cut between them.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "simulator/core/error.hpp"
#include "workloads/model_config.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/transformer.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

struct Bert {
  std::int64_t vocabulary, hidden, layers, heads, inner, positions, types;
  double hidden_dropout, attention_dropout;
  OperatorKind activation = OperatorKind::Gelu;
  bool pretraining = true;
  std::int64_t sequence_length, masked_tokens, sequences_per_pack;
};

// The two published sizes, as their config.json have them. Devlin et al. 2019, section 3.
Value published_config(const std::string& variant) {
  const bool large = variant == "large";
  Value config;
  config.set("vocab_size", 30522);
  config.set("hidden_size", large ? 1024 : 768);
  config.set("num_hidden_layers", large ? 24 : 12);
  config.set("num_attention_heads", large ? 16 : 12);
  config.set("intermediate_size", large ? 4096 : 3072);
  config.set("max_position_embeddings", 512);
  return config;
}

// max_predictions_per_seq of the published pre-training configurations; elsewhere 15% of the tokens (Devlin et al.).
std::int64_t default_masked_tokens(std::int64_t sequence_length) {
  switch (sequence_length) {
    case 128: return 20;
    case 384: return 56;
    case 512: return 76;
    default: return std::max<std::int64_t>(1, sequence_length * 15 / 100);
  }
}

Bert read_bert(const WorkloadRequest& request) {
  const Options& options = request.options;
  const ModelConfig config = model_config(request, "bert", "base", published_config);
  Bert bert{};
  bert.vocabulary = padded_vocabulary(request, config.size("vocab_size"));
  bert.hidden = config.size("hidden_size");
  bert.layers = config.size("num_hidden_layers");
  bert.heads = config.size("num_attention_heads");
  bert.inner = config.size("intermediate_size");
  bert.positions = config.size("max_position_embeddings");
  bert.types = config.size("type_vocab_size", 2);
  bert.hidden_dropout = config.probability("hidden_dropout_prob", 0.1);
  bert.attention_dropout = config.probability("attention_probs_dropout_prob", 0.1);
  bert.activation = activation_named(config.text("hidden_act", "gelu"), config.where("hidden_act"));
  check_heads(bert.hidden, bert.heads, config.where("num_attention_heads"));
  check_divides(request, bert.heads, "num_attention_heads", config.where("num_attention_heads"));
  check_divides(request, bert.inner, "intermediate_size", config.where("intermediate_size"));
  const std::string embedding = config.text("position_embedding_type", "absolute");
  if (embedding != "absolute") {
    throw UserError(config.where("position_embedding_type"), "position embedding \"" + embedding + "\" is not known",
                    "use \"absolute\"");
  }
  bert.pretraining = options.text("task") == "pretraining";
  bert.sequence_length = options.integer("sequence_length");
  bert.sequences_per_pack = options.integer("sequences_per_pack");
  if (bert.sequence_length > bert.positions) {
    throw UserError(options.where("sequence_length"),
                    "sequence length " + std::to_string(bert.sequence_length) + " is beyond max_position_embeddings " +
                        std::to_string(bert.positions),
                    "shorten the sequences, or raise max_position_embeddings in the config");
  }
  bert.masked_tokens =
      options.has("masked_tokens") ? options.integer("masked_tokens") : default_masked_tokens(bert.sequence_length);
  if (bert.masked_tokens > bert.sequence_length) {
    throw UserError(
        options.where("masked_tokens"),
        std::to_string(bert.masked_tokens) + " masked tokens in sequences of " + std::to_string(bert.sequence_length),
        "mask fewer tokens than a sequence has");
  }
  if (!bert.pretraining && (options.has("masked_tokens") || bert.sequences_per_pack > 1)) {
    throw UserError(options.where(), "masked_tokens and sequences_per_pack concern pretraining only", "remove them");
  }
  return bert;
}

struct Embedded {
  Vertex x;
  Vertex mask;
};

// Token ids, types, mask (and positions, where several sequences share a pack) from the host; sum of the embeddings.
Embedded add_embedding(LayerBuilder& builder, const Bert& bert) {
  const std::int64_t batch = builder.request().micro_batch_size;
  const std::vector<std::int64_t> shape = {batch, bert.sequence_length};
  const bool packed = bert.sequences_per_pack > 1;
  builder.begin_block("embedding", BlockRole::Embedding);
  const Vertex ids = builder.input("input_ids", shape, ElementType::Int32);
  const Vertex mask_input = builder.input("attention_mask", shape, ElementType::Int32);
  const Vertex types = builder.input("token_type_ids", shape, ElementType::Int32);
  const Vertex words = builder.embedding("word", ids, bert.vocabulary, bert.hidden,
                                         builder.request().embedding_serialization, Split::Rows);
  const Vertex type = builder.embedding("token_type", types, bert.types, bert.hidden);
  Vertex x = builder.add("add_token_type", words, type);
  if (packed) {
    const Vertex positions = builder.input("position_ids", shape, ElementType::Int32);
    x = builder.add("add_position", x, builder.embedding("position", positions, bert.positions, bert.hidden));
  } else {
    x = builder.elementwise("position", {x}, 1, bert.positions * bert.hidden);  // the same rows for each sequence
  }
  x = builder.layer_norm("norm", x);
  x = builder.dropout("dropout", x, bert.hidden_dropout);
  // (1 - mask) * -10000, or for packs -10000 wherever two tokens belong to different sequences.
  Vertex mask = builder.elementwise("mask", {mask_input}, 2);
  if (packed) {
    mask = builder.rearrange("pack_mask", OperatorKind::Elementwise, {mask},
                             {batch, bert.sequence_length, bert.sequence_length});
  }
  return {x, mask};
}

Vertex add_layer(LayerBuilder& builder, const Bert& bert, int layer, Vertex x, Vertex mask) {
  const std::string name = "encoder/" + std::to_string(layer);
  builder.begin_block(name + "/attention", BlockRole::Layer, layer, "encoder/attention");
  Vertex y = self_attention(builder, x, {bert.heads, bert.sequence_length, bert.attention_dropout, mask, false});
  y = builder.dropout("dropout", y, bert.hidden_dropout);
  x = builder.layer_norm("norm", builder.add("residual", y, x));
  builder.begin_block(name + "/ffn", BlockRole::Layer, layer, "encoder/ffn");
  y = feed_forward(builder, x, bert.inner, bert.activation);
  y = builder.dropout("dropout", y, bert.hidden_dropout);
  return builder.layer_norm("norm", builder.add("residual", y, x));
}

void finish_with(LayerBuilder& builder, const std::vector<Vertex>& logits, const std::vector<Vertex>& labels) {
  if (!builder.request().training) {
    for (const Vertex vertex : logits) builder.mark_result(vertex);
    return;
  }
  const Vertex first = builder.cross_entropy("loss_0", logits[0], labels[0]);
  const Vertex second = builder.cross_entropy("loss_1", logits[1], labels[1]);
  builder.mark_result(builder.add("loss", first, second));
}

// Masked tokens stand first in the sequence, so that a slice takes them (as PopART's and PopTorch's examples do).
void add_pretraining_head(LayerBuilder& builder, const Bert& bert, Vertex x) {
  const std::int64_t batch = builder.request().micro_batch_size;
  builder.begin_block("head", BlockRole::Head);
  Vertex y = builder.rearrange("masked_tokens", OperatorKind::Slice, {x}, {batch, bert.masked_tokens, bert.hidden});
  y = builder.dense("transform", y, bert.hidden);
  y = builder.activation("activation", y, bert.activation);
  y = builder.layer_norm("norm", y);
  DenseLayer decoder;
  decoder.columns = bert.vocabulary;
  decoder.tied_to = "embedding/word/weight";
  decoder.serial_splits = builder.request().projection_serialization;
  decoder.split = Split::Columns;
  const Vertex words = builder.dense("decoder", y, decoder);
  Vertex z =
      builder.rearrange("first_tokens", OperatorKind::Slice, {x}, {batch * bert.sequences_per_pack, bert.hidden});
  z = builder.dense("pooler", z, bert.hidden);
  z = builder.activation("pooler_activation", z, OperatorKind::Tanh);
  const Vertex next = builder.dense("next_sentence", z, 2);
  std::vector<Vertex> labels;
  if (builder.request().training) {
    labels = {
        builder.input("masked_lm_labels", {batch, bert.masked_tokens}, ElementType::Int32, InputRole::Label),
        builder.input("next_sentence_labels", {batch, bert.sequences_per_pack}, ElementType::Int32, InputRole::Label)};
  }
  finish_with(builder, {words, next}, labels);
  builder.graph().head_with_embedding = true;
}

void add_question_answering_head(LayerBuilder& builder, const Bert& bert, Vertex x) {
  const std::int64_t batch = builder.request().micro_batch_size;
  builder.begin_block("head", BlockRole::Head);
  const Vertex logits = builder.dense("outputs", x, 2);
  std::vector<Vertex> spans;
  for (const char* name : {"start_logits", "end_logits"}) {
    spans.push_back(builder.rearrange(name, OperatorKind::Slice, {logits}, {batch, bert.sequence_length}));
  }
  std::vector<Vertex> labels;
  if (builder.request().training) {
    for (const char* name : {"start_positions", "end_positions"}) {
      labels.push_back(builder.input(name, {batch}, ElementType::Int32, InputRole::Label));
    }
  }
  finish_with(builder, spans, labels);
}

class BertWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "bert"; }
  [[nodiscard]] std::string description() const override {
    return "BERT from a Hugging Face config.json: pre-training (masked LM and next sentence) or question answering.";
  }
  [[nodiscard]] bool reads_config() const override { return true; }
  [[nodiscard]] std::vector<Option> options() const override {
    Option task{"task", OptionType::Choice, "pretraining", "Heads: pretraining, or squad (question answering)."};
    task.choices = {"pretraining", "squad"};
    Option variant{"variant", OptionType::Choice, {}, "Published size, where no config is given (base, then)."};
    variant.choices = {"base", "large"};
    Option masked{"masked_tokens",
                  OptionType::Integer,
                  {},
                  "Masked tokens of a sequence; 20, 56 and 76 of 128, 384 and 512, else 15%, where not given.",
                  1};
    return {
        task,
        variant,
        {"sequence_length", OptionType::Integer, 128, "Tokens of a sequence or pack.", 1},
        masked,
        {"sequences_per_pack", OptionType::Integer, 1,
         "Most sequences in a pack; above 1, masks are made per pack and there are as many next-sentence labels.", 1},
        tensor_parallel_option(),
        checkpoints_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const Bert bert = read_bert(request);
    LayerBuilder builder(name(), request);
    builder.graph().sample_name = bert.sequences_per_pack > 1 ? "packs" : "sequences";
    auto [x, mask] = add_embedding(builder, bert);
    for (int layer = 0; layer < bert.layers; ++layer) x = add_layer(builder, bert, layer, x, mask);
    if (bert.pretraining) {
      add_pretraining_head(builder, bert, x);
    } else {
      add_question_answering_head(builder, bert, x);
    }
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_bert() {
  static const BertWorkload workload;
  return workload;
}

}  // namespace podsim
