// The declarations. Help texts are sentences; units are in the names.
#include "simulator/app/scenario_options.hpp"

namespace podsim {

namespace {

constexpr double kMany = 1e12;  // larger counts are typing errors
constexpr double kLong = 1e9;   // seconds

Option boolean(std::string name, bool value, std::string help) {
  return {.name = std::move(name), .type = OptionType::Boolean, .default_value = value, .help = std::move(help)};
}

Option count(std::string name, Value value, double minimum, double maximum, std::string help) {
  return {.name = std::move(name),
          .type = OptionType::Integer,
          .default_value = std::move(value),
          .help = std::move(help),
          .minimum = minimum,
          .maximum = maximum};
}

Option number(std::string name, Value value, double minimum, double maximum, std::string help) {
  return {.name = std::move(name),
          .type = OptionType::Number,
          .default_value = std::move(value),
          .help = std::move(help),
          .minimum = minimum,
          .maximum = maximum};
}

Option choice(std::string name, Value value, std::vector<std::string> choices, std::string help) {
  return {.name = std::move(name),
          .type = OptionType::Choice,
          .default_value = std::move(value),
          .help = std::move(help),
          .choices = std::move(choices)};
}

Option text(std::string name, Value value, std::string help) {
  return {
      .name = std::move(name), .type = OptionType::Text, .default_value = std::move(value), .help = std::move(help)};
}

Option object(std::string name, std::string help) {
  return {.name = std::move(name), .type = OptionType::Object, .help = std::move(help)};
}

Option any(std::string name, std::string help) {
  return {.name = std::move(name), .type = OptionType::Any, .help = std::move(help)};
}

Option required(Option option) {
  option.required = true;
  return option;
}

}  // namespace

const std::vector<Option>& scenario_options() {
  static const std::vector<Option> kOptions = {
      required(count("version", {}, 1, 1, "Version of the scenario format.")),
      text("name", "", "Title, shown with the results."),
      text("description", "", "What the scenario is for and where its figures come from; shown by describe."),
      required(object("system", "The pod: see system.")),
      required(object("workload", "The model and its data: see workload.")),
      any("ipu_config", "An optimum-graphcore ipu_config.json: file name or object; its defaults otherwise."),
      object("partition", "How the model is split over IPUs, where layers_per_ipu does not say it."),
      any("schedule",
          "Scheme: its name, or {name: options}; default pipelined (popart) on several IPUs, else sharded."),
      object("execution", "Recomputation, locations, update order and other execution choices."),
      object("host", "The host side: see host."),
      count("runs", 1, 1, kMany, "Host calls to simulate, each of device_iterations."),
      count("dataset_samples", {}, 1, kMany,
            "Instead of runs: size of the data set; each epoch is as many host calls as it has samples for, a last "
            "incomplete one is dropped."),
      count("epochs", 1, 1, kMany, "Passes over dataset_samples."),
      boolean("allow_out_of_memory", false,
              "Go on when a tile's memory overflows, and mark the result (debug.allowOutOfMemory).")};
  return kOptions;
}

const std::vector<Option>& system_options() {
  static const std::vector<Option> kOptions = {
      text("pod", "", "Pod: pod4 … pod256, bow-pod16, any (bow-)podN with N a multiple of 64, c2, dss8440."),
      any("topology", "A custom topology instead of a pod: file name or object."),
      count("hosts", 0, 0, 65536, "Host servers; 0: the pod's default number."),
      count("devices", {}, 1, 65536,
            "Replicas of the model, as Trainer(devices=…) of PyTorch Lightning counts them: a power of 2, and each "
            "spans as many IPUs as the model is split on; instead of replication_factor."),
      object("parameters", "Overrides of chip and pod parameters by name (see describe chip, describe pod).")};
  return kOptions;
}

const std::vector<Option>& workload_options() {
  static const std::vector<Option> kOptions = {
      required(text("model", {}, "Workload: see list workloads.")),
      any("config", "Model configuration, for models that read one (Hugging Face config.json): file name or object."),
      choice("mode", "training", {"training", "inference"}, "Training or inference."),
      count("micro_batch_size", 1, 1, 1e6, "Samples of one micro-batch of one replica."),
      choice("optimizer", "sgd", {"sgd", "momentum", "adam", "adamw", "lamb", "lars"},
             "Optimiser; in inference there is no update, and it has no effect."),
      choice("precision", "fp16", {"fp32", "fp16"}, "Type of weights and activations.")};
  return kOptions;
}

const std::vector<Option>& partition_options() {
  static const std::vector<Option> kOptions = {
      any("stages", "Stages in order: [{\"blocks\": [\"B1\", \"B2\"], \"ipu\": 0}, …]."),
      count("pipeline_depth", {}, 1, 65536, "Balance the model over this many IPUs; goes before layers_per_ipu."),
      boolean("auto_round_num_ipus", false, "Reserve a power of two of IPUs; the surplus stays idle.")};
  return kOptions;
}

const std::vector<Option>& execution_options() {
  static const std::vector<Option> kOptions = {
      choice("recomputation", "auto", {"auto", "none", "stage", "every_layer", "named"},
             "Activations recomputed before the backward pass; auto: stage inputs kept in pipelined training, every "
             "layer's with recompute_checkpoint_every_layer, else none."),
      choice("checkpoint_type", "activations", {"activations", "fp8"},
             "Type of stashed activations: as computed, or fp8."),
      choice("weight_update", "serial", {"serial", "overlapped"},
             "Update of the IPUs of a replica one after the other, or all at once; inference has none."),
      choice("sync_pattern", "full", {"full", "single_pipeline", "replica_and_ladder"},
             "Which IPUs wait for host access: all, those that use it, alternating halves (phased)."),
      choice("partials", "auto", {"auto", "fp16", "fp32"},
             "Type of matmul partials; auto: enable_half_partials decides."),
      boolean("outlining", true, "Identical layers share code and pay copies of their operands."),
      count("output_period", {}, 1, kMany, "Return every n-th result (EveryN) instead of the output_mode."),
      choice("io_overlap", "auto", {"auto", "none", "accumulation_loop", "device_iteration_loop"},
             "Which loop's transfers overlap compute through IO tiles; auto: accumulation_loop with IO tiles."),
      object("locations", "Where activations, weights, accumulators and optimizer_state live: see location.")};
  return kOptions;
}

const std::vector<Option>& location_options() {
  static const std::vector<Option> kOptions = {
      boolean("off_chip", {}, "In streaming memory between uses."),
      boolean("sharded", {}, "Sharded over the replicas."),
      count("sharding_domain", 0, 0, 65536, "Replicas of one shard group (consecutive ones); 0: all."),
      count("minimum_elements", 0, 0, kMany, "Smaller tensors are not sharded.")};
  return kOptions;
}

const std::vector<Option>& host_options() {
  static const std::vector<Option> kOptions = {
      choice("framework", "poptorch", {"popart", "poptorch", "popxl", "tensorflow", "keras"},
             "Framework of the host program: sets the overhead of a host call."),
      count("instances", 1, 1, 65536, "PopDist instances (host processes) over all hosts."),
      choice("data", "synthetic", {"real", "synthetic"},
             "real: prepared and transferred by the host; synthetic: made on the device."),
      count("prefetch_depth", 1, 0, 1024, "Micro-batches buffered ahead per stream and replica."),
      count("io_tiles", 0, 0, 1024, "Tiles set aside for host IO; compute loses them."),
      choice("input_type", "auto", {"auto", "fp32", "fp16", "int8"}, "Type of transferred samples; auto: the model's."),
      count("second_graph_every", 0, 0, kMany,
            "Host calls after which a second graph has the IPUs: its code up, weights down and up, its own host calls, "
            "and back; 0: one graph (with second_graph and dataset_samples: an epoch's)."),
      object("second_graph",
             "What is different in the second graph, as paths and values: {\"workload.mode\": \"inference\", "
             "\"workload.micro_batch_size\": 8}; without it, it is of the first one's size and only switched in."),
      count("second_graph_calls", {}, 1, kMany, "Host calls of the second graph each time; default 1."),
      number("call_overhead_seconds", {}, 0, kLong,
             "Overhead of a host call; default: the framework's, with its serial handling of the call's real inputs."),
      number("callback_seconds", {}, 0, kLong, "Answer time of the host to a stream request; default: the pod's."),
      count("workers", 1, 1, 65536, "Threads of an instance that prepare samples."),
      count("cores_per_host", {}, 1, 65536, "Cores of a host, shared by its instances; default: the pod's server."),
      boolean(
          "numa_aware", false,
          "Bind each instance's workers and memory to its share of the host's NUMA nodes (poprun --numa-aware): it has "
          "those nodes' cores only, and does without accesses to the others (host_numa_nodes, numa_remote_slowdown)."),
      number("preprocess_seconds_per_sample", 0, 0, kLong,
             "Time of one thread to prepare one sample, in a process that is not bound to NUMA nodes."),
      choice("preprocess_distribution", "fixed", {"fixed", "normal", "log_normal", "exponential"},
             "Distribution of the preparation time."),
      number("preprocess_deviation_seconds", 0, 0, kLong, "Standard deviation (normal, log_normal)."),
      choice("preprocess_on", "host", {"host", "ipu"},
             "Who prepares samples: the host's workers, or the first IPU (preprocess_operations_per_element instead of "
             "preprocess_seconds_per_sample)."),
      number("preprocess_operations_per_element", {}, 1, 1e6,
             "Arithmetic on each element of a sample on the IPU; default 2: subtract the mean, divide by the "
             "deviation."),
      boolean("asynchronous", true, "The data loader works while the IPUs run; false: between host calls."),
      count(
          "batches_ahead", 0, 0, 1024,
          "As PopTorch's asynchronous DataLoader: a call begins when all its samples are prepared, and so many calls' "
          "are prepared ahead (its buffer_size is 3); also with synthetic data, where the program takes batches from "
          "its loader all the same; 0: samples go to the streams one by one."),
      number("epoch_start_seconds", {}, 0, kLong,
             "With batches_ahead and dataset_samples: start of the loader's processes in each epoch; default: the "
             "framework's.")};
  return kOptions;
}

std::vector<OptionGroup> scenario_option_groups() {
  return {
      {"", "Top level of a scenario.", scenario_options()},
      {"system", "The simulated system.", system_options()},
      {"workload", "The model, its data and its optimiser; each workload adds options of its own.", workload_options()},
      {"partition", "Blocks of the model to pipeline stages.", partition_options()},
      {"execution", "Execution choices beside the schedule.", execution_options()},
      {"execution.locations.*", "Location of activations, weights, accumulators or optimizer_state.",
       location_options()},
      {"host", "PopDist host processes and their data pipeline.", host_options()}};
}

}  // namespace podsim
