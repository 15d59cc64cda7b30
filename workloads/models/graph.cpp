// A plain JSON operator graph, for everything that has no family of its own. The format is described in
// workloads/examples/README.md; every key is checked.
#include <limits>
#include <map>

#include "simulator/core/error.hpp"
#include "workloads/domain_sharding.hpp"
#include "workloads/graph_shapes.hpp"
#include "workloads/tensor_parallel.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

class GraphReader {
 public:
  explicit GraphReader(const WorkloadRequest& request)
      : request_(request), sizes_(request.micro_batch_size, request.training) {}

  std::unique_ptr<WorkloadGraph> read() {
    const Options file = read_options(request_.config, file_keys());
    workload_ = std::make_unique<WorkloadGraph>();
    workload_->model = file.text("name");
    workload_->sample_name = file.text("sample_name");
    workload_->samples_per_micro_batch = file.has("samples_per_micro_batch")
                                             ? sizes_.extent(file.value("samples_per_micro_batch"))
                                             : request_.micro_batch_size;
    workload_->head_with_embedding = file.boolean("head_with_embedding");
    set_sharing(request_, *workload_);
    for (const Value& block : file.value("blocks").array()) read_block(block);
    for (const Value& op : file.value("operators").array()) read_operator(op);
    workload_->validate();
    return std::move(workload_);
  }

 private:
  static std::vector<Option> file_keys() {
    return {graph_key("name", OptionType::Text, "graph"),
            graph_key("sample_name", OptionType::Text, "samples"),
            graph_key("samples_per_micro_batch", OptionType::Any),
            graph_key("head_with_embedding", OptionType::Boolean, false),
            required_graph_key("blocks", OptionType::Any),
            required_graph_key("operators", OptionType::Any)};
  }

  [[nodiscard]] ElementType type_of(const Options& from) const {
    if (!from.has("type")) return request_.precision;
    using enum ElementType;
    for (const ElementType type : {Float32, Float16, Float8, Int32, Int8}) {
      if (name_of(type) == from.text("type")) return type;
    }
    throw UserError(from.where("type"), "unknown element type \"" + from.text("type") + "\"",
                    "known: fp32, fp16, fp8, int32, int8");
  }

  void read_block(const Value& value) {
    if (value.is_text()) {
      workload_->blocks.push_back({value.text(), BlockRole::Layer, -1, -1});
      return;
    }
    Option role = graph_key("role", OptionType::Choice, "layer");
    role.choices = {"embedding", "layer", "head"};
    Option layer = graph_key("layer", OptionType::Integer, -1);
    layer.minimum = -1;
    Option ipu = graph_key("ipu", OptionType::Integer, -1);
    ipu.minimum = -1;
    ipu.maximum = layer.maximum = std::numeric_limits<int>::max();
    const Options block = read_options(value, {required_graph_key("name", OptionType::Text), role, layer, ipu});
    const std::string& text = block.text("role");
    workload_->blocks.push_back({block.text("name"),
                                 text == "embedding" ? BlockRole::Embedding
                                 : text == "head"    ? BlockRole::Head
                                                     : BlockRole::Layer,
                                 static_cast<int>(block.integer("layer")), static_cast<int>(block.integer("ipu"))});
  }

  [[nodiscard]] int block_named(const Options& op) const {
    std::vector<std::string> names;
    for (std::size_t index = 0; index < workload_->blocks.size(); ++index) {
      if (workload_->blocks[index].name == op.text("block")) return static_cast<int>(index);
      names.push_back(workload_->blocks[index].name);
    }
    const std::string nearest = nearest_name(op.text("block"), names);
    throw UserError(op.where("block"), "unknown block \"" + op.text("block") + "\"",
                    nearest.empty() ? "name one of \"blocks\"" : "did you mean \"" + nearest + "\"?");
  }

  static std::vector<Option> operator_keys() {
    Option role = graph_key("role", OptionType::Choice);
    role.choices = {"sample", "label"};
    Option operations = graph_key("operations_per_element", OptionType::Number, 1.0);
    operations.minimum = 0;
    Option splits = graph_key("serial_splits", OptionType::Integer, 1);
    splits.minimum = 1;
    Option split = graph_key("split", OptionType::Choice, "none");
    split.choices = {"none", "columns", "heads", "rows"};
    std::vector<Option> keys = {required_graph_key("name", OptionType::Text),
                                required_graph_key("kind", OptionType::Text),
                                required_graph_key("block", OptionType::Text),
                                graph_key("inputs", OptionType::Texts, Value::Array{}),
                                required_graph_key("outputs", OptionType::Any),
                                graph_key("weights", OptionType::Any),
                                role,
                                operations,
                                graph_key("functions", OptionType::Texts),
                                splits,
                                split,
                                graph_key("result", OptionType::Boolean, false),
                                graph_key("checkpoint", OptionType::Boolean, false),
                                graph_key("differentiable", OptionType::Boolean, true),
                                graph_key("recomputable", OptionType::Boolean, true),
                                graph_key("outline_key", OptionType::Text, "")};
    for (const char* shape : graph_shape_keys()) {
      keys.push_back(graph_key(shape, OptionType::Any));
    }
    return keys;
  }

