// A plain JSON operator graph, for everything that has no family of its own. The format is described in
// workloads/examples/README.md; every key is checked.
#include <limits>
#include <map>

#include "simulator/core/error.hpp"
#include "workloads/workload.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

namespace {

using Vertex = WorkloadGraph::Vertex;

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

// What an operator object may hold besides the common keys: the name of the key and what it describes.
struct ShapeKey {
  OperatorKind kind;
  const char* key;  // "": none
};

const std::vector<ShapeKey>& shape_keys() {
  using enum OperatorKind;
  static const std::vector<ShapeKey> keys = {{Input, ""},
                                             {MatMul, "matmul"},
                                             {Convolution, "convolution"},
                                             {EmbeddingGather, "gather"},
                                             {LayerNorm, "norm"},
                                             {GroupNorm, "norm"},
                                             {BatchNorm, "norm"},
                                             {Softmax, "norm"},
                                             {Gelu, ""},
                                             {Relu, ""},
                                             {Swish, ""},
                                             {Tanh, ""},
                                             {Sigmoid, ""},
                                             {Dropout, ""},
                                             {Elementwise, ""},
                                             {Pooling, "pool"},
                                             {Reduction, ""},
                                             {Transpose, ""},
                                             {Concat, ""},
                                             {Slice, ""},
                                             {Loss, ""},
                                             {Gather, "gather"},
                                             {Scatter, "gather"},
                                             {Profiled, "times"}};
  return keys;
}

const ShapeKey& shape_key_named(const Options& op) {
  std::vector<std::string> known;
  for (const ShapeKey& entry : shape_keys()) {
    if (name_of(entry.kind) == op.text("kind")) return entry;
    known.emplace_back(name_of(entry.kind));
  }
  const std::string nearest = nearest_name(op.text("kind"), known);
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  throw UserError(op.where("kind"), "unknown kind of operator \"" + op.text("kind") + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + "known: " + list);
}

class GraphReader {
 public:
  explicit GraphReader(const WorkloadRequest& request) : request_(request) {}

  std::unique_ptr<WorkloadGraph> read() {
    const Options file = read_options(request_.config, file_keys());
    workload_ = std::make_unique<WorkloadGraph>();
    workload_->model = file.text("name");
    workload_->sample_name = file.text("sample_name");
    workload_->samples_per_micro_batch =
        file.has("samples_per_micro_batch") ? extent(file.value("samples_per_micro_batch")) : request_.micro_batch_size;
    workload_->head_with_embedding = file.boolean("head_with_embedding");
    for (const Value& block : file.value("blocks").array()) read_block(block);
    for (const Value& op : file.value("operators").array()) read_operator(op);
    workload_->validate();
    return std::move(workload_);
  }

 private:
  static Option key(const char* name, OptionType type, Value value = {}) { return {name, type, std::move(value), ""}; }
  static Option required(const char* name, OptionType type) {
    Option option = key(name, type);
    option.required = true;
    return option;
  }
  static std::vector<Option> file_keys() {
    return {key("name", OptionType::Text, "graph"),
            key("sample_name", OptionType::Text, "samples"),
            key("samples_per_micro_batch", OptionType::Any),
            key("head_with_embedding", OptionType::Boolean, false),
            required("blocks", OptionType::Any),
            required("operators", OptionType::Any)};
  }

