// ModelConfig: checked reads from a Hugging Face config.json. Keys that a model does not need are ignored, as those
// files hold many that concern other programs; the needed ones are checked for type and range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

class ModelConfig {
 public:
  // UserError unless `config` is an object, whose "model_type", if there, is `model_type`.
  ModelConfig(Value config, std::string_view model_type);

  // A positive integer; `fallback` where the key is absent.
  [[nodiscard]] std::int64_t size(std::string_view key) const;
  [[nodiscard]] std::int64_t size(std::string_view key, std::int64_t fallback) const;
  // A probability in [0, 1).
  [[nodiscard]] double probability(std::string_view key, double fallback) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  // Positive integers, and a flag; `fallback` where the key is absent.
  [[nodiscard]] std::vector<std::int64_t> sizes(std::string_view key, std::vector<std::int64_t> fallback) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  // Classes of a classifier: those that id2label names, or num_labels; `fallback` where it has neither.
  [[nodiscard]] std::int64_t labels(std::int64_t fallback) const;
  // Where a key is, for messages.
  [[nodiscard]] std::string where(std::string_view key) const;

 private:
  Value config_;
};

struct WorkloadRequest;

// The request's config; where there is none, the published one of its option "variant" (`default_variant` where that
// is not given either). UserError where both are given.
[[nodiscard]] ModelConfig model_config(const WorkloadRequest& request, std::string_view model_type,
                                       const std::string& default_variant, Value (*published)(const std::string&));

// "gelu", "gelu_new", "relu", "silu", … -> the operator. UserError for others.
enum class OperatorKind : std::uint8_t;
[[nodiscard]] OperatorKind activation_named(const std::string& name, const std::string& where);

}  // namespace podsim
