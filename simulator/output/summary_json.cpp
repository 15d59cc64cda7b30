// Order and names are those of the documented interface; states come by their names.
#include "simulator/output/summary_json.hpp"

#include <nlohmann/json.hpp>

namespace podsim {
namespace {

using Json = nlohmann::ordered_json;

Json states_of(const PerState& seconds) {
  Json states = Json::object();
  for (std::size_t state = 0; state < kStateCount; ++state) states[std::string(kStateNames[state])] = seconds[state];
  return states;
}

Json memory_of(const IpuMemorySummary& memory) {
  Json categories = Json::object();
  for (const auto& [name, bytes] : memory.categories) categories[name] = bytes;
  Json result = Json::object();
  result["peak_tile_bytes"] = memory.peak_tile_bytes;
  result["always_live_bytes"] = memory.always_live_bytes;
  result["limit_bytes"] = memory.limit_bytes;
  result["peak_tile"] = memory.peak_tile;
  result["categories"] = std::move(categories);
  return result;
}

Json ipu_of(const IpuSummary& ipu) {
  Json result = Json::object();
  result["ipu"] = ipu.ipu;
  result["stages"] = ipu.stages;
  result["state_seconds"] = states_of(ipu.state_seconds);
  result["stash_micro_batches"] = ipu.stash_micro_batches;
  result["memory"] = memory_of(ipu.memory);
  return result;
}

Json link_of(const LinkSummary& link) {
  Json result = Json::object();
  result["name"] = link.name;
  result["kind"] = link.kind;
  result["bytes"] = link.bytes;
  result["utilization"] = link.utilization;
  return result;
}

Json startup_of(const StartupSummary& startup) {
  Json result = Json::object();
  if (startup.compile_seconds) result["compile_seconds"] = *startup.compile_seconds;
  if (startup.store_seconds) result["store_seconds"] = *startup.store_seconds;
  if (startup.load_seconds) result["load_seconds"] = *startup.load_seconds;
  result["executable_upload_seconds"] = startup.executable_upload_seconds;
  result["weight_upload_seconds"] = startup.weight_upload_seconds;
  return result;
}

Json influences_of(const Uncertainty& uncertainty, const UncertainFigure& figure) {
  Json ranking = Json::array();
  for (const Influence& influence : figure.influences) {
    const VariedParameter& parameter = uncertainty.parameters[influence.parameter];
    ranking.push_back({{"parameter", parameter.set + "/" + parameter.name},
                       {"share", influence.share},
                       {"raises", influence.raises}});
  }
  return ranking;
}

Json uncertainty_of(const Uncertainty& uncertainty) {
  Json result = Json::object();
  result["samples"] = uncertainty.samples();
  result["seed"] = uncertainty.seed;
  result["figures"] = Json::object();
  for (const UncertainFigure& figure : uncertainty.figures) {
    result["figures"][figure.name] = {{"low", figure.low},
                                      {"median", figure.median},
                                      {"high", figure.high},
                                      {"unit", figure.unit},
                                      {"ranking", influences_of(uncertainty, figure)}};
  }
  const UncertainFigure* main = uncertainty.find("throughput_samples_per_second");
  result["ranking"] = main != nullptr ? influences_of(uncertainty, *main) : Json::array();
  result["measure"] = "share of the variance of the figure's ranks; stepwise regression on ranks";
  result["parameters"] = Json::array();
  for (const VariedParameter& parameter : uncertainty.parameters) {
    result["parameters"].push_back({{"name", parameter.set + "/" + parameter.name},
                                    {"value", parameter.value},
                                    {"minimum", parameter.minimum},
                                    {"maximum", parameter.maximum},
                                    {"unit", parameter.unit}});
  }
  result["failures"] = Json::array();
  for (std::size_t sample = 0; sample < uncertainty.samples(); ++sample) {
    if (uncertainty.errors[sample].empty()) continue;
    result["failures"].push_back({{"sample", sample}, {"error", uncertainty.errors[sample]}});
  }
  return result;
}

Json second_graph_of(const SecondGraphSummary& second) {
  Json result = Json::object();
  result["every"] = second.every;
  result["calls"] = second.calls;
  result["turn_seconds"] = second.turn_seconds;
  result["switch_seconds"] = second.switch_seconds;
  result["switch_back_seconds"] = second.switch_back_seconds;
  result["throughput_samples_per_second"] = second.samples_per_second;
  if (second.peak_tile_bytes > 0) result["peak_tile_bytes"] = second.peak_tile_bytes;
  return result;
}

}  // namespace

std::string summary_json(const Summary& summary) {
  Json json = Json::object();
  json["name"] = summary.name;
  json["version"] = summary.version;
  json["weight_update_seconds"] = summary.weight_update_seconds;
  json["run_seconds"] = summary.run_seconds;
  json["makespan_seconds"] = summary.makespan_seconds;
  json["throughput_samples_per_second"] = summary.throughput_samples_per_second;
  json["samples_per_run"] = summary.samples_per_run;
  json["slots_per_update"] = summary.slots_per_update;
  json["utilization"] = Json::object();
  json["utilization"]["busy"] = summary.busy;
  json["utilization"]["flops"] = summary.flops;
  json["state_seconds"] = states_of(summary.state_seconds);
  json["bottleneck"] = summary.bottleneck;
  json["ipus"] = Json::array();
  for (const IpuSummary& ipu : summary.ipus) json["ipus"].push_back(ipu_of(ipu));
  json["batch_size_factor"] = summary.batch_size_factor;
  json["replicas"] = summary.replicas;
  json["ipus_per_replica"] = summary.ipus_per_replica;
  json["sample_name"] = summary.sample_name;
  json["links"] = Json::array();
  for (const LinkSummary& link : summary.links) json["links"].push_back(link_of(link));
  json["startup"] = startup_of(summary.startup);
  if (summary.uncertainty) json["uncertainty"] = uncertainty_of(*summary.uncertainty);
  if (summary.second_graph) json["second_graph"] = second_graph_of(*summary.second_graph);
  json["simulated_activities"] = summary.simulated_activities;
  json["warnings"] = summary.warnings;
  return json.dump(2);
}

}  // namespace podsim
