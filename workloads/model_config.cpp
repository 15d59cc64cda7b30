// Reading model configurations.
#include "workloads/model_config.hpp"

#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"
#include "workloads/operator.hpp"
#include "workloads/workload.hpp"

namespace podsim {

namespace {

std::int64_t positive(const Value& value) {
  const std::int64_t number = value.integer();
  if (number <= 0) {
    throw UserError(value.where(), "must be at least 1, found " + std::to_string(number), "give a positive integer");
  }
  if (static_cast<double>(number) > kLargestSize) {
    throw UserError(value.where(), "must be at most 10^7, found " + std::to_string(number), "check the unit");
  }
  return number;
}

}  // namespace

ModelConfig::ModelConfig(Value config, std::string_view model_type) : config_(std::move(config)) {
  static_cast<void>(config_.object());
  const Value* given = config_.find("model_type");
  if (given != nullptr && given->text() != model_type) {
    throw UserError(given->where(), "this is the configuration of a \"" + given->text() + "\" model",
                    "give one with model_type \"" + std::string(model_type) + "\", or change the workload's model");
  }
}

std::string ModelConfig::where(std::string_view key) const {
  const Value* value = config_.find(key);
  return value != nullptr ? value->where() : config_.where();
}

std::int64_t ModelConfig::size(std::string_view key) const { return positive(config_.at(key)); }

std::int64_t ModelConfig::size(std::string_view key, std::int64_t fallback) const {
  const Value* value = config_.find(key);
  return value == nullptr || value->is_null() ? fallback : size(key);
}

double ModelConfig::probability(std::string_view key, double fallback) const {
  const Value* value = config_.find(key);
  if (value == nullptr || value->is_null()) return fallback;
  const double number = value->number();
  if (!(number >= 0 && number < 1)) {
    throw UserError(value->where(), "must be a probability below 1", "give a number from 0 to below 1");
  }
  return number;
}

std::string ModelConfig::text(std::string_view key, std::string_view fallback) const {
  const Value* value = config_.find(key);
  return value == nullptr || value->is_null() ? std::string(fallback) : value->text();
}

std::vector<std::int64_t> ModelConfig::sizes(std::string_view key, std::vector<std::int64_t> fallback) const {
  const Value* value = config_.find(key);
  if (value == nullptr || value->is_null()) return fallback;
  std::vector<std::int64_t> result;
  for (const Value& item : value->array()) result.push_back(positive(item));
  if (result.empty()) throw UserError(value->where(), "the list is empty", "give a number for each stage");
  return result;
}

bool ModelConfig::flag(std::string_view key, bool fallback) const {
  const Value* value = config_.find(key);
  return value == nullptr || value->is_null() ? fallback : value->boolean();
}

std::int64_t ModelConfig::labels(std::int64_t fallback) const {
  const Value* names = config_.find("id2label");
  if (names != nullptr && names->is_object()) return static_cast<std::int64_t>(names->object().size());
  return size("num_labels", fallback);
}

ModelConfig model_config(const WorkloadRequest& request, std::string_view model_type,
                         const std::string& default_variant, Value (*published)(const std::string&)) {
  const Options& options = request.options;
  if (request.config.is_null()) {
    return {published(options.has("variant") ? options.text("variant") : default_variant), model_type};
  }
  if (options.has("variant")) {
    throw UserError(options.where("variant"), "both a config and a variant are given", "give one of them");
  }
  return {request.config, model_type};
}

OperatorKind activation_named(const std::string& name, const std::string& where) {
  if (name == "gelu" || name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") {
    return OperatorKind::Gelu;
  }
  if (name == "relu") return OperatorKind::Relu;
  if (name == "silu" || name == "swish") return OperatorKind::Swish;
  if (name == "tanh") return OperatorKind::Tanh;
  throw UserError(where, "unknown activation \"" + name + "\"", "known: gelu, gelu_new, relu, silu, tanh");
}

}  // namespace podsim
