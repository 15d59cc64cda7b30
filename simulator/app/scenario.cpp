// Reads the sections of a scenario one by one; what needs two sections is checked at the end of each reader.
#include "simulator/app/scenario.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "simulator/app/overrides.hpp"
#include "simulator/app/scenario_host.hpp"
#include "simulator/app/scenario_options.hpp"
#include "simulator/app/second_graph.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/text_file.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

namespace fs = std::filesystem;

template <typename T>
T word(const Options& options, const std::string& name, const std::map<std::string, T>& words) {
  return words.at(options.text(name));
}

Value null_or(const Options& options, const std::string& name) {
  return options.has(name) ? options.value(name) : Value();
}

// A file name stands for the file's content, so that overrides reach inside.
void inline_file(Value& parent, const std::string& key, const fs::path& folder) {
  const Value* given = parent.find(key);
  if (given == nullptr || !given->is_text()) return;
  const fs::path path = given->text();
  parent.member(key) = read_json(path.is_absolute() ? path : folder / path);
}

Options read_system(Scenario& scenario, const Value& value) {
  const Options system = read_options(value, system_options());
  scenario.resolved.set("system", Value(system.values()));
  scenario.pod.pod = system.text("pod");
  scenario.pod.hosts = static_cast<int>(system.integer("hosts"));
  scenario.pod.custom = null_or(system, "topology");
  scenario.pod.where = system.where();
  scenario.parameter_overrides = null_or(system, "parameters");
  if (scenario.pod.pod.empty() == scenario.pod.custom.is_null()) {
    throw UserError(system.where(), "a system is either a pod or a topology",
                    "give one of them: \"pod\": \"bow-pod16\" or \"topology\": \"my_pod.json\"");
  }
  return system;
}

// Common options and the workload's own ones stand side by side: read them as one declaration.
Options read_workload(Scenario& scenario, const Value& value) {
  const Value* model = value.is_object() ? value.find("model") : nullptr;
  if (model == nullptr) (void)read_options(value, workload_options());  // says what is missing
  scenario.workload = &find_workload(model->text(), model->where());
  std::vector<Option> declared = workload_options();
  const std::vector<Option> own = scenario.workload->options();
  declared.insert(declared.end(), own.begin(), own.end());
  Options options = read_options(value, declared);
  scenario.resolved.set("workload", Value(options.values()));

  WorkloadRequest& request = scenario.workload_request;
  request.config = null_or(options, "config");
  if (!request.config.is_null() && !scenario.workload->reads_config()) {
    throw UserError(request.config.where(), "the model " + scenario.workload->name() + " reads no configuration file",
                    "leave config out; the model's own options: podsim describe workload " + scenario.workload->name());
  }
  request.training = options.text("mode") == "training";
  request.micro_batch_size = options.integer("micro_batch_size");
  request.precision = options.text("precision") == "fp32" ? ElementType::Float32 : ElementType::Float16;
  request.options = options;
  scenario.execution.mode = request.training ? Mode::Training : Mode::Inference;
  return options;
}

// Trainer(devices=n) of PyTorch Lightning replicates the model n times, whatever the number of its IPUs.
void use_devices(IpuConfig& config, const Options& system, bool training) {
  if (!system.has("devices")) return;
  const std::int64_t devices = system.integer("devices");
  const std::string field = training ? "replication_factor" : "inference_replication_factor";
  if (config.places.contains(field)) {
    throw UserError(system.where("devices"), "devices and " + field + " both count the replicas",
                    "give one of them; devices is PyTorch Lightning's name");
  }
  if (!std::has_single_bit(static_cast<std::uint64_t>(devices))) {
    throw UserError(system.where("devices"),
                    std::to_string(devices) + " devices are not possible: the number must be a power of 2",
                    "use " + std::to_string(std::bit_floor(static_cast<std::uint64_t>(devices))) + " or " +
                        std::to_string(std::bit_ceil(static_cast<std::uint64_t>(devices))));
  }
  (training ? config.replication_factor : config.inference_replication_factor) = devices;
}

