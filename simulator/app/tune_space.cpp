// Enumerates the choices. Counts follow from each other: replicas x depth fill the IPUs, and replicas x micro-batch x
// accumulation give the global batch.
#include "simulator/app/tune_space.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "simulator/app/overrides.hpp"
#include "simulator/app/tune_splits.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/set_path.hpp"
#include "simulator/core/error.hpp"
#include "simulator/partition/assignment.hpp"
#include "workloads/workload_graph.hpp"

namespace podsim {

namespace {

constexpr std::int64_t kLargestMicroBatch = 64;  // beyond it no published configuration goes

// Keys that follow from others and cannot be varied on their own.
const std::vector<std::string> kDerived = {"ipu_config.replication_factor", "ipu_config.inference_replication_factor",
                                           "ipu_config.gradient_accumulation_steps", "ipu_config.ipus_per_replica",
                                           "partition.stages"};

// The values that --vary gives for one key; nothing where it does not name the key.
std::optional<std::vector<std::string>> given_values(const TuneRequest& request, const std::string& path) {
  for (const SweepAxis& axis : request.axes) {
    if (axis.keys.size() != 1 || full_path(axis.keys.front()) != path) continue;
    std::vector<std::string> values;
    for (const auto& row : axis.rows) values.push_back(row.front());
    return values;
  }
  return std::nullopt;
}

bool is_tuned(const std::string& path) {
  const std::vector<std::string> tuned = {"workload.micro_batch_size",
                                          "partition.pipeline_depth",
                                          "ipu_config.layers_per_ipu",
                                          "ipu_config.inference_layers_per_ipu",
                                          "execution.recomputation",
                                          "ipu_config.optimizer_state_offchip",
                                          "ipu_config.replicated_tensor_sharding",
                                          "schedule"};
  return std::find(tuned.begin(), tuned.end(), path) != tuned.end();
}

void require_free_keys(const TuneRequest& request) {
  for (const SweepAxis& axis : request.axes) {
    for (const std::string& key : axis.keys) {
      const std::string path = full_path(key);
      if (std::find(kDerived.begin(), kDerived.end(), path) != kDerived.end()) {
        throw UserError(axis.where, key + " follows from the other choices",
                        "bound it with --ipus and --global-batch, or vary pipeline_depth, layers_per_ipu or "
                        "workload.micro_batch_size");
      }
      if (axis.keys.size() > 1 && is_tuned(path)) {
        throw UserError(axis.where, key + " is chosen by tune and cannot be zipped with another key", "vary it alone");
      }
    }
  }
}

std::vector<std::int64_t> integers(const std::vector<std::string>& texts, const std::string& where) {
  std::vector<std::int64_t> numbers;
  for (const std::string& text : texts) numbers.push_back(parse_value(text, where).integer());
  return numbers;
}

struct Base {
  Scenario scenario;
  bool profiled = false;
  int ipus_per_replica = 1;
  int ipus_per_stage = 1;
  int pod_ipus = 0;
  std::int64_t layers = 0;
  bool own_locations = false;  // execution.locations.optimizer_state says where the state is
};

Base examine(const TuneRequest& request, const DataFolder& data) {
  Base base;
  base.scenario = read_scenario(request.source, request.folder);
  const auto graph = base.scenario.workload->build(base.scenario.workload_request);
  base.profiled = is_profiled(*graph);
  base.ipus_per_stage = graph->ipus_per_stage;
  const std::vector<int> numbers = layer_numbers(*graph);
  base.layers = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end()) + 1;
  PodRequest pod = base.scenario.pod;
  base.pod_ipus = build_topology(pod, data).ipu_count();
  if (base.profiled) base.ipus_per_replica = partition(*graph, base.scenario.partition).ipus_per_replica;
  const Value* execution = request.source.find("execution");
  const Value* locations = execution != nullptr && execution->is_object() ? execution->find("locations") : nullptr;
  base.own_locations = locations != nullptr && locations->is_object() && locations->contains("optimizer_state");
  return base;
}

struct LayerSplit {
  int depth = 1;
  std::vector<std::int64_t> layers;
};

// With the automatic split, which goes by cost.
std::vector<LayerSplit> splits_of_depth(const Base& base, int depth) {
  std::vector<LayerSplit> splits;
  if (depth > 1 || base.layers == 0) splits.push_back({depth, {}});
  for (std::vector<std::int64_t>& layers : layer_splits(base.layers, depth))
    splits.push_back({depth, std::move(layers)});
  return splits;
}

std::vector<LayerSplit> all_splits(const TuneRequest& request, const Base& base, int ipus) {
  if (base.profiled) return {{base.ipus_per_replica, {}}};
  std::vector<LayerSplit> splits;
  for (const char* key : {"ipu_config.layers_per_ipu", "ipu_config.inference_layers_per_ipu"}) {
    const auto given = given_values(request, key);
    if (!given) continue;
    for (const std::string& text : *given) {
      const Value value = parse_value(text, key);
      LayerSplit split;
      for (const Value& item : value.array()) split.layers.push_back(item.integer());
      split.depth = static_cast<int>(split.layers.size());
      splits.push_back(std::move(split));
    }
    return splits;
  }
  std::vector<std::int64_t> depths;
  if (const auto given = given_values(request, "partition.pipeline_depth")) {
    depths = integers(*given, "pipeline_depth");
  } else {
    for (std::int64_t depth = 1; depth <= ipus; ++depth) {
      if (ipus % depth == 0) depths.push_back(depth);
    }
  }
  for (const std::int64_t depth : depths) {
    const std::vector<LayerSplit> more = splits_of_depth(base, static_cast<int>(depth));
    splits.insert(splits.end(), more.begin(), more.end());
  }
  return splits;
}

std::vector<std::int64_t> micro_batches(const TuneRequest& request, const Base& base) {
  const std::int64_t own = base.scenario.workload_request.micro_batch_size;
  if (base.profiled) return {own};  // its times belong to its micro-batch
  if (const auto given = given_values(request, "workload.micro_batch_size")) {
    return integers(*given, "workload.micro_batch_size");
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= kLargestMicroBatch; size *= 2) sizes.push_back(size);
  if (std::find(sizes.begin(), sizes.end(), own) == sizes.end()) sizes.push_back(own);
  return sizes;
}

// Further keys of --vary: all combinations.
std::vector<std::vector<Override>> further_values(const TuneRequest& request) {
  std::vector<std::vector<Override>> combinations = {{}};
  for (const SweepAxis& axis : request.axes) {
    if (is_tuned(full_path(axis.keys.front()))) continue;
    std::vector<std::vector<Override>> extended;
    for (const auto& combination : combinations) {
      for (const auto& row : axis.rows) {
        extended.push_back(combination);
        for (std::size_t k = 0; k < axis.keys.size(); ++k) extended.back().emplace_back(axis.keys[k], row[k]);
      }
    }
    combinations = std::move(extended);
  }
  return combinations;
}

int ipus_per_stage(const Base& base, const std::vector<Override>& further) {
  int ipus = base.ipus_per_stage;
  for (const auto& [key, value] : further) {
    if (key != "workload.tensor_parallel" && key != "workload.domain_sharding") continue;
    ipus = static_cast<int>(parse_value(value, key).integer());
  }
  return std::max(1, ipus);
}

// As many replicas as the IPUs and the batch allow, in powers of two as devices are handed out (stages with given times
// need no devices); none where the batch cannot be divided.
void add_plan(TuneSpace& space, TunePlan plan) {
  const int replica = plan.ipus_per_replica * plan.ipus_per_stage;
  for (plan.replicas = space.ipus / replica; plan.replicas >= 1; --plan.replicas) {
    const auto used = static_cast<unsigned>(plan.replicas * replica);
    if (!space.fixed_split && !std::has_single_bit(used)) continue;
    plan.accumulation = 1;
    if (space.training) {
      const std::int64_t samples = plan.replicas * plan.micro_batch_size;
      if (space.global_batch % samples != 0) continue;
      plan.accumulation = space.global_batch / samples;
    }
    space.plans.push_back(std::move(plan));
    return;
  }
}

std::vector<std::string> schedule_choices(const TuneRequest& request, const TuneSpace& space) {
  if (const auto given = given_values(request, "schedule")) return *given;
  if (!space.training) return {R"({"pipelined":{"order":"popart"}})", "sharded"};
  return {R"({"pipelined":{"order":"popart"}})", R"({"pipelined":{"order":"grouped"}})",
          R"({"pipelined":{"order":"interleaved"}})", "sharded"};
}

void add_variants(TuneSpace& space, const TuneRequest& request, const Base& base) {
  const bool state = space.training && !base.profiled && !base.own_locations;
  const std::vector<std::string> fixed = {""};
  const std::vector<std::string> both = {"false", "true"};
  const auto values = [&](const char* path, bool varies) {
    const auto given = given_values(request, path);
    return given ? *given : varies ? both : fixed;
  };
  for (const std::string& schedule : schedule_choices(request, space)) {
    for (const std::string& offload : values("ipu_config.optimizer_state_offchip", state)) {
      for (const std::string& sharding : values("ipu_config.replicated_tensor_sharding", state)) {
        space.variants.push_back({offload, sharding, schedule});
      }
    }
  }
  const auto given = given_values(request, "execution.recomputation");
  if (given) {
    space.recomputations = *given;
  } else if (space.training && !base.profiled) {
    space.recomputations = {"none", "stage", "every_layer"};
  } else {
    space.recomputations = fixed;
  }
}

// A list with one entry for each IPU does not fit another number of IPUs; its smallest value is safe for all.
void fit_proportions(Value& ipu_config, const std::string& key, std::size_t ipus) {
  const Value* given = ipu_config.find(key);
  if (given == nullptr || !given->is_array() || given->array().size() == ipus || given->array().size() < 2) return;
  double smallest = given->array().front().number();
  for (const Value& item : given->array()) smallest = std::min(smallest, item.number());
  ipu_config.set(key, smallest);
}

}  // namespace