  // An integer, "batch" (the micro-batch size), or "batch*n".
  [[nodiscard]] std::int64_t extent(const Value& value) const {
    std::int64_t number = 0;
    if (value.is_text()) {
      const std::string& text = value.text();
      const std::string factor = text.starts_with("batch*") ? text.substr(6) : "1";
      if ((text != "batch" && !text.starts_with("batch*")) || factor.empty() || factor.size() > 12 ||
          factor.find_first_not_of("0123456789") != std::string::npos) {
        throw UserError(value.where(), "\"" + text + "\" is not a size", "give an integer, \"batch\" or \"batch*128\"");
      }
      number = request_.micro_batch_size * std::stoll(factor);
    } else {
      number = value.integer();
    }
    if (number < 1 || number > kLargestExtent) {
      throw UserError(value.where(),
                      "must be between 1 and " + std::to_string(kLargestExtent) + ", found " + std::to_string(number),
                      "give a positive size");
    }
    return number;
  }
  [[nodiscard]] std::int64_t extent(const Options& from, const char* name, std::int64_t fallback) const {
    return from.has(name) ? extent(from.value(name)) : fallback;
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
    Option role = key("role", OptionType::Choice, "layer");
    role.choices = {"embedding", "layer", "head"};
    Option layer = key("layer", OptionType::Integer, -1);
    layer.minimum = -1;
    Option ipu = key("ipu", OptionType::Integer, -1);
    ipu.minimum = -1;
    ipu.maximum = layer.maximum = std::numeric_limits<int>::max();
    const Options block = read_options(value, {required("name", OptionType::Text), role, layer, ipu});
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
    Option role = key("role", OptionType::Choice);
    role.choices = {"sample", "label"};
    Option operations = key("operations_per_element", OptionType::Number, 1.0);
    operations.minimum = 0;
    Option splits = key("serial_splits", OptionType::Integer, 1);
    splits.minimum = 1;
    std::vector<Option> keys = {required("name", OptionType::Text),
                                required("kind", OptionType::Text),
                                required("block", OptionType::Text),
                                key("inputs", OptionType::Texts, Value::Array{}),
                                required("outputs", OptionType::Any),
                                key("weights", OptionType::Any),
                                role,
                                operations,
                                splits,
                                key("result", OptionType::Boolean, false),
                                key("checkpoint", OptionType::Boolean, false),
                                key("differentiable", OptionType::Boolean, true),
                                key("recomputable", OptionType::Boolean, true),
                                key("outline_key", OptionType::Text, "")};
    for (const char* shape : {"matmul", "convolution", "gather", "norm", "pool", "times"}) {
      keys.push_back(key(shape, OptionType::Any));
    }
    return keys;
  }

  void read_operator(const Value& value) {
    const Options from = read_options(value, operator_keys());
    const ShapeKey& kind = shape_key_named(from);
    Operator op;
    op.name = from.text("name");
    op.kind = kind.kind;
    op.block = block_named(from);
    op.operations_per_element = from.number("operations_per_element");
    op.serial_splits = from.integer("serial_splits");
    op.result = from.boolean("result");
    op.checkpoint = from.boolean("checkpoint");
    op.differentiable = from.boolean("differentiable") && kind.kind != OperatorKind::Input;
    op.recomputable = from.boolean("recomputable");
    op.outline_key = from.text("outline_key");
    read_role(from, op);
    for (const Value& output : from.value("outputs").array()) op.outputs.push_back(read_tensor(output, op));
    read_shape(from, kind, op);
    read_weights(from, op);
    connect(from, std::move(op));
  }

  static void read_role(const Options& from, Operator& op) {
    if (op.kind == OperatorKind::Input) {
      op.input_role = from.has("role") && from.text("role") == "label" ? InputRole::Label : InputRole::Sample;
    } else if (from.has("role")) {
      throw UserError(from.where("role"), "only operators of kind input have a role", "remove it");
    }
  }

  [[nodiscard]] Tensor read_tensor(const Value& value, const Operator& op) const {
    const Options from = read_options(value, {required("shape", OptionType::Any), key("type", OptionType::Text)});
    Tensor tensor{op.outputs.empty() ? op.name : op.name + ":" + std::to_string(op.outputs.size()), {}, type_of(from)};
    for (const Value& size : from.value("shape").array()) tensor.shape.push_back(extent(size));
    return tensor;
  }

