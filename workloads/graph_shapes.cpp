// Reading sizes and shapes; every key is checked.
#include "workloads/graph_shapes.hpp"

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;

const std::vector<GraphOperatorKind>& graph_operator_kinds() {
  using enum OperatorKind;
  static const std::vector<GraphOperatorKind> keys = {{Input, ""},
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
                                                      {TopK, "top_k"},
                                                      {CtcLoss, "ctc"},
                                                      {Profiled, "times"}};
  return keys;
}

}  // namespace

Option graph_key(const char* name, OptionType type, Value default_value) {
  Option option;
  option.name = name;
  option.type = type;
  option.default_value = std::move(default_value);
  return option;
}

Option required_graph_key(const char* name, OptionType type) {
  Option option = graph_key(name, type);
  option.required = true;
  return option;
}

GraphOperatorKind graph_operator_kind(const Options& op) {
  std::vector<std::string> known;
  for (const GraphOperatorKind& entry : graph_operator_kinds()) {
    if (name_of(entry.kind) == op.text("kind")) return entry;
    known.emplace_back(name_of(entry.kind));
  }
  const std::string nearest = nearest_name(op.text("kind"), known);
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  throw UserError(op.where("kind"), "unknown kind of operator \"" + op.text("kind") + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + "known: " + list);
}

const std::vector<const char*>& graph_shape_keys() {
  static const std::vector<const char*> keys = {"matmul", "convolution", "gather", "norm",
                                                "pool",   "top_k",       "ctc",    "times"};
  return keys;
}

OperatorShape GraphShapeReader::read(std::string_view shape_key, const Value& value) const {
  if (shape_key == "matmul") return read_matmul(value);
  if (shape_key == "convolution") return read_convolution(value);
  if (shape_key == "gather") return read_gather(value);
  if (shape_key == "norm") return read_norm(value);
  if (shape_key == "pool") return read_pool(value);
  if (shape_key == "top_k") return read_top_k(value);
  if (shape_key == "ctc") return read_ctc(value);
  if (shape_key == "times") return read_times(value);
  throw InternalError("no shape has the key " + std::string(shape_key));
}

std::int64_t GraphShapeReader::extent(const Value& value) const {
  std::int64_t number = 0;
  if (value.is_text()) {
    const std::string& text = value.text();
    const std::string factor = text.starts_with("batch*") ? text.substr(6) : "1";
    if ((text != "batch" && !text.starts_with("batch*")) || factor.empty() || factor.size() > 12 ||
        factor.find_first_not_of("0123456789") != std::string::npos) {
      throw UserError(value.where(), "\"" + text + "\" is not a size", "give an integer, \"batch\" or \"batch*128\"");
    }
    number = micro_batch_size_ * std::stoll(factor);
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

std::int64_t GraphShapeReader::extent(const Options& from, const char* name, std::int64_t fallback) const {
  return from.has(name) ? extent(from.value(name)) : fallback;
}

MatMulShape GraphShapeReader::read_matmul(const Value& value) const {
  const Options from =
      read_options(value, {graph_key("groups", OptionType::Any), required_graph_key("rows", OptionType::Any),
                           required_graph_key("inner", OptionType::Any), required_graph_key("columns", OptionType::Any),
                           graph_key("right_is_weight", OptionType::Boolean, true)});
  return {extent(from, "groups", 1), extent(from.value("rows")), extent(from.value("inner")),
          extent(from.value("columns")), from.boolean("right_is_weight")};
}

// [height, width] or [height, width, channels].
std::vector<std::int64_t> GraphShapeReader::extents(const Options& from, const char* name, std::size_t count,
                                                    std::int64_t fallback, std::int64_t minimum) const {
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

ConvolutionShape GraphShapeReader::read_convolution(const Value& value) const {
  const Options from =
      read_options(value, {graph_key("batch", OptionType::Any, "batch"), required_graph_key("in", OptionType::Any),
                           required_graph_key("out", OptionType::Any), graph_key("kernel", OptionType::Any),
                           graph_key("stride", OptionType::Any), graph_key("padding", OptionType::Any),
                           graph_key("groups", OptionType::Any), graph_key("transposed", OptionType::Boolean, false)});
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

GatherShape GraphShapeReader::read_gather(const Value& value) const {
  const Options from =
      read_options(value, {required_graph_key("lookups", OptionType::Any), required_graph_key("rows", OptionType::Any),
                           required_graph_key("width", OptionType::Any)});
  return {extent(from.value("lookups")), extent(from.value("rows")), extent(from.value("width"))};
}

NormShape GraphShapeReader::read_norm(const Value& value) const {
  const Options from = read_options(
      value, {required_graph_key("groups", OptionType::Any), required_graph_key("elements", OptionType::Any),
              graph_key("replica_span", OptionType::Any)});
  return {extent(from.value("groups")), extent(from.value("elements")), extent(from, "replica_span", 1)};
}

PoolShape GraphShapeReader::read_pool(const Value& value) const {
  const Options from =
      read_options(value, {required_graph_key("out_elements", OptionType::Any), graph_key("window", OptionType::Any),
                           graph_key("stride", OptionType::Any), graph_key("maximum", OptionType::Boolean, true)});
  return {extent(from.value("out_elements")), extent(from, "window", 1), extent(from, "stride", 1),
          from.boolean("maximum")};
}

TopKShape GraphShapeReader::read_top_k(const Value& value) const {
  const Options from =
      read_options(value, {required_graph_key("rows", OptionType::Any), required_graph_key("elements", OptionType::Any),
                           required_graph_key("k", OptionType::Any)});
  const TopKShape shape{extent(from.value("rows")), extent(from.value("elements")), extent(from.value("k"))};
  if (shape.k > shape.elements) {
    throw UserError(from.where("k"),
                    "keeps " + std::to_string(shape.k) + " of " + std::to_string(shape.elements) + " elements",
                    "k is at most the elements of a row");
  }
  return shape;
}

CtcShape GraphShapeReader::read_ctc(const Value& value) const {
  std::vector<Option> keys;
  for (const char* name : {"batch", "time", "labels", "classes"}) {
    keys.push_back(required_graph_key(name, OptionType::Any));
  }
  const Options from = read_options(value, keys);
  return {extent(from.value("batch")), extent(from.value("time")), extent(from.value("labels")),
          extent(from.value("classes"))};
}

ProfiledTimes GraphShapeReader::read_times(const Value& value) const {
  std::vector<Option> keys;
  for (const char* name : {"forward_seconds", "backward_seconds", "recompute_seconds", "weight_update_seconds"}) {
    keys.push_back(graph_key(name, OptionType::Number, 0.0));
    keys.back().minimum = 0;
  }
  const Options from = read_options(value, keys);
  const bool training = training_;
  return {from.number("forward_seconds"), training ? from.number("backward_seconds") : 0,
          training ? from.number("recompute_seconds") : 0, training ? from.number("weight_update_seconds") : 0};
}

}  // namespace podsim