  void read_operator(const Value& value) {
    const Options from = read_options(value, operator_keys());
    const GraphOperatorKind kind = graph_operator_kind(from);
    Operator op;
    op.name = from.text("name");
    op.kind = kind.kind;
    op.block = block_named(from);
    op.operations_per_element = from.number("operations_per_element");
    op.serial_splits = from.integer("serial_splits");
    op.split = split_of(from, kind.kind);
    op.result = from.boolean("result");
    op.checkpoint = from.boolean("checkpoint");
    op.differentiable = from.boolean("differentiable") && kind.kind != OperatorKind::Input;
    op.recomputable = from.boolean("recomputable");
    op.outline_key = from.text("outline_key");
    read_functions(from, op);
    read_role(from, op);
    for (const Value& output : from.value("outputs").array()) op.outputs.push_back(read_tensor(output, op));
    read_shape(from, kind, op);
    read_weights(from, op);
    connect(from, std::move(op));
  }

  static Split split_of(const Options& from, OperatorKind kind) {
    const std::string& text = from.text("split");
    if (text != "none" && kind != OperatorKind::MatMul && kind != OperatorKind::EmbeddingGather) {
      throw UserError(from.where("split"), "only a matmul or an embedding_gather can be divided", "remove it");
    }
    if (text == "columns") return Split::Columns;
    if (text == "heads") return Split::Heads;
    return text == "rows" ? Split::Rows : Split::None;
  }

  static void read_functions(const Options& from, Operator& op) {
    if (!from.has("functions")) return;
    if (op.kind != OperatorKind::Elementwise || op.operations_per_element != 1) {
      throw UserError(from.where("functions"),
                      "only elementwise operators without operations_per_element have functions", "remove one of them");
    }
    for (const Value& name : from.value("functions").array()) {
      const auto& all = element_functions();
      const auto found =
          std::find_if(all.begin(), all.end(), [&](ElementFunction f) { return name_of(f) == name.text(); });
      if (found == all.end()) {
        std::vector<std::string> known;
        for (const ElementFunction function : all) known.emplace_back(name_of(function));
        throw UserError(name.where(), "unknown function \"" + name.text() + "\"", "known: " + joined(known));
      }
      op.functions.push_back(*found);
    }
  }

  static void read_role(const Options& from, Operator& op) {
    if (op.kind == OperatorKind::Input) {
      op.input_role = from.has("role") && from.text("role") == "label" ? InputRole::Label : InputRole::Sample;
    } else if (from.has("role")) {
      throw UserError(from.where("role"), "only operators of kind input have a role", "remove it");
    }
  }

  [[nodiscard]] Tensor read_tensor(const Value& value, const Operator& op) const {
    const Options from =
        read_options(value, {required_graph_key("shape", OptionType::Any), graph_key("type", OptionType::Text)});
    Tensor tensor{op.outputs.empty() ? op.name : op.name + ":" + std::to_string(op.outputs.size()), {}, type_of(from)};
    for (const Value& size : from.value("shape").array()) tensor.shape.push_back(sizes_.extent(size));
    return tensor;
  }

  void read_shape(const Options& from, const GraphOperatorKind& kind, Operator& op) const {
    for (const char* name : graph_shape_keys()) {
      if (from.has(name) && name != kind.shape_key) {
        throw UserError(from.where(name),
                        "an operator of kind " + std::string(name_of(kind.kind)) + " has no \"" + name + "\"",
                        "remove it");
      }
    }
    if (kind.shape_key.empty()) return;
    if (!from.has(kind.shape_key)) {
      throw UserError(from.where(),
                      "operator \"" + op.name + "\" of kind " + std::string(name_of(kind.kind)) + " needs \"" +
                          std::string(kind.shape_key) + "\"",
                      "describe its shape there");
    }
    op.shape = sizes_.read(kind.shape_key, from.value(kind.shape_key));
    check_output(from, op);
  }

