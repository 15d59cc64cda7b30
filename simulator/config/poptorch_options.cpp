// The view of an IpuConfig as PopTorch options, under the names of PopTorch's Options class.
#include <utility>

#include "simulator/config/ipu_config.hpp"

namespace podsim {

namespace {

std::string poptorch_output_mode(const std::string& mode) {
  if (mode == "all") return "All";
  return mode == "sum" ? "Sum" : "Final";
}

Value memory_proportions(const IpuConfig& config, bool for_inference) {
  Value value = Value::Object{};
  int ipu = 0;
  for (const double proportion : config.matmul_proportions(for_inference, config.ipus(for_inference))) {
    value.set("IPU" + std::to_string(ipu++), proportion);
  }
  return value;
}

Value training_options(const IpuConfig& config) {
  return Value()
      .set("gradientAccumulation", config.gradient_accumulation_steps)
      .set("accumulationAndReplicationReductionType", "Mean")
      .set("setAutomaticLossScaling", config.auto_loss_scaling);
}

Value optimizer_location(const IpuConfig& config, std::int64_t replicas) {
  return Value()
      .set("useOnChipStorage", !config.optimizer_state_offchip)
      .set("useReplicatedTensorSharding", config.replicated_tensor_sharding && replicas > 1);
}

}  // namespace

Value IpuConfig::to_options(bool for_inference, bool compile_only, const std::optional<std::string>& pod_type) const {
  const IpuConfig config = by_pod_type.is_null() && !pod_type ? *this : for_pod_type(pod_type);
  const std::int64_t replicas = for_inference ? config.inference_replication_factor : config.replication_factor;
  Value options = Value::Object{};
  options.set("replicationFactor", replicas);
  options.set("deviceIterations", for_inference ? config.inference_device_iterations : config.device_iterations);
  if (!for_inference) options.set("Training", training_options(config));
  options.set("outputMode", poptorch_output_mode(config.resolved_output_mode(for_inference)));
  if (config.seed) options.set("randomSeed", *config.seed);
  options.set("TensorLocations", Value().set("setOptimizerLocation", optimizer_location(config, replicas)));
  options.set("setAvailableMemoryProportion", memory_proportions(config, for_inference));
  options.set("Precision", Value()
                               .set("setPartialsType", config.enable_half_partials ? "half" : "float")
                               .set("enableStochasticRounding", !for_inference));
  if (!config.executable_cache_dir.empty()) options.set("enableExecutableCaching", config.executable_cache_dir);
  if (compile_only) options.set("useOfflineIpuTarget", true);
  return options;
}

}  // namespace podsim
