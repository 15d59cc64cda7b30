// Reads, specialises, updates and writes an IpuConfig.
#include "simulator/config/ipu_config.hpp"

#include <algorithm>
#include <utility>

#include "simulator/config/ipu_config_check.hpp"
#include "simulator/config/set_path.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// The pod types that optimum-graphcore knows, and its word for none.
std::vector<std::string> pod_types() { return {"pod4", "pod8", "pod16", "pod32", "pod64", "default"}; }

// Calls visit(name, member) for every field: reading and writing share the one list.
template <typename Config, typename Visit>
void visit_fields(Config& config, Visit&& visit) {
  visit("seed", config.seed);
  visit("auto_loss_scaling", config.auto_loss_scaling);
  visit("executable_cache_dir", config.executable_cache_dir);
  visit("replication_factor", config.replication_factor);
  visit("inference_replication_factor", config.inference_replication_factor);
  visit("gradient_accumulation_steps", config.gradient_accumulation_steps);
  visit("layers_per_ipu", config.layers_per_ipu);
  visit("inference_layers_per_ipu", config.inference_layers_per_ipu);
  visit("ipus_per_replica", config.ipus_per_replica);
  visit("inference_ipus_per_replica", config.inference_ipus_per_replica);
  visit("optimizer_state_offchip", config.optimizer_state_offchip);
  visit("replicated_tensor_sharding", config.replicated_tensor_sharding);
  visit("enable_half_first_order_momentum", config.enable_half_first_order_momentum);
  visit("matmul_proportion", config.matmul_proportion);
  visit("inference_matmul_proportion", config.inference_matmul_proportion);
  visit("enable_half_partials", config.enable_half_partials);
  visit("embedding_serialization_factor", config.embedding_serialization_factor);
  visit("projection_serialization_factor", config.projection_serialization_factor);
  visit("serialized_embedding_splits_per_ipu", config.serialized_embedding_splits_per_ipu);
  visit("serialized_projection_splits_per_ipu", config.serialized_projection_splits_per_ipu);
  visit("recompute_checkpoint_every_layer", config.recompute_checkpoint_every_layer);
  visit("device_iterations", config.device_iterations);
  visit("inference_device_iterations", config.inference_device_iterations);
  visit("output_mode", config.output_mode);
  visit("optimum_version", config.optimum_version);
}

void read(const Options& options, const char* name, bool& field) { field = options.boolean(name); }
void read(const Options& options, const char* name, std::int64_t& field) { field = options.integer(name); }
void read(const Options& options, const char* name, std::string& field) { field = options.text(name); }
void read(const Options& options, const char* name, std::vector<double>& field) { field = options.numbers(name); }
void read(const Options& options, const char* name, std::optional<std::int64_t>& field) {
  field = options.integer(name);
}
void read(const Options& options, const char* name, std::vector<std::int64_t>& field) {
  field = options.integers(name);
}

Value write(bool field) { return field; }
Value write(std::int64_t field) { return field > 0 ? Value(field) : Value(); }
Value write(const std::string& field) { return field; }
Value write(const std::optional<std::int64_t>& field) { return field ? Value(*field) : Value(); }
Value write(const std::vector<std::int64_t>& field) {
  return field.empty() ? Value() : Value(Value::Array(field.begin(), field.end()));
}
Value write(const std::vector<double>& field) {
  if (field.empty()) return {};
  return field.size() == 1 ? Value(field.front()) : Value(Value::Array(field.begin(), field.end()));
}

// Each entry of {"pod4": 1, …, "default": 1} is checked as the field itself.
void check_pod_types(const Value& entries, const Option& option) {
  const std::vector<std::string> known = pod_types();
  for (const auto& [pod_type, entry] : entries.object()) {
    if (std::find(known.begin(), known.end(), pod_type) == known.end()) {
      throw UserError(entry.where(), "unknown pod type \"" + pod_type + "\"", "one of " + joined(known));
    }
    Value single;
    single.set(option.name, entry);
    static_cast<void>(read_options(single, {option}));
  }
}

// Takes the fields given per pod type out of `value`; their "default" entries stay.
Value split_off_pod_types(Value& value, const std::vector<Option>& declared) {
  Value by_pod_type;
  for (const Option& option : declared) {
    const Value* given = value.find(option.name);
    if (given == nullptr || !given->is_object()) continue;
    check_pod_types(*given, option);
    const Value entries = *given;
    by_pod_type.set(option.name, entries);
    if (const Value* fallback = entries.find("default")) {
      value.set(option.name, *fallback);
    } else {
      value.erase(option.name);
    }
  }
  return by_pod_type;
}

}  // namespace