  static void check_output(const Options& from, const Operator& op) {
    std::int64_t expected = op.output_elements();
    if (const auto* m = std::get_if<MatMulShape>(&op.shape)) expected = m->groups * m->rows * m->columns;
    if (const auto* c = std::get_if<ConvolutionShape>(&op.shape)) {
      expected = c->batch * c->out_height * c->out_width * c->out_channels;
    }
    if (const auto* p = std::get_if<PoolShape>(&op.shape)) expected = p->out_elements;
    if (expected == op.output_elements()) return;
    throw UserError(from.where("outputs"),
                    "operator \"" + op.name + "\" has " + std::to_string(op.output_elements()) +
                        " output elements, but its shape gives " + std::to_string(expected),
                    "make outputs and shape agree");
  }

  // Without "weights", matmuls, convolutions and embeddings have the one that their shape says.
  void read_weights(const Options& from, Operator& op) const {
    if (from.has("weights")) {
      for (const Value& value : from.value("weights").array()) op.weights.push_back(read_weight(value, op));
      return;
    }
    std::int64_t elements = 0;
    if (const auto* m = std::get_if<MatMulShape>(&op.shape); m != nullptr && m->right_is_weight) {
      elements = m->groups * m->inner * m->columns;
    }
    if (const auto* c = std::get_if<ConvolutionShape>(&op.shape)) {
      elements = c->kernel_height * c->kernel_width * c->in_channels * c->out_channels / c->groups;
    }
    if (const auto* g = std::get_if<GatherShape>(&op.shape); g != nullptr && op.kind == OperatorKind::EmbeddingGather) {
      elements = g->rows * g->width;
    }
    if (elements > 0) op.weights.push_back({op.name + "/weight", elements, request_.precision, true, ""});
  }

  [[nodiscard]] Weight read_weight(const Value& value, const Operator& op) const {
    const Options from =
        read_options(value, {graph_key("name", OptionType::Text), required_graph_key("elements", OptionType::Any),
                             graph_key("type", OptionType::Text), graph_key("trainable", OptionType::Boolean, true),
                             graph_key("tied_to", OptionType::Text, "")});
    const std::string fallback = op.name + "/weight" + (op.weights.empty() ? "" : std::to_string(op.weights.size()));
    return {from.has("name") ? from.text("name") : fallback, sizes_.extent(from.value("elements")), type_of(from),
            from.boolean("trainable"), from.text("tied_to")};
  }

  // Inputs are names of earlier operators, or "name:1" for a further output.
  void connect(const Options& from, Operator op) {
    const std::string name = op.name;
    const Vertex vertex = workload_->add(std::move(op));
    if (!vertices_.emplace(name, vertex).second) {
      throw UserError(from.where("name"), "two operators have the name \"" + name + "\"", "rename one of them");
    }
    const std::vector<std::string> inputs = from.texts("inputs");
    for (const std::string& input : inputs) connect_input(from, vertex, input);
  }

  void connect_input(const Options& from, Vertex vertex, const std::string& input) {
    const std::size_t colon = input.rfind(':');
    const bool numbered = colon != std::string::npos && colon + 1 < input.size() && input.size() - colon <= 4 &&
                          input.find_first_not_of("0123456789", colon + 1) == std::string::npos;
    const std::string name = numbered ? input.substr(0, colon) : input;
    const int output = numbered ? std::stoi(input.substr(colon + 1)) : 0;
    const auto producer = vertices_.find(name);
    if (producer == vertices_.end()) {
      std::vector<std::string> known;
      for (const auto& entry : vertices_) known.push_back(entry.first);
      const std::string nearest = nearest_name(name, known);
      throw UserError(from.where("inputs"), "no operator \"" + name + "\" comes before this one",
                      nearest.empty() ? "list operators in order" : "did you mean \"" + nearest + "\"?");
    }
    if (output >= static_cast<int>(workload_->graph[producer->second].outputs.size())) {
      throw UserError(from.where("inputs"), "operator \"" + name + "\" has no output " + std::to_string(output),
                      "count outputs from 0");
    }
    workload_->connect(producer->second, output, vertex);
  }

  const WorkloadRequest& request_;
  GraphShapeReader sizes_;
  std::unique_ptr<WorkloadGraph> workload_;
  std::map<std::string, Vertex> vertices_;
};

class GraphWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "graph"; }
  [[nodiscard]] std::string description() const override {
    return "Any operator graph from a JSON file or inline object, given as config.";
  }
  [[nodiscard]] bool reads_config() const override { return true; }
  [[nodiscard]] std::vector<Option> options() const override {
    return {tensor_parallel_option(), domain_sharding_option()};
  }
  [[nodiscard]] std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const override {
    if (request.config.is_null()) {
      throw UserError(request.options.where(), "the workload graph needs \"config\"",
                      "give the operator graph's file, or the object itself");
    }
    return GraphReader(request).read();
  }
};

}  // namespace

const Workload& workload_graph() {
  static const GraphWorkload workload;
  return workload;
}

}  // namespace podsim
