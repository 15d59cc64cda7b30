// Sizes and operator shapes in JSON operator graphs, for the workload `graph`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/option.hpp"
#include "workloads/operator.hpp"

namespace podsim {

// Declarations of keys, without the help that scenario options have.
[[nodiscard]] Option graph_key(const char* name, OptionType type, Value default_value = {});
[[nodiscard]] Option required_graph_key(const char* name, OptionType type);

// Kind of an operator, and the key that holds its shape: "matmul", "convolution", "gather", "norm", "pool", "top_k",
// "ctc", "times", or "" where its outputs say everything.
struct GraphOperatorKind {
  OperatorKind kind;
  std::string_view shape_key;
};
// By the operator's "kind". UserError with the nearest name and all names.
[[nodiscard]] GraphOperatorKind graph_operator_kind(const Options& op);
[[nodiscard]] const std::vector<const char*>& graph_shape_keys();

class GraphShapeReader {
 public:
  GraphShapeReader(std::int64_t micro_batch_size, bool training)
      : micro_batch_size_(micro_batch_size), training_(training) {}

  // An integer, "batch" (the micro-batch size), or "batch*n".
  [[nodiscard]] std::int64_t extent(const Value& value) const;
  // The object under one of graph_shape_keys().
  [[nodiscard]] OperatorShape read(std::string_view shape_key, const Value& value) const;

 private:
  [[nodiscard]] std::int64_t extent(const Options& from, const char* name, std::int64_t fallback) const;
  [[nodiscard]] std::vector<std::int64_t> extents(const Options& from, const char* name, std::size_t count,
                                                  std::int64_t fallback, std::int64_t minimum = 1) const;
  [[nodiscard]] MatMulShape read_matmul(const Value& value) const;
  [[nodiscard]] ConvolutionShape read_convolution(const Value& value) const;
  [[nodiscard]] GatherShape read_gather(const Value& value) const;
  [[nodiscard]] NormShape read_norm(const Value& value) const;
  [[nodiscard]] PoolShape read_pool(const Value& value) const;
  [[nodiscard]] TopKShape read_top_k(const Value& value) const;
  [[nodiscard]] CtcShape read_ctc(const Value& value) const;
  [[nodiscard]] ProfiledTimes read_times(const Value& value) const;

  std::int64_t micro_batch_size_;
  bool training_;
};

}  // namespace podsim
