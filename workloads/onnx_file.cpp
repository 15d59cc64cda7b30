// ONNX files: protobuf messages (onnx.proto of the ONNX project) -> plain data.
#include "workloads/onnx_file.hpp"

#include <onnx.pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr std::int64_t kMostKnownElements = 65536;  // of a constant whose values may decide shapes
constexpr std::int64_t kMostScales = 8;             // of a Resize
constexpr int kIrVersionTag = 0x08;                 // what a serialised ModelProto begins with: field 1, ir_version

bool is_floating(int type) {
  using Type = onnx::TensorProto;
  return type == Type::FLOAT || type == Type::FLOAT16 || type == Type::DOUBLE || type == Type::BFLOAT16;
}

template <typename Number, typename Result>
std::vector<Result> from_raw(const std::string& raw) {
  std::vector<Result> result;
  for (std::size_t at = 0; at + sizeof(Number) <= raw.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, raw.data() + at, sizeof(Number));  // little endian, as the format is
    result.push_back(static_cast<Result>(number));
  }
  return result;
}

std::vector<std::int64_t> integers_of(const onnx::TensorProto& tensor) {
  using Type = onnx::TensorProto;
  if (tensor.int64_data_size() > 0) return {tensor.int64_data().begin(), tensor.int64_data().end()};
  if (tensor.int32_data_size() > 0) return {tensor.int32_data().begin(), tensor.int32_data().end()};
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case Type::INT64: return from_raw<std::int64_t, std::int64_t>(raw);
    case Type::INT32: return from_raw<std::int32_t, std::int64_t>(raw);
    case Type::BOOL:
    case Type::UINT8: return from_raw<std::uint8_t, std::int64_t>(raw);
    case Type::INT8: return from_raw<std::int8_t, std::int64_t>(raw);
    default: return {};
  }
}

std::vector<double> numbers_of(const onnx::TensorProto& tensor) {
  using Type = onnx::TensorProto;
  std::vector<double> numbers(tensor.float_data().begin(), tensor.float_data().end());
  if (tensor.data_type() == Type::DOUBLE) numbers.assign(tensor.double_data().begin(), tensor.double_data().end());
  if (numbers.empty() && tensor.data_type() == Type::FLOAT) numbers = from_raw<float, double>(tensor.raw_data());
  if (numbers.empty() && tensor.data_type() == Type::DOUBLE) numbers = from_raw<double, double>(tensor.raw_data());
  return numbers;
}

OnnxTensor tensor_of(const onnx::TensorProto& proto) {
  OnnxTensor tensor{{proto.dims().begin(), proto.dims().end()}, is_floating(proto.data_type())};
  const std::int64_t elements = tensor.elements();
  if (elements > kMostKnownElements || proto.data_location() == onnx::TensorProto::EXTERNAL) return tensor;
  if (tensor.floating) {
    if (elements <= kMostScales) tensor.numbers = numbers_of(proto);
    if (elements == 1 && !tensor.numbers.empty()) tensor.number = tensor.numbers.front();
    return tensor;
  }
  std::vector<std::int64_t> integers = integers_of(proto);
  if (static_cast<std::int64_t>(integers.size()) == elements) tensor.integers = std::move(integers);
  return tensor;
}

OnnxAttribute attribute_of(const onnx::AttributeProto& proto) {
  OnnxAttribute attribute{proto.i(), proto.f(), proto.s(), {}, {}, {}};
  attribute.integers.assign(proto.ints().begin(), proto.ints().end());
  attribute.numbers.assign(proto.floats().begin(), proto.floats().end());
  if (proto.has_t()) attribute.tensor = tensor_of(proto.t());
  return attribute;
}

OnnxNode node_of(const onnx::NodeProto& proto) {
  OnnxNode node;
  node.name = proto.name();
  const bool own = proto.domain().empty() || proto.domain() == "ai.onnx";
  node.operation = own ? proto.op_type() : proto.domain() + "::" + proto.op_type();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    node.attributes.emplace(attribute.name(), attribute_of(attribute));
  }
  return node;
}

OnnxInput input_of(const onnx::ValueInfoProto& proto) {
  OnnxInput input;
  input.name = proto.name();
  const onnx::TypeProto_Tensor& type = proto.type().tensor_type();
  input.floating = is_floating(type.elem_type());
  for (const onnx::TensorShapeProto_Dimension& extent : type.shape().dim()) {
    input.shape.push_back({extent.dim_value(), extent.dim_param()});
  }
  return input;
}

onnx::ModelProto parse(const std::filesystem::path& path, const std::string& where) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw UserError(where, path.string() + " cannot be read", "name an ONNX file, relative to the scenario's folder");
  }
  const bool plausible = file.peek() == kIrVersionTag;
  onnx::ModelProto model;
  if (!plausible || !model.ParseFromIstream(&file)) {
    throw UserError(where, path.string() + (plausible ? " ends early or is damaged" : " is not an ONNX file"),
                    plausible ? "export or copy it again" : "export the model with torch.onnx.export or the like");
  }
  if (model.graph().node_size() == 0) {
    throw UserError(where, path.string() + " holds no graph", "export the model again");
  }
  return model;
}

}  // namespace

std::int64_t OnnxTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t OnnxNode::integer(const std::string& attribute, std::int64_t fallback) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? fallback : found->second.integer;
}

std::vector<std::int64_t> OnnxNode::integers(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? std::vector<std::int64_t>{} : found->second.integers;
}

std::string OnnxNode::text(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? std::string{} : found->second.text;
}

OnnxModel read_onnx(const std::filesystem::path& path, const std::string& where) {
  const onnx::ModelProto file = parse(path, where);
  OnnxModel model;
  model.name = file.graph().name();
  for (const onnx::OperatorSetIdProto& set : file.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") model.opset = set.version();
  }
  for (const onnx::TensorProto& parameter : file.graph().initializer()) {
    if (std::any_of(parameter.dims().begin(), parameter.dims().end(), [](std::int64_t extent) { return extent < 0; })) {
      throw UserError(where, path.string() + ": the parameter \"" + parameter.name() + "\" has a negative size",
                      "export the model again");
    }
    model.parameters.emplace(parameter.name(), tensor_of(parameter));
  }
  for (const onnx::ValueInfoProto& input : file.graph().input()) {
    if (!model.parameters.contains(input.name())) model.inputs.push_back(input_of(input));
  }
  for (const onnx::ValueInfoProto& output : file.graph().output()) model.outputs.push_back(output.name());
  for (const onnx::NodeProto& node : file.graph().node()) {
    if (node.output().empty()) {
      throw UserError(where,
                      path.string() + ": the node \"" + node.name() + "\" (" + node.op_type() + ") has no output",
                      "export the model again");
    }
    model.nodes.push_back(node_of(node));
  }
  return model;
}

}  // namespace podsim