  void read_shape(const Options& from, const ShapeKey& kind, Operator& op) const {
    for (const char* name : {"matmul", "convolution", "gather", "norm", "pool", "times"}) {
      if (from.has(name) && name != std::string_view(kind.key)) {
        throw UserError(from.where(name),
                        "an operator of kind " + std::string(name_of(kind.kind)) + " has no \"" + name + "\"",
                        "remove it");
      }
    }
    if (*kind.key == '\0') return;
    if (!from.has(kind.key)) {
      throw UserError(
          from.where(),
          "operator \"" + op.name + "\" of kind " + std::string(name_of(kind.kind)) + " needs \"" + kind.key + "\"",
          "describe its shape there");
    }
    const Value& shape = from.value(kind.key);
    const std::string_view key_name = kind.key;
    if (key_name == "matmul") op.shape = read_matmul(shape);
    if (key_name == "convolution") op.shape = read_convolution(shape);
    if (key_name == "gather") op.shape = read_gather(shape);
    if (key_name == "norm") op.shape = read_norm(shape);
    if (key_name == "pool") op.shape = read_pool(shape);
    if (key_name == "times") op.shape = read_times(shape);
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

  [[nodiscard]] MatMulShape read_matmul(const Value& value) const {
    const Options from = read_options(
        value, {key("groups", OptionType::Any), required("rows", OptionType::Any), required("inner", OptionType::Any),
                required("columns", OptionType::Any), key("right_is_weight", OptionType::Boolean, true)});
    return {extent(from, "groups", 1), extent(from.value("rows")), extent(from.value("inner")),
            extent(from.value("columns")), from.boolean("right_is_weight")};
  }

  // [height, width] or [height, width, channels].
  [[nodiscard]] std::vector<std::int64_t> extents(const Options& from, const char* name, std::size_t count,
                                                  std::int64_t fallback, std::int64_t minimum = 1) const {
    if (!from.has(name)) return std::vector<std::int64_t>(count, fallback);
    const Value::Array& sizes = from.value(name).array();
    if (sizes.size() != count) {
      throw UserError(from.where(name),
                      "needs " + std::to_string(count) + " sizes, found " + std::to_string(sizes.size()),
                      "give one for each direction");
    }
    std::vector<std::int64_t> result;
    for (const Value& size : sizes) {
      result.push_back(minimum == 0 && size.is_integer() && size.integer() == 0 ? 0 : extent(size));
    }
    return result;
  }

  [[nodiscard]] ConvolutionShape read_convolution(const Value& value) const {
    const Options from =
        read_options(value, {key("batch", OptionType::Any, "batch"), required("in", OptionType::Any),
                             required("out", OptionType::Any), key("kernel", OptionType::Any),
                             key("stride", OptionType::Any), key("padding", OptionType::Any),
                             key("groups", OptionType::Any), key("transposed", OptionType::Boolean, false)});
    const auto in = extents(from, "in", 3, 1), out = extents(from, "out", 3, 1);
    const auto kernel = extents(from, "kernel", 2, 1), stride = extents(from, "stride", 2, 1);
    const auto padding = extents(from, "padding", 2, 0, 0);
    const std::int64_t groups = extent(from, "groups", 1);
    if (in[2] % groups != 0 || out[2] % groups != 0) {
      throw UserError(from.where("groups"), std::to_string(groups) + " groups do not divide the channels",
                      "choose a divisor of the channels of in and out");
    }
    return {extent(from.value("batch")),
            in[0],
            in[1],
            in[2],
            out[0],
            out[1],
            out[2],
            kernel[0],
            kernel[1],
            stride[0],
            stride[1],
            padding[0],
            padding[1],
            groups,
            from.boolean("transposed")};
  }

  [[nodiscard]] GatherShape read_gather(const Value& value) const {
    const Options from = read_options(value, {required("lookups", OptionType::Any), required("rows", OptionType::Any),
                                              required("width", OptionType::Any)});
    return {extent(from.value("lookups")), extent(from.value("rows")), extent(from.value("width"))};
  }
  [[nodiscard]] NormShape read_norm(const Value& value) const {
    const Options from =
        read_options(value, {required("groups", OptionType::Any), required("elements", OptionType::Any),
                             key("replica_span", OptionType::Any)});
    return {extent(from.value("groups")), extent(from.value("elements")), extent(from, "replica_span", 1)};
  }
  [[nodiscard]] PoolShape read_pool(const Value& value) const {
    const Options from =
        read_options(value, {required("out_elements", OptionType::Any), key("window", OptionType::Any),
                             key("stride", OptionType::Any), key("maximum", OptionType::Boolean, true)});
    return {extent(from.value("out_elements")), extent(from, "window", 1), extent(from, "stride", 1),
            from.boolean("maximum")};
  }
  [[nodiscard]] ProfiledTimes read_times(const Value& value) const {
    std::vector<Option> keys;
    for (const char* name : {"forward_seconds", "backward_seconds", "recompute_seconds", "weight_update_seconds"}) {
      keys.push_back(key(name, OptionType::Number, 0.0));
      keys.back().minimum = 0;
    }
    const Options from = read_options(value, keys);
    const bool training = request_.training;
    return {from.number("forward_seconds"), training ? from.number("backward_seconds") : 0,
            training ? from.number("recompute_seconds") : 0, training ? from.number("weight_update_seconds") : 0};
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
    const Options from = read_options(
        value, {key("name", OptionType::Text), required("elements", OptionType::Any), key("type", OptionType::Text),
                key("trainable", OptionType::Boolean, true), key("tied_to", OptionType::Text, "")});
    const std::string fallback = op.name + "/weight" + (op.weights.empty() ? "" : std::to_string(op.weights.size()));
    return {from.has("name") ? from.text("name") : fallback, extent(from.value("elements")), type_of(from),
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
  std::unique_ptr<WorkloadGraph> workload_;
  std::map<std::string, Vertex> vertices_;
};

class GraphWorkload final : public Workload {
 public:
  [[nodiscard]] std::string name() const override { return "graph"; }
  [[nodiscard]] std::string description() const override {
    return "Any operator graph from a JSON file or inline object, given as config.";
  }
  [[nodiscard]] std::vector<Option> options() const override { return {}; }
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
