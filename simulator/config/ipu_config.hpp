// IpuConfig: the run-time configuration of Hugging Face's optimum-graphcore (ipu_config.json), with its names,
// defaults and rules, so that a published file is a valid input as it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/option.hpp"
#include "simulator/core/value.hpp"

namespace podsim {

// Fields as in ipu_config.json. A field that the file gives per pod type ({"pod4": 1, …, "default": 1}) stands in
// `by_pod_type`, and its own member holds the "default" entry, or its declared default where there is none: specialise
// with for_pod_type() before use.
struct IpuConfig {
  std::optional<std::int64_t> seed;
  bool auto_loss_scaling = false;
  std::string executable_cache_dir;
  std::int64_t replication_factor = 1;
  std::int64_t inference_replication_factor = 1;
  std::int64_t gradient_accumulation_steps = 1;
  std::vector<std::int64_t> layers_per_ipu = {1};      // -1: a share of the layers that are left
  std::vector<std::int64_t> inference_layers_per_ipu;  // empty: as layers_per_ipu
  std::int64_t ipus_per_replica = 0;                   // 0: the length of layers_per_ipu
  std::int64_t inference_ipus_per_replica = 0;         // 0: from inference_layers_per_ipu, else as in training
  bool optimizer_state_offchip = true;
  bool replicated_tensor_sharding = false;  // has no effect with one replica
  bool enable_half_first_order_momentum = false;
  std::vector<double> matmul_proportion = {0.6};    // one for all IPUs, or one each
  std::vector<double> inference_matmul_proportion;  // empty: as matmul_proportion
  bool enable_half_partials = true;
  std::int64_t embedding_serialization_factor = 1;                 // a published 0 is read as 1
  std::int64_t projection_serialization_factor = 1;                // a published 0 is read as 1
  std::vector<std::int64_t> serialized_embedding_splits_per_ipu;   // empty: not split over IPUs
  std::vector<std::int64_t> serialized_projection_splits_per_ipu;  // empty: not split over IPUs
  bool recompute_checkpoint_every_layer = false;
  std::int64_t device_iterations = 1;
  std::int64_t inference_device_iterations = 1;
  std::string output_mode = "final";  // all, sum, final, default
  std::string optimum_version;        // who wrote the file; a note without effect

  Value by_pod_type;                          // {"replication_factor": {"pod4": 1, …}, …}, or null
  std::string where;                          // of the whole configuration
  std::map<std::string, std::string> places;  // of each field given

  // "file:/pointer" of a field, for messages.
  [[nodiscard]] std::string where_of(const std::string& field) const;
  // The same configuration with the entries of this pod type ("pod16"; none: "default"). UserError for a pod type that
  // is not known, or that a field has no entry for.
  [[nodiscard]] IpuConfig for_pod_type(const std::optional<std::string>& pod_type) const;
  // Replicas x accumulated micro-batches x device iterations: samples of one run per sample of a micro-batch.
  [[nodiscard]] std::int64_t batch_size_factor(bool for_inference,
                                               const std::optional<std::string>& pod_type = std::nullopt) const;
  // A copy with fields set from "device_iterations=4,enable_half_partials=false,matmul_proportion=[0.1 0.2]".
  [[nodiscard]] IpuConfig updated_from_string(const std::string& text) const;

  // IPUs that a replica spans: ipus_per_replica where given, else one for each entry of layers_per_ipu.
  [[nodiscard]] std::int64_t ipus(bool for_inference) const;
  // Layers on each IPU of a replica for a model of `layers` layers. A single -1 stands for all IPUs; the -1s share what
  // is left evenly, and the last of them takes the remainder; the default, [1], puts any model on its single IPU.
  // UserError where the numbers do not add up.
  [[nodiscard]] std::vector<std::int64_t> resolved_layers(bool for_inference, std::int64_t layers) const;
  // As given: one for all IPUs, or one each.
  [[nodiscard]] const std::vector<double>& matmul_proportion_for(bool for_inference) const;
  // One for each of `ipus` IPUs; UserError where the list has another length.
  [[nodiscard]] std::vector<double> matmul_proportions(bool for_inference, std::int64_t ipus) const;
  // Parts of the embedding and of the output projection: the factor, or the sum of the splits per IPU.
  [[nodiscard]] std::int64_t embedding_parts() const;
  [[nodiscard]] std::int64_t projection_parts() const;
  // all, sum or final; "default" is all for inference and final for training.
  [[nodiscard]] std::string resolved_output_mode(bool for_inference) const;

  // As JSON again: every field with its value, those that are not set left out.
  [[nodiscard]] Value to_value() const;
  // The PopTorch options that follow from the configuration, by their PopTorch names.
  [[nodiscard]] Value to_options(bool for_inference, bool compile_only = false,
                                 const std::optional<std::string>& pod_type = std::nullopt) const;
};

// The declaration of every field, in the order of the documentation.
[[nodiscard]] const std::vector<Option>& ipu_config_options();

// Reads the content of an ipu_config.json (null: all defaults). UserErrors as read_options, and where fields disagree.
[[nodiscard]] IpuConfig read_ipu_config(const Value& value);

// The pod type that a pod's name stands for: "bow-pod16" and "pod16" are "pod16"; other names are returned as they are.
[[nodiscard]] std::string pod_type_of(std::string_view pod_name);

}  // namespace podsim