void read_ipu_options(Scenario& scenario, const Value& value, const Options& workload, const Options& system) {
  scenario.ipu_config = read_ipu_config(value);
  if (!scenario.ipu_config.by_pod_type.is_null()) {
    const std::string& pod = scenario.pod.pod;
    scenario.ipu_config =
        scenario.ipu_config.for_pod_type(pod.empty() ? std::nullopt : std::optional(pod_type_of(pod)));
  }
  use_devices(scenario.ipu_config, system, scenario.execution.mode == Mode::Training);
  scenario.resolved.set("ipu_config", scenario.ipu_config.to_value());
  const IpuConfig& config = scenario.ipu_config;
  Execution& execution = scenario.execution;
  const bool training = execution.mode == Mode::Training;
  execution.replicas = static_cast<int>(training ? config.replication_factor : config.inference_replication_factor);
  execution.micro_batches = training ? config.gradient_accumulation_steps : 1;
  execution.device_iterations = training ? config.device_iterations : config.inference_device_iterations;
  const std::string output = config.resolved_output_mode(!training);
  execution.output_mode = output == "all" ? OutputMode::All : output == "sum" ? OutputMode::Sum : OutputMode::Final;
  scenario.workload_request.embedding_serialization = config.embedding_parts();
  scenario.workload_request.projection_serialization =
      std::max(config.embedding_parts(), config.projection_parts());  // SerializedLinear follows SerializedEmbedding
  scenario.available_memory_proportion = config.matmul_proportion_for(!training);
  scenario.lowering.auto_loss_scaling = config.auto_loss_scaling && training;
  scenario.lowering.inference = !training;
  scenario.lowering.partials =
      config.enable_half_partials && scenario.workload_request.precision == ElementType::Float16 ? ElementType::Float16
                                                                                                 : ElementType::Float32;
  scenario.partition.optimizer = find_optimizer(workload.text("optimizer"), workload.where("optimizer"));
  if (config.enable_half_first_order_momentum && !scenario.partition.optimizer.state_types.empty()) {
    scenario.partition.optimizer.state_types.front() = ElementType::Float16;
  }
  execution.optimizer_state.off_chip = training && config.optimizer_state_offchip;
  execution.optimizer_state.sharded = training && config.replicated_tensor_sharding && execution.replicas > 1;
}

void read_partition(Scenario& scenario, const Value& value, const Value& ipu_config) {
  const Options options = read_options(value, partition_options());
  scenario.resolved.set("partition", Value(options.values()));
  PartitionRequest& request = scenario.partition;
  request.where = options.where();
  request.training = scenario.workload_request.training;
  request.round_to_power_of_two = options.boolean("auto_round_num_ipus");
  if (options.has("stages")) {
    for (const Value& item : options.value("stages").array()) {
      const Options stage = read_options(
          item, {{.name = "blocks", .type = OptionType::Texts, .help = "Blocks, in order.", .required = true},
                 {.name = "ipu",
                  .type = OptionType::Integer,
                  .default_value = static_cast<int>(request.stages.size()),
                  .help = "IPU of the replica.",
                  .minimum = 0,
                  .maximum = 65535}});
      request.stages.push_back({stage.texts("blocks"), static_cast<int>(stage.integer("ipu")), item.where()});
    }
  }
  const bool training = request.training;
  const IpuConfig& config = scenario.ipu_config;
  if (options.has("pipeline_depth")) {
    if (!request.stages.empty()) {
      throw UserError(options.where("pipeline_depth"), "stages and pipeline_depth both say how the model is split",
                      "give one of them");
    }
    request.pipeline_depth = static_cast<int>(options.integer("pipeline_depth"));
  } else if (ipu_config.is_object() && request.stages.empty()) {
    const bool own = !training && ipu_config.contains("inference_layers_per_ipu");
    if (own || ipu_config.contains("layers_per_ipu")) {
      request.layers_per_ipu = own ? config.inference_layers_per_ipu : config.layers_per_ipu;
      request.where = config.where_of(own ? "inference_layers_per_ipu" : "layers_per_ipu");
    }
    request.ipus_per_replica = static_cast<int>(
        own && config.inference_ipus_per_replica > 0 ? config.inference_ipus_per_replica : config.ipus_per_replica);
  }
}

// IPUs that the split asks for, where it does: workloads without a size of their own follow it.
int pipeline_ipus(const PartitionRequest& request) {
  if (request.pipeline_depth > 0) return request.pipeline_depth;
  if (!request.layers_per_ipu.empty()) return static_cast<int>(request.layers_per_ipu.size());
  return request.ipus_per_replica;
}

