// An ONNX model as plain data: nodes, shapes and small constants. Weights are known by their shapes alone; external
// data files are not opened. The protobuf library stays in the .cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace podsim {

struct OnnxTensor {
  std::vector<std::int64_t> shape;
  bool floating = true;                                 // else integers or booleans
  std::optional<std::vector<std::int64_t>> integers{};  // contents, where there are few
  std::optional<double> number{};                       // the value of a single floating-point element
  std::vector<double> numbers{};                        // those of a few: one for each dimension of an image

  [[nodiscard]] std::int64_t elements() const;
};

struct OnnxAttribute {
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::optional<OnnxTensor> tensor;
};

struct OnnxNode {
  std::string name;       // "" where the file gives none
  std::string operation;  // "MatMul"; operators of other domains than ONNX's own as "domain::name"
  std::vector<std::string> inputs, outputs;
  std::map<std::string, OnnxAttribute> attributes;

  [[nodiscard]] std::int64_t integer(const std::string& attribute, std::int64_t fallback) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& attribute) const;  // empty where absent
  [[nodiscard]] std::string text(const std::string& attribute) const;                    // "" where absent
};

// A size of an input: a number, or a name ("batch") where it is free; neither where the file says nothing.
struct OnnxExtent {
  std::int64_t number = 0;
  std::string symbol;
};

struct OnnxInput {
  std::string name;
  bool floating = true;
  std::vector<OnnxExtent> shape;
};

struct OnnxModel {
  std::string name;
  std::int64_t opset = 0;
  std::vector<OnnxNode> nodes;  // in the file's order, which is topological
  std::map<std::string, OnnxTensor> parameters;
  std::vector<OnnxInput> inputs;  // without the parameters
  std::vector<std::string> outputs;
};

// UserError at `where` when the file is absent, no ONNX model, cut short, or holds no graph.
[[nodiscard]] OnnxModel read_onnx(const std::filesystem::path& path, const std::string& where);

}  // namespace podsim
