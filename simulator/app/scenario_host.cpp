// What the host does, and what runs beside compute through IO tiles.
#include "simulator/app/scenario_host.hpp"

#include <map>
#include <string>

#include "simulator/app/scenario_options.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

Distribution distribution_of(const Options& options) {
  const std::map<std::string, Distribution> words = {{"fixed", Distribution::Fixed},
                                                     {"normal", Distribution::Normal},
                                                     {"log_normal", Distribution::LogNormal},
                                                     {"exponential", Distribution::Exponential}};
  return words.at(options.text("preprocess_distribution"));
}

struct RealDataKey {
  const char* name;
  bool of_loader;  // not without effect where the loader works though its batches are not used
};

constexpr RealDataKey kRealDataKeys[] = {{"prefetch_depth", false},
                                         {"input_type", false},
                                         {"workers", true},
                                         {"cores_per_host", true},
                                         {"numa_aware", true},
                                         {"callback_seconds", false},
                                         {"preprocess_seconds_per_sample", true},
                                         {"preprocess_distribution", true},
                                         {"preprocess_deviation_seconds", true},
                                         {"preprocess_on", false},
                                         {"preprocess_operations_per_element", false},
                                         {"asynchronous", false}};

void refuse_without_data(const Value& value, bool loader) {
  if (!value.is_object()) return;
  for (const RealDataKey& key : kRealDataKeys) {
    if (loader && key.of_loader) continue;
    if (const Value* given = value.find(key.name); given != nullptr) {
      throw UserError(given->where(), std::string(key.name) + " has no effect on synthetic data",
                      "set \"data\": \"real\", or leave the key out");
    }
  }
}

constexpr double kNormalization = 2;  // operations for each element: subtract the mean, divide by the deviation

// On the IPU preparation is part of the model and costs the host nothing.
void read_preprocessing_place(Scenario& scenario, const Options& options) {
  const bool on_ipu = options.text("preprocess_on") == "ipu";
  if (!on_ipu && options.has("preprocess_operations_per_element")) {
    throw UserError(options.where("preprocess_operations_per_element"), "the host prepares the samples",
                    "set \"preprocess_on\": \"ipu\", or leave the key out");
  }
  if (!on_ipu) return;
  if (scenario.workload->name() == "stage_times") {
    throw UserError(options.where("preprocess_on"), "stages with given times say themselves what the IPU does",
                    "set preprocess_on to host, and add the time to forward_seconds");
  }
  scenario.host.preprocess_seconds_per_sample = 0;
  scenario.partition.preprocess_operations = options.has("preprocess_operations_per_element")
                                                 ? options.number("preprocess_operations_per_element")
                                                 : kNormalization;
}

void read_batches_ahead(const Scenario& scenario, const Options& options) {
  if (scenario.host.batches_ahead > 0 && !scenario.host.asynchronous) {
    throw UserError(options.where("batches_ahead"), "a loader that works between the calls prepares nothing ahead",
                    "set asynchronous to true, or leave the key out");
  }
  const bool epochs = scenario.host.batches_ahead > 0 && scenario.dataset_samples > 0;
  if (options.has("epoch_start_seconds") && !epochs) {
    throw UserError(options.where("epoch_start_seconds"), "no epochs of a loader that prepares whole batches ahead",
                    "set host.batches_ahead and dataset_samples, or leave the key out");
  }
}

// Options of the workers mean nothing where they have nothing to do.
void require_workers(Scenario& scenario, const Options& options) {
  if (scenario.host.synthetic || scenario.host.preprocess_seconds_per_sample > 0) return;
  if (scenario.host.numa_aware) {
    throw UserError(options.where("numa_aware"),
                    "numa_aware binds workers that prepare samples, and preparing takes no time",
                    "set preprocess_seconds_per_sample, or leave the key out");
  }
  const bool on_ipu = options.text("preprocess_on") == "ipu";
  const std::string reason = on_ipu ? "the IPU prepares the samples (host.preprocess_on)"
                                    : "preparing a sample takes no time (host.preprocess_seconds_per_sample)";
  const auto unused = [&](const char* key) {
    if (options.given(key)) scenario.warnings.push_back(std::string(key) + " has no effect: " + reason);
  };
  for (const char* key : {"workers", "cores_per_host", "preprocess_distribution"}) unused(key);
  if (on_ipu) unused("preprocess_seconds_per_sample");
}

bool serial_phases(const Scenario& scenario) {
  return scenario.schedule->name() == "phased" && scenario.schedule_options.text("mode") == "serial";
}

