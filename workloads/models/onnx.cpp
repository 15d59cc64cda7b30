// Any model from an ONNX file: shapes and operators only, weights are not read. Backward pass and update are derived as
// for the other workloads; the loss, which such files lack, is a cross entropy or a difference from given values.
#include <algorithm>

#include "simulator/core/error.hpp"
#include "workloads/onnx_graph.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

const OnnxHandlers& all_handlers() {
  static const OnnxHandlers handlers = [] {
    OnnxHandlers all = onnx_layers();
    all.insert(onnx_elementwise().begin(), onnx_elementwise().end());
    for (const OnnxHandlers* more : {&onnx_shapes(), &onnx_images(), &onnx_einsum()}) {
      all.insert(more->begin(), more->end());
    }
    return all;
  }();
  return handlers;
}

std::string supported_operations() {
  std::vector<std::string> names;
  for (const auto& entry : all_handlers()) names.push_back(entry.first);
  return joined(names);
}

std::map<std::string, std::int64_t> read_dimensions(const Options& options) {
  std::map<std::string, std::int64_t> sizes;
  if (!options.has("dimensions")) return sizes;
  for (const auto& [name, size] : options.value("dimensions").object()) {
    if (size.integer() < 1) throw UserError(size.where(), "a dimension must be at least 1", "give a positive size");
    sizes[name] = size.integer();
  }
  return sizes;
}

// Relative to the scenario's folder or, for names given on the command line, to the current one.
std::filesystem::path resolved(const WorkloadRequest& request) {
  const std::filesystem::path given = request.options.text("file");
  const std::filesystem::path beside = given.is_absolute() ? given : request.folder / given;
  return std::filesystem::exists(beside) || !std::filesystem::exists(given) ? beside : given;
}

class BlockStarts {
 public:
  BlockStarts(const Options& options, const OnnxModel& model) {
    std::vector<std::string> known;
    for (const OnnxNode& node : model.nodes) known.push_back(node.name);
    for (const std::string& name : options.texts("block_starts")) {
      if (name.empty() || std::find(known.begin(), known.end(), name) == known.end()) {
        const std::string nearest = nearest_name(name, known);
        throw UserError(options.where("block_starts"), "no node \"" + name + "\"",
                        nearest.empty() ? "name a node of the model" : "did you mean \"" + nearest + "\"?");
      }
      names_.insert(name);
    }
  }
  [[nodiscard]] bool given() const { return !names_.empty(); }
  [[nodiscard]] bool contains(const OnnxNode& node) const { return names_.contains(node.name); }

 private:
  std::set<std::string> names_;
};

void add_nodes(OnnxGraph& graph, const OnnxModel& model, const BlockStarts& starts) {
  if (starts.given()) graph.use_given_blocks();
  if (!starts.contains(model.nodes.front())) graph.begin_block("layer0");
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const OnnxNode& node = model.nodes[i];
    if (starts.contains(node)) graph.begin_block(node.name);
    graph.begin_node(node, i);
    const auto handler = all_handlers().find(node.operation);
    if (handler == all_handlers().end()) {
      graph.fail("is of a kind that podsim does not know", "supported: " + supported_operations());
    }
    handler->second(graph);
  }
}

// Each output of the model: a loss against labels from the host in training, else a result for the host.
void add_results(OnnxGraph& graph, const OnnxModel& model, const std::string& where) {
  LayerBuilder& builder = graph.builder();
  int results = 0;
  for (const std::string& name : model.outputs) {
    const OnnxValue& value = graph.result(name);
    if (!value.vertex) continue;
    ++results;
    if (!builder.request().training) {
      builder.mark_result(*value.vertex);
      continue;
    }
    const std::string number = results == 1 ? "" : "_" + std::to_string(results);
    const bool classes = value.rank() >= 2 && value.shape.back() > 1;
    const OnnxShape shape(value.shape.begin(), value.shape.end() - (classes ? 1 : 0));
    const Vertex labels = builder.input("labels" + number, shape,
                                        classes ? ElementType::Int32 : builder.request().precision, InputRole::Label);
    const bool normalised = builder.at(*value.vertex).kind == OperatorKind::Softmax;
    builder.mark_result(classes && !normalised ? builder.cross_entropy("cross_entropy" + number, *value.vertex, labels)
                                               : builder.loss("loss" + number, {*value.vertex, labels}));
  }
  if (results == 0) throw UserError(where, "the model computes nothing from its inputs", "export the model again");
}

class OnnxWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "onnx"; }
  [[nodiscard]] std::string description() const override {
    return "A model from an ONNX file; blocks layer0, layer1, … begin at nodes with weights.";
  }
  [[nodiscard]] std::vector<Option> options() const override {
    Option file{"file", OptionType::Text, {}, "The .onnx file; weights, also external ones, are not read."};
    file.required = true;
    return {file,
            {"dimensions",
             OptionType::Object,
             {},
             "Sizes of the inputs' free dimensions by name, besides the first one, which is the micro-batch."},
            {"block_starts", OptionType::Texts, Value(Value::Array{}),
             "Names of the nodes at which blocks begin, where a pipeline may be cut; none: at each one with weights."},
            checkpoints_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    const std::string where = request.options.where("file");
    OnnxModel model = read_onnx(resolved(request), where);
    fuse_gelu(model);
    OnnxGraph graph(model, request, read_dimensions(request.options), where);
    add_nodes(graph, model, BlockStarts(request.options, model));
    add_results(graph, model, where);
    return graph.builder().finish();
  }
};

}  // namespace

const Workload& workload_onnx() {
  static const OnnxWorkload workload;
  return workload;
}

}  // namespace podsim