IpuConfig read_ipu_config(const Value& value) {
  const std::vector<Option>& declared = ipu_config_options();
  IpuConfig config;
  Value plain = value;
  config.where = value.where();
  config.by_pod_type = split_off_pod_types(plain, declared);
  const Options options = read_options(plain, declared);
  visit_fields(config, [&](const char* name, auto& field) {
    if (options.has(name)) read(options, name, field);
    const Value* given = value.find(name);
    if (given != nullptr && !given->is_null()) config.places[name] = given->where();
  });
  if (!config.places.contains("layers_per_ipu") && config.ipus_per_replica > 1) config.layers_per_ipu = {-1};
  config.embedding_serialization_factor = std::max<std::int64_t>(1, config.embedding_serialization_factor);
  config.projection_serialization_factor = std::max<std::int64_t>(1, config.projection_serialization_factor);
  const Value* matmul_proportion = plain.find("matmul_proportion");
  const Value* inference_proportion = plain.find("inference_matmul_proportion");
  check_ipu_config(config, {.matmul_proportion = matmul_proportion != nullptr && matmul_proportion->is_array(),
                            .inference = inference_proportion != nullptr && inference_proportion->is_array()});
  return config;
}

std::string IpuConfig::where_of(const std::string& field) const {
  const auto it = places.find(field);
  return it == places.end() || it->second.empty() ? where : it->second;
}

Value IpuConfig::to_value() const {
  Value value = Value::Object{};
  value.set_where(where);
  visit_fields(*this, [&](const char* name, const auto& field) {
    const Value* entries = by_pod_type.find(name);
    Value written = entries != nullptr ? *entries : write(field);
    if (written.is_null()) return;
    written.locate(where_of(name));
    value.set(name, std::move(written));
  });
  if (optimum_version.empty()) value.erase("optimum_version");
  return value;
}

IpuConfig IpuConfig::for_pod_type(const std::optional<std::string>& pod_type) const {
  const std::string wanted = pod_type.value_or("default");
  const std::vector<std::string> known = pod_types();
  if (std::find(known.begin(), known.end(), wanted) == known.end()) {
    throw UserError(where, "unknown pod type \"" + wanted + "\"", "one of " + joined(known));
  }
  if (by_pod_type.is_null()) return *this;
  Value value = to_value();
  for (const auto& [field, entries] : by_pod_type.object()) {
    const Value* entry = entries.find(wanted);
    if (entry == nullptr) {
      std::vector<std::string> given;
      for (const auto& [name, unused] : entries.object()) given.push_back(name);
      throw UserError(where_of(field), "there is no entry for \"" + wanted + "\"", "it has " + joined(given));
    }
    value.set(field, *entry);
  }
  return read_ipu_config(value);
}

std::int64_t IpuConfig::batch_size_factor(bool for_inference, const std::optional<std::string>& pod_type) const {
  if (!by_pod_type.is_null() || pod_type) {
    IpuConfig specialised = for_pod_type(pod_type);
    return specialised.batch_size_factor(for_inference);
  }
  if (for_inference) return inference_replication_factor * inference_device_iterations;
  return replication_factor * gradient_accumulation_steps * device_iterations;
}

IpuConfig IpuConfig::updated_from_string(const std::string& text) const {
  const std::string source = "--set " + text;
  const std::vector<Option>& declared = ipu_config_options();
  std::vector<std::string> known;
  for (const Option& option : declared) known.push_back(option.name);
  Value value = to_value();
  for (const auto& [key, given] : split_assignments(text, source)) {
    const std::string& name = key;
    const auto option = std::find_if(declared.begin(), declared.end(), [&](const Option& o) { return o.name == name; });
    if (option == declared.end()) throw unknown_key(source, key, known);
    const bool is_text = option->type == OptionType::Text || option->type == OptionType::Choice;
    const std::string place = "--set " + key;
    Value updated = is_text ? Value(given) : parse_value(given, place);
    updated.locate(place);
    value.set(key, std::move(updated));
  }
  return read_ipu_config(value);
}

std::string pod_type_of(std::string_view pod_name) {
  constexpr std::string_view kBow = "bow-";
  return std::string(pod_name.starts_with(kBow) ? pod_name.substr(kBow.size()) : pod_name);
}

}  // namespace podsim