void warn_of_missing_preload(Scenario& scenario) {
  const Execution& execution = scenario.execution;
  if (scenario.schedule->name() != "phased" || !scenario.schedule_options.boolean("preload")) return;
  if (!execution.weights.off_chip && !execution.activations.off_chip && !execution.accumulators.off_chip) return;
  const bool serial = serial_phases(scenario);
  if (serial ? execution.io_overlap != IoOverlap::None : execution.sync_pattern != SyncPattern::Full) return;
  scenario.warnings.push_back(std::string("phases are not preloaded: ") +
                              (serial ? "serial ones need IO tiles (host.io_tiles) and overlapped IO (io_overlap)"
                                      : "parallel ones need a sync_pattern other than full"));
}

}  // namespace

void read_host(Scenario& scenario, const Value& value) {
  const Options options = read_options(value, host_options());
  scenario.resolved.set("host", Value(options.values()));
  HostPlan& host = scenario.host;
  scenario.host_options = options;
  scenario.framework = options.text("framework");
  scenario.framework_given = value.is_object() && value.contains("framework");
  host.synthetic = options.text("data") == "synthetic";
  host.batches_ahead = static_cast<int>(options.integer("batches_ahead"));
  if (host.synthetic) refuse_without_data(value, host.batches_ahead > 0);
  host.instances = static_cast<int>(options.integer("instances"));
  if (scenario.execution.replicas % host.instances != 0) {
    throw UserError(options.where("instances"),
                    std::to_string(host.instances) + " instances cannot share " +
                        std::to_string(scenario.execution.replicas) + " replicas evenly",
                    "the number of replicas must be a multiple of the number of instances");
  }
  if (!host.synthetic && scenario.pod.hosts > host.instances) {
    scenario.warnings.push_back("only " + std::to_string(host.instances) + " of " + std::to_string(scenario.pod.hosts) +
                                " hosts feed IPUs: each PopDist instance runs on one host (host.instances)");
  }
  host.prefetch_depth = static_cast<int>(options.integer("prefetch_depth"));
  host.workers_per_instance = static_cast<int>(options.integer("workers"));
  host.preprocess_seconds_per_sample = options.number("preprocess_seconds_per_sample");
  host.distribution = distribution_of(options);
  host.preprocess_deviation_seconds = options.number("preprocess_deviation_seconds");
  const bool spread = host.distribution == Distribution::Normal || host.distribution == Distribution::LogNormal;
  if (spread != (host.preprocess_deviation_seconds > 0)) {
    throw UserError(options.where("preprocess_deviation_seconds"),
                    "a deviation belongs to a normal or log_normal preprocess_distribution, and is then above 0",
                    "give both, or neither");
  }
  host.asynchronous = options.boolean("asynchronous");
  read_batches_ahead(scenario, options);
  host.numa_aware = options.boolean("numa_aware");
  host.switch_every = options.integer("second_graph_every");
  read_preprocessing_place(scenario, options);
  require_workers(scenario, options);
  host.seed = static_cast<std::uint64_t>(scenario.ipu_config.seed.value_or(0));
  scenario.lowering.io_tiles = static_cast<int>(options.integer("io_tiles"));
  scenario.workload_request.synthetic_data = host.synthetic;
  const std::string& type = options.text("input_type");
  scenario.partition.input_bytes_per_element = type == "fp32" ? 4 : type == "fp16" ? 2 : type == "int8" ? 1 : 0;
}

void read_host_transfers(Scenario& scenario, const Options& execution) {
  if (scenario.host.synthetic && execution.has("output_period")) {
    throw UserError(execution.where("output_period"), "with synthetic data no results return to the host",
                    "set host.data to real, or leave the key out");
  }
  const std::string& wanted = execution.text("io_overlap");
  const bool tiles = scenario.lowering.io_tiles > 0;
  if (!tiles && wanted != "auto" && wanted != "none") {
    throw UserError(execution.where("io_overlap"), "overlapped IO needs IO tiles", "set host.io_tiles, e.g. to 32");
  }
  const bool useful = !scenario.host.synthetic || serial_phases(scenario);  // whose loads need it, too
  if (wanted == "accumulation_loop" || (wanted == "auto" && tiles && useful)) {
    scenario.execution.io_overlap = IoOverlap::AccumulationLoop;
  } else if (wanted == "device_iteration_loop") {
    scenario.execution.io_overlap = IoOverlap::DeviceIterationLoop;
  }
  warn_of_missing_preload(scenario);
}

}  // namespace podsim
