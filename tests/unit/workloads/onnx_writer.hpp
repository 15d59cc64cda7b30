// Writes small ONNX files for tests. Weights have shapes and no data.
#pragma once

#include <onnx.pb.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace podsim::test {

class OnnxWriter {
 public:
  explicit OnnxWriter(std::int64_t opset = 17) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    graph().set_name("test");
  }

  // Extents that are no numbers are symbols.
  OnnxWriter& input(const std::string& name, const std::vector<std::string>& shape,
                    int type = onnx::TensorProto::FLOAT) {
    onnx::ValueInfoProto* input = graph().add_input();
    input->set_name(name);
    onnx::TypeProto_Tensor* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::string& extent : shape) {
      onnx::TensorShapeProto_Dimension* dimension = tensor->mutable_shape()->add_dim();
      if (extent.find_first_not_of("0123456789") == std::string::npos) {
        dimension->set_dim_value(std::stoll(extent));
      } else {
        dimension->set_dim_param(extent);
      }
    }
    return *this;
  }
  OnnxWriter& parameter(const std::string& name, const std::vector<std::int64_t>& shape) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* place = tensor->add_external_data();
    place->set_key("location");
    place->set_value("absent.bin");
    for (const std::int64_t extent : shape) tensor->add_dims(extent);
    return *this;
  }
  OnnxWriter& integers(const std::string& name, const std::vector<std::int64_t>& values, bool scalar = false) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    if (!scalar) tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor->add_int64_data(value);
    return *this;
  }
  OnnxWriter& number(const std::string& name, float value) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->set_raw_data(std::string(reinterpret_cast<const char*>(&value), sizeof value));
    return *this;
  }
  OnnxWriter& numbers(const std::string& name, const std::vector<float>& values) {
    onnx::TensorProto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (const float value : values) tensor->add_float_data(value);
    return *this;
  }
  // The node is called as its first output; attributes follow with with().
  OnnxWriter& node(const std::string& operation, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
    onnx::NodeProto* node = graph().add_node();
    node->set_op_type(operation);
    node->set_name(outputs.front());
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *this;
  }
  OnnxWriter& with(const std::string& attribute, std::int64_t value) {
    add(attribute)->set_i(value);
    return *this;
  }
  OnnxWriter& with(const std::string& attribute, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto* added = add(attribute);
    for (const std::int64_t value : values) added->add_ints(value);
    return *this;
  }
  OnnxWriter& with_text(const std::string& attribute, const std::string& value) {
    add(attribute)->set_s(value);
    return *this;
  }
  OnnxWriter& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }

  [[nodiscard]] std::string bytes() const { return model_.SerializeAsString(); }
  void save(const std::filesystem::path& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

 private:
  onnx::AttributeProto* add(const std::string& attribute) {
    onnx::AttributeProto* added = graph().mutable_node(graph().node_size() - 1)->add_attribute();
    added->set_name(attribute);
    return added;
  }

  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  onnx::ModelProto model_;
};

}  // namespace podsim::test
