// SchNet (Schütt et al. 2017) as the PyTorch Geometric implementation for IPUs runs it on packed molecules: all
// pairwise distances, the k nearest neighbours, continuous-filter convolutions with gather and scatter, energies of
// molecules.
#include <cmath>

#include "workloads/layers.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

constexpr std::int64_t kElements = 100;  // rows of the atom embedding
using enum ElementFunction;
using Functions = std::vector<ElementFunction>;

// hydronet/model.py and torch_geometric/nn/models/schnet.py, operator by operator.
const Functions kSoftplus = {Absolute, Negate, Exponent, LogOnePlus, Maximum, Add, Subtract};
const Functions kDifference = {Subtract, Square};
const Functions kMask = {SquareRoot, Compare, Compare, Compare, LogicalOr, LogicalOr, Select, Negate};
const Functions kGaussian = {Subtract, Square, Multiply, Exponent};
const Functions kCutoff = {Multiply, Divide, Cosine, Add, Multiply};

struct SchNet {
  std::int64_t atoms, edges, neighbours, features, gaussians, interactions, molecules;
};

Vertex softplus(LayerBuilder& builder, const std::string& name, Vertex x) {
  return builder.functions(name, {x}, kSoftplus);
}

struct Interactions {
  Vertex neighbours;  // indices, and …
  Vertex distances;   // … lengths of the edges
};

Interactions find_neighbours(LayerBuilder& builder, const SchNet& net, Vertex positions, Vertex molecules) {
  Vertex x = builder.functions("pair_differences", {positions}, kDifference, {net.atoms, net.atoms, 3});
  x = builder.rearrange("pair_distances", OperatorKind::Reduction, {x}, {net.atoms, net.atoms});
  x = builder.functions("mask", {x, molecules}, kMask);
  Operator top_k;
  top_k.kind = OperatorKind::TopK;
  top_k.shape = TopKShape{net.atoms, net.atoms, net.neighbours};
  top_k.outputs = {{"", {net.edges}, builder.request().precision}};
  x = builder.emit("nearest", std::move(top_k), {x});
  return {x, x};
}

Operator indexed(OperatorKind kind, const SchNet& net, std::vector<std::int64_t> shape, ElementType type) {
  Operator op;
  op.kind = kind;
  op.shape = GatherShape{net.edges, net.atoms, net.features};
  op.outputs = {{"", std::move(shape), type}};
  return op;
}

Vertex add_interaction(LayerBuilder& builder, const SchNet& net, int index, Vertex x, Vertex radial,
                       const Interactions& edges) {
  builder.begin_block("interaction/" + std::to_string(index), BlockRole::Layer, index, "interaction");
  const ElementType type = builder.request().precision;
  Vertex filter = softplus(builder, "filter_activation", builder.dense("filter_1", radial, net.features));
  const Vertex cutoff = builder.functions("cutoff", {edges.distances}, kCutoff);
  filter = builder.elementwise("filter_cutoff", {builder.dense("filter_2", filter, net.features), cutoff});
  Vertex y = builder.dense("project", x, {net.features, false, "", 1, false});
  y = builder.emit("gather", indexed(OperatorKind::Gather, net, {net.edges, net.features}, type),
                   {y, edges.neighbours});
  y = builder.elementwise("message", {y, filter});
  y = builder.emit("scatter", indexed(OperatorKind::Scatter, net, {net.atoms, net.features}, type),
                   {y, edges.neighbours});
  y = builder.dense("update", y, net.features);
  y = builder.dense("output", softplus(builder, "activation", y), net.features);
  return builder.add("residual", x, y);
}

// Energies of atoms summed to molecules; mean squared error against the targets.
void add_head(LayerBuilder& builder, const SchNet& net, Vertex x, Vertex molecules) {
  builder.begin_block("head", BlockRole::Head);
  x = builder.dense("reduce", x, net.features / 2);
  x = builder.dense("energy", softplus(builder, "activation", x), 1);
  Operator sum;
  sum.kind = OperatorKind::Scatter;
  sum.shape = GatherShape{net.atoms, net.molecules, 1};
  sum.outputs = {{"", {net.molecules}, builder.request().precision}};
  x = builder.emit("sum_molecules", std::move(sum), {x, molecules});
  if (!builder.request().training) {
    builder.mark_result(x);
    return;
  }
  const Vertex target = builder.input("energies", {net.molecules}, builder.request().precision, InputRole::Label);
  const Vertex squares = builder.elementwise("squared_error", {x, target}, 2);
  builder.mark_result(builder.loss("loss", {squares}));
}

SchNet read_schnet(const WorkloadRequest& request) {
  const Options& options = request.options;
  SchNet net{};
  net.atoms = request.micro_batch_size * options.integer("atoms_per_pack");
  net.neighbours = options.integer("neighbours");
  net.edges = net.atoms * net.neighbours;
  net.features = options.integer("features");
  net.gaussians = options.integer("gaussians");
  net.interactions = options.integer("interactions");
  net.molecules = request.micro_batch_size * options.integer("molecules_per_pack");
  return net;
}

class SchNetWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "schnet"; }
  [[nodiscard]] std::string description() const override {
    return "SchNet graph network on packs of molecules; a micro-batch counts packs.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    return {{"features", OptionType::Integer, 100, "Width of atoms and filters.", 2},
            {"interactions", OptionType::Integer, 4, "Interaction blocks.", 1},
            {"gaussians", OptionType::Integer, 25, "Radial basis functions.", 1},
            {"neighbours", OptionType::Integer, 28, "Nearest neighbours of an atom.", 1},
            {"atoms_per_pack", OptionType::Integer, 36, "Atoms of a pack, padding included.", 2},
            {"molecules_per_pack", OptionType::Integer, 2, "Molecules of a pack; what throughput counts.", 1}};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const SchNet net = read_schnet(request);
    LayerBuilder builder(name(), request);
    builder.graph().samples_per_micro_batch = net.molecules;
    builder.graph().sample_name = "graphs";
    builder.begin_block("embedding", BlockRole::Embedding);
    const Vertex atoms = builder.input("atomic_numbers", {net.atoms}, ElementType::Int32);
    const Vertex positions = builder.input("positions", {net.atoms, 3}, request.precision);
    const Vertex molecules = builder.input("molecules", {net.atoms}, ElementType::Int32);
    Vertex x = builder.embedding("atoms", atoms, kElements, net.features);
    const Interactions edges = find_neighbours(builder, net, positions, molecules);
    const Vertex radial = builder.functions("radial_basis", {edges.distances}, kGaussian, {net.edges, net.gaussians});
    for (int index = 0; index < net.interactions; ++index) {
      x = add_interaction(builder, net, index, x, radial, edges);
    }
    add_head(builder, net, x, molecules);
    return builder.finish();
  }
};

}  // namespace

const Workload& workload_schnet() {
  static const SchNetWorkload workload;
  return workload;
}

}  // namespace podsim
