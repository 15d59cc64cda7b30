// The parts that transformer families share: self- and cross-attention, the feed-forward network, and common options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/layers.hpp"

namespace podsim {

struct AttentionLayer {
  std::int64_t heads = 0;
  std::int64_t key_length = 0;                // tokens of keys and values, for each sample
  double dropout = 0;                         // of the probabilities
  std::optional<WorkloadGraph::Vertex> mask;  // added to the scores
  bool causal = false;                        // a constant triangular mask is added
};

// Multi-head attention of x [batch, length, hidden] with itself: one fused query-key-value projection (as the IPU
// implementations of BERT and GPT-2 do), split into heads, scores, softmax, context, merged heads, output projection.
// Operators: query_key_value, query, key, value, scores, …, output.
[[nodiscard]] WorkloadGraph::Vertex self_attention(LayerBuilder& builder, WorkloadGraph::Vertex x,
                                                   const AttentionLayer& layer);

// The same with queries from x and keys and values from memory [batch, key_length, hidden].
[[nodiscard]] WorkloadGraph::Vertex cross_attention(LayerBuilder& builder, WorkloadGraph::Vertex x,
                                                    WorkloadGraph::Vertex memory, const AttentionLayer& layer);

// Splits [batch, length, width] into [batch * heads, length, width / heads] (or its transpose, for keys).
[[nodiscard]] WorkloadGraph::Vertex split_heads(LayerBuilder& builder, const std::string& name, WorkloadGraph::Vertex x,
                                                std::int64_t heads, std::int64_t hidden, bool transposed = false);

// Scores to output projection, for projected and split query, transposed key, and value. `position_scores`, where
// given, are added to the scores.
[[nodiscard]] WorkloadGraph::Vertex attend(LayerBuilder& builder, WorkloadGraph::Vertex query,
                                           WorkloadGraph::Vertex key, WorkloadGraph::Vertex value,
                                           const AttentionLayer& layer,
                                           std::optional<WorkloadGraph::Vertex> position_scores = std::nullopt);

// dense(inner) -> activation -> dense(width of x). Operators: up, activation, down.
[[nodiscard]] WorkloadGraph::Vertex feed_forward(LayerBuilder& builder, WorkloadGraph::Vertex x, std::int64_t inner,
                                                 OperatorKind activation, double inner_dropout = 0);

// UserError unless `heads` divides `hidden`.
void check_heads(std::int64_t hidden, std::int64_t heads, const std::string& where);

}  // namespace podsim
