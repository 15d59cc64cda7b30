// The declaration of every field of ipu_config.json: names and defaults of optimum-graphcore's IPUConfig.
#include "simulator/config/ipu_config.hpp"

namespace podsim {

namespace {

constexpr double kMany = 1e9;                        // larger counts are typing errors
constexpr double kLargestSeed = 9007199254740992.0;  // 2^53, exact in any JSON reader

Option flag(std::string name, bool value, std::string help) {
  return {.name = std::move(name), .type = OptionType::Boolean, .default_value = value, .help = std::move(help)};
}

Option count(std::string name, std::int64_t value, std::string help, double minimum = 1) {
  return {.name = std::move(name),
          .type = OptionType::Integer,
          .default_value = value,
          .help = std::move(help),
          .minimum = minimum,
          .maximum = kMany};
}

Option optional_count(std::string name, std::string help) {
  return {
      .name = std::move(name), .type = OptionType::Integer, .help = std::move(help), .minimum = 1, .maximum = kMany};
}

Option per_ipu_counts(std::string name, Value value, double minimum, std::string help) {
  return {.name = std::move(name),
          .type = OptionType::Integers,
          .default_value = std::move(value),
          .help = std::move(help),
          .minimum = minimum,
          .maximum = kMany};
}

Option proportion(std::string name, Value value, std::string help) {
  return {.name = std::move(name),
          .type = OptionType::Numbers,
          .default_value = std::move(value),
          .help = std::move(help),
          .minimum = 0,
          .maximum = 1};
}

std::vector<Option> batch_and_pipeline_options() {
  return {
      {.name = "seed",
       .type = OptionType::Integer,
       .help = "Seed of every random draw of the simulation (host jitter).",
       .minimum = 0,
       .maximum = kLargestSeed},
      flag("auto_loss_scaling", false, "Gradient statistics and an update of the loss scale in every weight update."),
      {.name = "executable_cache_dir",
       .type = OptionType::Text,
       .default_value = "",
       .help = "Folder of compiled executables: a cached graph is loaded instead of compiled."},
      count("replication_factor", 1, "Data-parallel replicas in training."),
      count("inference_replication_factor", 1, "Data-parallel replicas in inference."),
      count("gradient_accumulation_steps", 1, "Micro-batches per weight update."),
      per_ipu_counts("layers_per_ipu", Value::Array{1}, -1, "Layers on each IPU; -1 takes a share of those left."),
      per_ipu_counts("inference_layers_per_ipu", {}, -1, "The same in inference; layers_per_ipu where not given."),
      optional_count("ipus_per_replica", "IPUs of a replica; the length of layers_per_ipu where not given."),
      optional_count("inference_ipus_per_replica", "The same in inference."),
  };
}

std::vector<Option> memory_options() {
  return {
      flag("optimizer_state_offchip", true, "Keep the optimiser state in streaming memory."),
      flag("replicated_tensor_sharding", false,
           "Shard the optimiser state over the replicas; without effect with one replica."),
      flag("enable_half_first_order_momentum", false, "Keep the first optimiser moment in fp16."),
      proportion("matmul_proportion", 0.6, "Share of tile memory for temporaries of matmuls, for all IPUs or each."),
      proportion("inference_matmul_proportion", {}, "The same in inference; matmul_proportion where not given."),
      flag("enable_half_partials", true, "Partial sums of matmuls in fp16 instead of fp32."),
      count("embedding_serialization_factor", 1, "Steps into which embedding look-ups are split; 0 is the same as 1.",
            0),
      count("projection_serialization_factor", 1, "Steps into which the output projection is split; 0 is 1.", 0),
      per_ipu_counts("serialized_embedding_splits_per_ipu", {}, 0, "Parts of a split embedding on each IPU."),
      per_ipu_counts("serialized_projection_splits_per_ipu", {}, 0, "Parts of a split output projection on each IPU."),
      flag("recompute_checkpoint_every_layer", false, "Keep a recomputation checkpoint at the end of every layer."),
  };
}

std::vector<Option> host_options() {
  return {
      count("device_iterations", 1, "Weight updates per host call in training."),
      count("inference_device_iterations", 1, "Micro-batches per host call and replica in inference."),
      {.name = "output_mode",
       .type = OptionType::Choice,
       .default_value = "final",
       .help = "Results returned to the host; default is all for inference and final for training.",
       .choices = {"all", "sum", "final", "default"}},
      {.name = "optimum_version",
       .type = OptionType::Text,
       .help = "Version that wrote the file; a note without effect."},
  };
}

}  // namespace

const std::vector<Option>& ipu_config_options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> options = batch_and_pipeline_options();
    for (Option& option : memory_options()) options.push_back(std::move(option));
    for (Option& option : host_options()) options.push_back(std::move(option));
    return options;
  }();
  return kOptions;
}

}  // namespace podsim