void read_locations(Scenario& scenario, const Value& value) {
  const std::vector<std::pair<std::string, VariableLocation*>> classes = {
      {"activations", &scenario.execution.activations},
      {"weights", &scenario.execution.weights},
      {"accumulators", &scenario.execution.accumulators},
      {"optimizer_state", &scenario.execution.optimizer_state}};
  if (value.is_null()) return;
  for (const auto& [key, member] : value.object()) {
    const auto found = std::find_if(classes.begin(), classes.end(), [&](const auto& c) { return c.first == key; });
    if (found == classes.end()) {
      throw UserError(member.where(), "unknown class of tensors \"" + key + "\"",
                      "one of activations, weights, accumulators, optimizer_state");
    }
    const Options options = read_options(member, location_options());
    VariableLocation& location = *found->second;
    if (options.has("off_chip")) location.off_chip = options.boolean("off_chip");
    if (options.has("sharded")) location.sharded = options.boolean("sharded");
    location.sharding_domain = static_cast<int>(options.integer("sharding_domain"));
    location.minimum_elements = options.integer("minimum_elements");
    if (location.sharded && scenario.execution.replicas == 1) {
      scenario.warnings.push_back("locations." + key + ".sharded has no effect with one replica");
      location.sharded = false;
    } else if (!location.sharded && (member.contains("sharding_domain") || member.contains("minimum_elements"))) {
      throw UserError(member.where(), "sharding_domain and minimum_elements need sharded tensors",
                      "set \"sharded\": true, or leave them out");
    }
  }
}

Recomputation recomputation_of(const Scenario& scenario, const Options& options) {
  const std::string& wanted = options.text("recomputation");
  const bool training = scenario.execution.mode == Mode::Training;
  if (wanted == "auto") {
    // Stages with given times say themselves what they recompute.
    if (training && scenario.workload->name() == "stage_times") return Recomputation::Stage;
    if (!training || scenario.schedule->name() != "pipelined") return Recomputation::None;
    return scenario.ipu_config.recompute_checkpoint_every_layer ? Recomputation::EveryLayer : Recomputation::Stage;
  }
  if (!training && wanted != "none") {
    throw UserError(options.where("recomputation"), "inference recomputes nothing", "leave the key out, or say none");
  }
  return word<Recomputation>(options, "recomputation",
                             {{"none", Recomputation::None},
                              {"stage", Recomputation::Stage},
                              {"every_layer", Recomputation::EveryLayer},
                              {"named", Recomputation::Named}});
}

// Stages with given times recompute only where they say so.
bool recomputes(const Scenario& scenario) {
  if (scenario.workload->name() != "stage_times") return true;
  const std::vector<double> seconds = scenario.workload_request.options.numbers("recompute_seconds");
  return std::any_of(seconds.begin(), seconds.end(), [](double value) { return value > 0; });
}

Options read_execution(Scenario& scenario, const Value& value) {
  Options options = read_options(value, execution_options());
  scenario.resolved.set("execution", Value(options.values()));
  Execution& execution = scenario.execution;
  scenario.recomputation = recomputation_of(scenario, options);
  execution.recompute = scenario.recomputation != Recomputation::None && recomputes(scenario);
  scenario.fp8_checkpoints = options.text("checkpoint_type") == "fp8";
  if (scenario.fp8_checkpoints && execution.mode == Mode::Inference) {
    throw UserError(options.where("checkpoint_type"), "inference stashes no activations", "leave the key out");
  }
  execution.update_order = word<UpdateOrder>(
      options, "weight_update", {{"serial", UpdateOrder::Serial}, {"overlapped", UpdateOrder::Overlapped}});
  execution.sync_pattern = word<SyncPattern>(options, "sync_pattern",
                                             {{"full", SyncPattern::Full},
                                              {"single_pipeline", SyncPattern::SinglePipeline},
                                              {"replica_and_ladder", SyncPattern::ReplicaAndLadder}});
  if (options.text("partials") != "auto") {
    scenario.lowering.partials = options.text("partials") == "fp16" ? ElementType::Float16 : ElementType::Float32;
    if (scenario.lowering.partials == ElementType::Float16 &&
        scenario.workload_request.precision == ElementType::Float32) {
      throw UserError(options.where("partials"), "fp32 operands have fp32 partials", "use auto or fp32");
    }
  }
  scenario.lowering.outlining = options.boolean("outlining");
  if (options.has("output_period")) {
    execution.output_mode = OutputMode::EveryN;
    execution.output_period = options.integer("output_period");
  }
  read_locations(scenario, null_or(options, "locations"));
  return options;
}

