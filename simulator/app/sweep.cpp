// What a sweep is made of: the scenario, its axes, and their identity.
#include "simulator/app/sweep.hpp"

#include "simulator/app/scenario.hpp"
#include "simulator/app/sha256.hpp"
#include "simulator/app/summary_memory.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/option.hpp"

namespace podsim {

namespace fs = std::filesystem;

bool is_sweep_file(const Value& file) {
  return file.is_object() && (file.contains("scenario") || file.contains("vary"));
}

SweepRequest read_sweep_file(const Value& file, const fs::path& folder) {
  const Options options = read_options(
      file, {{.name = "scenario", .type = OptionType::Text, .help = "Scenario file.", .required = true},
             {.name = "vary", .type = OptionType::Object, .help = "Axes: key to values.", .required = true},
             {.name = "set", .type = OptionType::Object, .help = "Overrides: key to value."},
             {.name = "output", .type = OptionType::Text, .default_value = "", .help = "Output file."}});
  SweepRequest request;
  const fs::path scenario = options.text("scenario");
  request.scenario = scenario.is_absolute() ? scenario : folder / scenario;
  request.output = options.text("output");
  for (const auto& [keys, values] : options.value("vary").object()) request.axes.push_back(axis_from(keys, values));
  if (options.has("set")) {
    for (const auto& [key, value] : options.value("set").object()) {
      request.sets.push_back(key + "=" + to_json(value, 0));
    }
  }
  return request;
}

Sweep prepare_sweep(const SweepRequest& request, const SweepSettings& settings, const LoadedData& data) {
  std::vector<Override> overrides;
  std::vector<std::string> set_keys;
  for (const std::string& set : request.sets) {
    for (Override& item : parse_overrides(set)) {
      set_keys.push_back(item.first);
      overrides.push_back(std::move(item));
    }
  }
  require_distinct_keys(request.axes, set_keys);
  Sweep sweep;
  sweep.folder = request.scenario.parent_path();
  sweep.source = load_scenario_source(request.scenario, overrides);
  const Value* name = sweep.source.is_object() ? sweep.source.find("name") : nullptr;
  sweep.header.name = name != nullptr && name->is_text() ? name->text() : request.scenario.stem().string();
  sweep.header.grid = SweepGrid(request.axes);
  sweep.header.shard = settings.shard;
  sweep.header.scenario = sha256(to_json(sweep.source, 0));
  sweep.header.data = data.digest();
  sweep.header.program = version();
  sweep.header.fast_forward = settings.fast_forward;
  return sweep;
}

Value point_source(const Sweep& sweep, std::size_t point) {
  Value source = sweep.source;
  apply_overrides(source, sweep.header.grid.overrides(point));
  inline_files(source, fs::current_path());  // file names among the values
  return source;
}

}  // namespace podsim