TuneSpace tune_space(const TuneRequest& request, const DataFolder& data) {
  require_free_keys(request);
  const Base base = examine(request, data);
  const Execution& execution = base.scenario.execution;
  TuneSpace space;
  space.training = execution.mode == Mode::Training;
  space.fixed_split = base.profiled;
  space.ipus = request.ipus > 0 ? request.ipus : base.pod_ipus;
  if (space.ipus > base.pod_ipus) {
    throw UserError("--ipus " + std::to_string(space.ipus), "the pod has " + std::to_string(base.pod_ipus) + " IPUs",
                    "choose a larger one with --set system.pod=…, or fewer IPUs");
  }
  if (!space.training && request.global_batch > 0) {
    throw UserError("--global-batch", "inference updates no weights", "leave it out");
  }
  space.global_batch = request.global_batch > 0 ? request.global_batch
                                                : execution.replicas * execution.micro_batches *
                                                      base.scenario.workload_request.micro_batch_size;
  for (const LayerSplit& split : all_splits(request, base, space.ipus)) {
    for (const std::int64_t size : micro_batches(request, base)) {
      for (const auto& further : further_values(request)) {
        add_plan(space, {split.depth, split.layers, 1, size, 1, further, ipus_per_stage(base, further)});
      }
    }
  }
  if (space.plans.empty()) {
    throw UserError("tune",
                    "no pipeline on " + std::to_string(space.ipus) + " IPUs gives a global batch of " +
                        std::to_string(space.global_batch),
                    "choose another --global-batch or --ipus");
  }
  add_variants(space, request, base);
  return space;
}

