// WorkloadGraph: a Boost.Graph DAG of operators (vertices) and tensors (edges), grouped into blocks.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <string>
#include <vector>

#include "workloads/operator.hpp"

namespace podsim {

// The place of a block in a published pipeline: layers_per_ipu counts Layer blocks only; Embedding goes
// before the first layer's IPU, Head behind the last one's or, where `head_with_embedding`, to the IPU
// of the embedding (its weights are tied).
enum class BlockRole : std::uint8_t { Embedding, Layer, Head };

struct Block {
  std::string name;  // "B1", "encoder/3/attention", "mlm_head"
  BlockRole role = BlockRole::Layer;
  int layer = -1;  // consecutive Layer blocks with an equal, non-negative number count as one layer
  int ipu = -1;    // placement given with the block, as poptorch.Block(ipu_id=…); -1: none
};

struct TensorEdge {
  int output = 0;  // which output of the producer
  std::int64_t bytes = 0;
};

class WorkloadGraph {
 public:
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Operator, TensorEdge>;
  using Vertex = Graph::vertex_descriptor;

  std::string model;
  std::vector<Block> blocks;  // in order of execution
  Graph graph;
  std::int64_t samples_per_micro_batch = 1;  // what throughput counts (sequences, images, packs)
  std::string sample_name = "samples";
  bool head_with_embedding = false;
  int ipus_per_stage = 1;      // that share the work of each stage …
  bool shares_domain = false;  // … by rows of images (domain sharding) instead of features and heads (tensor parallel)

  // Adds an operator that reads `producers` (their first output each); where `op.inputs` is empty, it is filled
  // with those outputs. Returns its vertex.
  Vertex add(Operator op, const std::vector<Vertex>& producers = {});
  // Makes `consumer` read output number `output` of `producer`; appends to the consumer's inputs.
  void connect(Vertex producer, int output, Vertex consumer);

  // Operators in a stable topological order. UserError that names an operator, when there is a cycle.
  [[nodiscard]] std::vector<Vertex> topological_order() const;

  // Trainable weights, tied ones counted once: what publications call the number of parameters.
  [[nodiscard]] std::int64_t parameter_count() const;
  // The same with moving averages and other weights that are not trained.
  [[nodiscard]] std::int64_t weight_count() const;
  // Forward AMP floating-point operations of one micro-batch.
  [[nodiscard]] double forward_flops() const;

  // UserError unless: acyclic, every operator reaches a block in order (no edge from a later to an
  // earlier block), names unique, every block has an operator besides inputs, every host input is read,
  // every tied weight has its owner.
  void validate() const;
};

}  // namespace podsim