void read_schedule(Scenario& scenario, const Value& value) {
  std::string name = "pipelined";
  Value options;
  std::string where = scenario.file;
  if (value.is_text()) {
    name = value.text();
    where = value.where();
  } else if (!value.is_null()) {
    if (!value.is_object() || value.object().size() != 1) {
      throw UserError(value.where(), "a schedule is a name, or an object with one name and its options",
                      "for example {\"pipelined\": {\"order\": \"popart\"}}");
    }
    name = value.object().front().first;
    options = value.object().front().second;
    where = options.where();
  }
  scenario.schedule = &find_schedule(name, where);
  scenario.schedule_options = read_options(options, scenario.schedule->options());
  Value resolved;
  resolved.set(name, Value(scenario.schedule_options.values()));
  scenario.resolved.set("schedule", std::move(resolved));
}

// So many host calls, or so many epochs of a data set: how many calls that takes is known once the model is built.
void read_runs(Scenario& scenario, const Options& top) {
  scenario.execution.runs = top.integer("runs");
  if (!top.has("dataset_samples")) {
    if (scenario.source.contains("epochs")) {
      throw UserError(top.where("epochs"), "epochs need the size of the data set", "set dataset_samples");
    }
    scenario.resolved.set("runs", scenario.execution.runs);
    return;
  }
  if (scenario.source.contains("runs")) {
    throw UserError(top.where("runs"), "runs and dataset_samples both say how much is simulated", "give one of them");
  }
  scenario.dataset_samples = top.integer("dataset_samples");
  scenario.epochs = top.integer("epochs");
  scenario.resolved.set("dataset_samples", scenario.dataset_samples);
  scenario.resolved.set("epochs", scenario.epochs);
}

// Stages with given times are not cut from a model: their depth is their number.
void use_depth_as_stages(Value& source) {
  const Value* workload = source.find("workload");
  const Value* partition = source.find("partition");
  if (workload == nullptr || partition == nullptr || !workload->is_object() || !partition->is_object()) return;
  const Value* model = workload->find("model");
  const Value* depth = partition->find("pipeline_depth");
  if (depth == nullptr || model == nullptr || !(*model == Value("stage_times"))) return;
  const Value stages = *depth;
  source.member("workload").set("stages", stages);
  source.member("partition").erase("pipeline_depth");
}

}  // namespace

void inline_files(Value& source, const fs::path& folder) {
  if (!source.is_object()) return;
  inline_file(source, "ipu_config", folder);
  if (const Value* workload = source.find("workload"); workload != nullptr && workload->is_object()) {
    inline_file(source.member("workload"), "config", folder);
    inline_file(source.member("workload"), "graph", folder);
  }
  if (const Value* system = source.find("system"); system != nullptr && system->is_object()) {
    inline_file(source.member("system"), "topology", folder);
  }
}

Value load_scenario_source(const fs::path& file, const std::vector<Override>& overrides) {
  Value source = read_json(file);
  inline_files(source, file.parent_path());
  apply_overrides(source, overrides);
  inline_files(source, fs::current_path());  // file names given on the command line
  return source;
}

Scenario load_scenario(const fs::path& file, const std::vector<Override>& overrides) {
  Scenario scenario = read_scenario(load_scenario_source(file, overrides), file.parent_path());
  scenario.text = read_text(file);
  scenario.file = file.string();
  if (scenario.name.empty()) scenario.name = file.stem().string();
  return scenario;
}

Scenario read_scenario(Value source, const fs::path& folder) {
  inline_files(source, folder);
  if (source.is_object()) use_depth_as_stages(source);
  Scenario scenario;
  const Options top = read_options(source, scenario_options());
  scenario.name = top.text("name");
  scenario.file = source.where();
  scenario.source = source;
  const Value ipu_config = null_or(top, "ipu_config");
  const Options system = read_system(scenario, top.value("system"));
  const Options workload = read_workload(scenario, top.value("workload"));
  scenario.workload_request.folder = folder;
  read_schedule(scenario, null_or(top, "schedule"));
  read_ipu_options(scenario, ipu_config, workload, system);
  read_partition(scenario, null_or(top, "partition"), ipu_config);
  scenario.workload_request.pipeline_ipus = pipeline_ipus(scenario.partition);
  const Options execution = read_execution(scenario, null_or(top, "execution"));
  read_runs(scenario, top);
  read_host(scenario, null_or(top, "host"));
  read_host_transfers(scenario, execution);
  scenario.allow_out_of_memory = top.boolean("allow_out_of_memory");
  read_second_graph(scenario, folder);
  return scenario;
}

}  // namespace podsim
