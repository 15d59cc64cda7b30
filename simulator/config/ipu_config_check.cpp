// Checks between fields, and what follows from several of them: IPUs, layers, proportions, parts.
#include "simulator/config/ipu_config_check.hpp"

#include <algorithm>
#include <numeric>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr std::int64_t kWildcard = -1;

std::string list_text(const std::vector<std::int64_t>& list) {
  return to_json(Value(Value::Array(list.begin(), list.end())));
}

bool is_single_wildcard(const std::vector<std::int64_t>& layers) {
  return layers.size() == 1 && layers[0] == kWildcard;
}

const std::vector<std::int64_t>& layers_of(const IpuConfig& config, bool for_inference) {
  return for_inference && !config.inference_layers_per_ipu.empty() ? config.inference_layers_per_ipu
                                                                   : config.layers_per_ipu;
}

// The field that layers_of() reads.
std::string layers_field(const IpuConfig& config, bool for_inference) {
  return for_inference && !config.inference_layers_per_ipu.empty() ? "inference_layers_per_ipu" : "layers_per_ipu";
}

void check_layers(const IpuConfig& config, bool for_inference) {
  const std::vector<std::int64_t>& layers = layers_of(config, for_inference);
  const std::string field = layers_field(config, for_inference);
  const auto ipus = static_cast<std::size_t>(config.ipus(for_inference));
  if (layers.empty()) throw UserError(config.where_of(field), field + " is empty", "give the layers of each IPU");
  if (is_single_wildcard(layers) || layers.size() == ipus) return;
  const std::string limit =
      for_inference && config.inference_ipus_per_replica > 0 ? "inference_ipus_per_replica" : "ipus_per_replica";
  throw UserError(config.where_of(field),
                  field + " " + list_text(layers) + " is for " + std::to_string(layers.size()) + " IPUs, but " + limit +
                      " is " + std::to_string(ipus),
                  "give an entry for each IPU, or [-1] to spread the layers evenly");
}

UserError wrong_length(const IpuConfig& config, const std::string& field, std::size_t entries, std::int64_t ipus) {
  return {config.where_of(field),
          field + " has " + std::to_string(entries) + " entries for a replica of " + std::to_string(ipus) + " IPUs",
          "give one for each IPU of the replica"};
}

void check_splits(const IpuConfig& config, const std::string& layer, const std::vector<std::int64_t>& splits,
                  std::int64_t factor) {
  if (splits.empty()) return;
  const std::string field = "serialized_" + layer + "_splits_per_ipu";
  const std::string where = config.where_of(field);
  if (factor > 1) {
    throw UserError(where, field + " and " + layer + "_serialization_factor exclude each other", "give one of them");
  }
  if (static_cast<std::int64_t>(splits.size()) != config.ipus(false)) {
    throw wrong_length(config, field, splits.size(), config.ipus(false));
  }
  const auto is_used = [](std::int64_t parts) { return parts > 0; };
  const auto first = std::find_if(splits.begin(), splits.end(), is_used);
  if (first == splits.end()) throw UserError(where, field + " " + list_text(splits) + " has no part at all");
  const auto gap = std::find(first, splits.end(), 0);
  if (std::any_of(gap, splits.end(), is_used)) {
    throw UserError(where, field + " " + list_text(splits) + " has a gap", "put the parts on consecutive IPUs");
  }
}

}  // namespace

void check_ipu_config(const IpuConfig& config, const ProportionLists& lists) {
  check_layers(config, false);
  check_layers(config, true);
  const auto size = static_cast<std::size_t>(config.ipus(false));
  if (lists.matmul_proportion && config.matmul_proportion.size() != size) {
    throw wrong_length(config, "matmul_proportion", config.matmul_proportion.size(), config.ipus(false));
  }
  const auto inference_size = static_cast<std::size_t>(config.ipus(true));
  if (lists.inference && config.inference_matmul_proportion.size() != inference_size) {
    throw wrong_length(config, "inference_matmul_proportion", config.inference_matmul_proportion.size(),
                       config.ipus(true));
  }
  check_splits(config, "embedding", config.serialized_embedding_splits_per_ipu, config.embedding_serialization_factor);
  check_splits(config, "projection", config.serialized_projection_splits_per_ipu,
               config.projection_serialization_factor);
}

std::int64_t IpuConfig::ipus(bool for_inference) const {
  const auto training = ipus_per_replica > 0 ? ipus_per_replica : static_cast<std::int64_t>(layers_per_ipu.size());
  if (!for_inference) return training;
  if (inference_ipus_per_replica > 0) return inference_ipus_per_replica;
  const bool own = !inference_layers_per_ipu.empty() && !is_single_wildcard(inference_layers_per_ipu);
  return own ? static_cast<std::int64_t>(inference_layers_per_ipu.size()) : training;
}

std::vector<std::int64_t> IpuConfig::resolved_layers(bool for_inference, std::int64_t layers) const {
  const std::vector<std::int64_t>& given = layers_of(*this, for_inference);
  const std::string field = layers_field(*this, for_inference);
  const auto count = static_cast<std::size_t>(ipus(for_inference));
  std::vector<std::int64_t> resolved = is_single_wildcard(given) ? std::vector(count, kWildcard) : given;
  if (count == 1 && given.front() == 1) return {layers};  // the default, [1], for a model on a single IPU
  const auto wildcards = std::count(resolved.begin(), resolved.end(), kWildcard);
  const std::int64_t left = layers - std::accumulate(resolved.begin(), resolved.end(), std::int64_t{0}) - wildcards;
  if (left < 0 || (wildcards == 0 && left != 0)) {
    throw UserError(where_of(field),
                    field + " " + list_text(given) + " places " + std::to_string(layers - left) +
                        " layers, but the model has " + std::to_string(layers),
                    "let the entries add up to " + std::to_string(layers) + ", or use -1 for the rest");
  }
  if (wildcards == 0) return resolved;
  const auto last = std::find(resolved.rbegin(), resolved.rend(), kWildcard);
  *last = left / wildcards + left % wildcards;
  std::replace(resolved.begin(), resolved.end(), kWildcard, left / wildcards);
  return resolved;
}

const std::vector<double>& IpuConfig::matmul_proportion_for(bool for_inference) const {
  return for_inference && !inference_matmul_proportion.empty() ? inference_matmul_proportion : matmul_proportion;
}

std::vector<double> IpuConfig::matmul_proportions(bool for_inference, std::int64_t ipus) const {
  const std::vector<double>& given = matmul_proportion_for(for_inference);
  const auto count = static_cast<std::size_t>(ipus);
  if (given.size() == 1) return std::vector<double>(count, given.front());
  if (given.size() == count) return given;
  const bool own = for_inference && !inference_matmul_proportion.empty();
  throw wrong_length(*this, own ? "inference_matmul_proportion" : "matmul_proportion", given.size(), ipus);
}

std::int64_t IpuConfig::embedding_parts() const {
  const auto& splits = serialized_embedding_splits_per_ipu;
  return splits.empty() ? embedding_serialization_factor
                        : std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
}

std::int64_t IpuConfig::projection_parts() const {
  const auto& splits = serialized_projection_splits_per_ipu;
  return splits.empty() ? projection_serialization_factor
                        : std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
}

std::string IpuConfig::resolved_output_mode(bool for_inference) const {
  if (output_mode != "default") return output_mode;
  return for_inference ? "all" : "final";
}

}  // namespace podsim
