// A scenario of its own, whose turn is one number for the first graph: its time from the first host call to the last.
#include "simulator/app/second_graph.hpp"

#include "simulator/app/overrides.hpp"
#include "simulator/app/process_pool.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/set_path.hpp"
#include "simulator/core/error.hpp"
#include "simulator/trace/summary.hpp"

namespace podsim {

namespace {

void change(Value& source, const std::string& key, const Value& value) {
  const std::string path = full_path(key, value.where());
  const std::string section = path.substr(0, path.find('.'));
  if (section == "system" || section == "version" || path.starts_with("host.second_graph")) {
    throw UserError(value.where(), "the second graph cannot change " + path,
                    "both graphs have one system; change workload, ipu_config, partition, schedule, execution or host");
  }
  set_path(source, path, value, value.where());
}

// What the child sends: makespan, throughput, seconds of a call.
Value turn_of(const Compilation& second, const RunSettings& settings) {
  const Trace trace = run(*second.topology, second.program, settings);
  const Summary summary = summarize(trace, second.program);
  Value turn;
  turn.set("makespan_seconds", summary.makespan_seconds);
  turn.set("throughput", summary.throughput_samples_per_second);
  return turn;
}

}  // namespace

void read_second_graph(Scenario& scenario, const std::filesystem::path& folder) {
  const Options& options = scenario.host_options;
  HostPlan& host = scenario.host;
  if (!options.has("second_graph")) {
    if (options.has("second_graph_calls")) {
      throw UserError(options.where("second_graph_calls"), "there is no second graph to call",
                      "give host.second_graph");
    }
    return;
  }
  if (host.switch_every == 0 && scenario.dataset_samples == 0) {
    throw UserError(options.where("second_graph"), "it is not said when the second graph has its turn",
                    "set host.second_graph_every, or dataset_samples for a turn after each epoch");
  }
  Value source = scenario.source;
  Value& own = source.member("host");
  for (const char* key : {"second_graph", "second_graph_every", "second_graph_calls"}) own.erase(key);
  source.erase("dataset_samples");
  source.erase("epochs");
  for (const auto& [key, value] : options.value("second_graph").object()) change(source, key, value);
  if (!source.contains("dataset_samples")) {
    source.set("runs", options.has("second_graph_calls") ? options.integer("second_graph_calls") : std::int64_t{1});
  } else if (options.has("second_graph_calls")) {
    throw UserError(options.where("second_graph_calls"),
                    "second_graph_calls and the second graph's dataset_samples both say how long its turn is",
                    "give one of them");
  } else {
    source.erase("runs");
  }
  auto second = std::make_shared<Scenario>(read_scenario(std::move(source), folder));
  second->file += " (second graph)";
  scenario.second_graph = std::move(second);
}

void run_second_graph(Compilation& compilation, const RunSettings& settings) {
  if (compilation.second_graph == nullptr) return;
  const Compilation& second = *compilation.second_graph;
  RunSettings own = settings;
  own.record_intervals = false;
  own.progress = {};
  const auto prepare = [&](std::size_t) -> Prepared { return {{}, [&] { return to_json(turn_of(second, own), -1); }}; };
  run_each(1, 1, prepare, [&](const ProcessResult& finished) {
    if (!finished.failure.empty()) throw UserError("second graph", finished.failure);
    const Value turn = parse_json(finished.output, "second graph");
    compilation.program.host.second_graph_seconds = turn.at("makespan_seconds").number();
    compilation.second_graph_throughput = turn.at("throughput").number();
  });
}

}  // namespace podsim
