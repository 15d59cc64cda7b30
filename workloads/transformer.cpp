// Attention and feed-forward networks as operators, in the order in which PopART runs them.
#include "workloads/transformer.hpp"

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

Vertex masked_scores(LayerBuilder& builder, Vertex scores, const AttentionLayer& layer,
                     std::optional<Vertex> position_scores) {
  // Scaling by 1 / sqrt(width of a head), and one addition for each thing that is added.
  std::vector<Vertex> operands = {scores};
  double operations = 1;
  for (const std::optional<Vertex>& operand : {position_scores, layer.mask}) {
    if (!operand) continue;
    operands.push_back(*operand);
    ++operations;
  }
  if (layer.causal) ++operations;
  return builder.elementwise("scale_and_mask", operands, operations);
}

}  // namespace

void check_heads(std::int64_t hidden, std::int64_t heads, const std::string& where) {
  if (hidden % heads == 0) return;
  throw UserError(where,
                  std::to_string(heads) + " attention heads do not divide the hidden size " + std::to_string(hidden),
                  "choose a number of heads that divides the hidden size");
}

Vertex split_heads(LayerBuilder& builder, const std::string& name, Vertex x, std::int64_t heads, std::int64_t hidden,
                   bool transposed) {
  const std::int64_t batch = builder.tensor(x).shape[0];
  const std::int64_t length = builder.tensor(x).shape[1];
  const std::int64_t width = hidden / heads;
  std::vector<std::int64_t> shape = transposed ? std::vector<std::int64_t>{batch * heads, width, length}
                                               : std::vector<std::int64_t>{batch * heads, length, width};
  return builder.rearrange(name, OperatorKind::Transpose, {x}, std::move(shape));
}

Vertex attend(LayerBuilder& builder, Vertex query, Vertex key, Vertex value, const AttentionLayer& layer,
              std::optional<Vertex> position_scores) {
  const std::vector<std::int64_t> shape = builder.tensor(query).shape;  // [batch * heads, length, width]
  const std::int64_t groups = shape[0], length = shape[1], width = shape[2];
  Vertex x = builder.batched_matmul("scores", query, key, {groups, length, width, layer.key_length, false},
                                    {groups, length, layer.key_length});
  x = masked_scores(builder, x, layer, position_scores);
  x = builder.softmax("softmax", x);
  x = builder.dropout("probability_dropout", x, layer.dropout);
  x = builder.batched_matmul("context", x, value, {groups, length, layer.key_length, width, false},
                             {groups, length, width});
  const std::int64_t hidden = layer.heads * width;
  x = builder.rearrange("merge_heads", OperatorKind::Transpose, {x}, {groups / layer.heads, length, hidden});
  return builder.dense("output", x, hidden, Split::Rows);
}

Vertex self_attention(LayerBuilder& builder, Vertex x, const AttentionLayer& layer) {
  const std::int64_t hidden = builder.tensor(x).shape.back();
  const Vertex projected = builder.dense("query_key_value", x, 3 * hidden, Split::Columns);
  const Vertex query = split_heads(builder, "query", projected, layer.heads, hidden);
  const Vertex key = split_heads(builder, "key", projected, layer.heads, hidden, true);
  const Vertex value = split_heads(builder, "value", projected, layer.heads, hidden);
  return attend(builder, query, key, value, layer);
}

Vertex cross_attention(LayerBuilder& builder, Vertex x, Vertex memory, const AttentionLayer& layer) {
  const std::int64_t hidden = builder.tensor(x).shape.back();
  const Vertex from_x = builder.dense("query_projection", x, hidden, Split::Columns);
  const Vertex from_memory = builder.dense("key_value_projection", memory, 2 * hidden, Split::Columns);
  const Vertex query = split_heads(builder, "query", from_x, layer.heads, hidden);
  const Vertex key = split_heads(builder, "key", from_memory, layer.heads, hidden, true);
  const Vertex value = split_heads(builder, "value", from_memory, layer.heads, hidden);
  return attend(builder, query, key, value, layer);
}

Vertex feed_forward(LayerBuilder& builder, Vertex x, std::int64_t inner, OperatorKind activation,
                    double inner_dropout) {
  const std::int64_t width = builder.tensor(x).shape.back();
  x = builder.dense("up", x, inner, Split::Columns);
  x = builder.activation("activation", x, activation);
  x = builder.dropout("inner_dropout", x, inner_dropout);
  return builder.dense("down", x, width, Split::Rows);
}

}  // namespace podsim