bool applies(const TuneVariant& variant, const TunePlan& plan) {
  if (plan.replicas == 1 && variant.sharding == "true") return false;
  return plan.ipus_per_replica > 1 || variant.schedule.find("pipelined") == std::string::npos;
}

Value tuned_source(const TuneRequest& request, const TuneSpace& space, const TunePlan& plan,
                   const std::string& recomputation, const TuneVariant& variant) {
  Value source = request.source;
  const std::string prefix = space.training ? "" : "inference_";
  Value& config = source.member("ipu_config");
  const auto ipus = static_cast<std::int64_t>(plan.ipus_per_replica);
  config.set(prefix + "replication_factor", plan.replicas);
  if (space.training) config.set("gradient_accumulation_steps", plan.accumulation);
  if (!space.fixed_split) {
    for (const char* key : {"stages", "pipeline_depth"}) {
      if (source.contains("partition")) source.member("partition").erase(key);
    }
    config.erase(prefix + "layers_per_ipu");
    config.set(prefix + "ipus_per_replica", ipus);
    Value::Array layers;
    for (const std::int64_t count : plan.layers_per_ipu) layers.emplace_back(count);
    if (layers.empty()) {
      source.member("partition").set("pipeline_depth", ipus);
    } else {
      config.set(prefix + "layers_per_ipu", Value(std::move(layers)));
    }
    fit_proportions(config, prefix + "matmul_proportion", static_cast<std::size_t>(ipus));
    source.member("workload").set("micro_batch_size", plan.micro_batch_size);
  }
  std::vector<Override> overrides = plan.further;
  if (!recomputation.empty()) overrides.emplace_back("execution.recomputation", recomputation);
  if (!variant.offload.empty()) overrides.emplace_back("optimizer_state_offchip", variant.offload);
  if (!variant.sharding.empty()) overrides.emplace_back("replicated_tensor_sharding", variant.sharding);
  overrides.emplace_back("schedule", variant.schedule);
  apply_overrides(source, overrides);
  return source;
}

std::string describe(const TunePlan& plan, const std::string& recomputation, const TuneVariant& variant) {
  std::string text = std::to_string(plan.replicas) + " x ";
  if (plan.layers_per_ipu.empty()) {
    text += std::to_string(plan.ipus_per_replica) + (plan.ipus_per_replica == 1 ? " IPU" : " IPUs");
  } else {
    std::string layers;
    for (const std::int64_t count : plan.layers_per_ipu) layers += (layers.empty() ? "" : ",") + std::to_string(count);
    text += "[" + layers + "]";
  }
  text += ", micro-batch " + std::to_string(plan.micro_batch_size) + " x " + std::to_string(plan.accumulation);
  for (const auto& [key, value] : plan.further) text += ", " + key + "=" + value;
  std::string schedule = variant.schedule;
  std::erase_if(schedule, [](char letter) { return letter == '{' || letter == '}' || letter == '"'; });
  text += ", " + schedule;
  if (!recomputation.empty()) text += ", recomputation " + recomputation;
  if (variant.offload == "true") text += ", state off chip";
  if (variant.sharding == "true") text += ", sharded";
  return text;
}

}  // namespace podsim
