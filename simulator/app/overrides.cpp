// Splits and applies overrides; the path walk itself is config's.
#include "simulator/app/overrides.hpp"

#include <algorithm>

#include "simulator/app/scenario_options.hpp"
#include "simulator/config/ipu_config.hpp"
#include "simulator/config/set_path.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

std::vector<std::string> names_of(const std::vector<Option>& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

}  // namespace

std::vector<Override> parse_overrides(const std::string& text) { return split_assignments(text, "--set " + text); }

std::string full_path(const std::string& key, const std::string& where) {
  const std::string first = key.substr(0, key.find('.'));
  static const std::vector<std::string> top = names_of(scenario_options());
  if (std::find(top.begin(), top.end(), first) != top.end()) return key;
  if (first == "pipeline_depth") return "partition." + key;
  static const std::vector<std::string> ipu_config = names_of(ipu_config_options());
  if (std::find(ipu_config.begin(), ipu_config.end(), first) != ipu_config.end()) return "ipu_config." + key;
  std::vector<std::string> known = ipu_config;
  known.insert(known.end(), top.begin(), top.end());
  known.emplace_back("pipeline_depth");
  const std::string near = nearest_name(first, known);
  throw UserError(
      where.empty() ? "--set " + key : where, "unknown key \"" + first + "\"",
      near.empty() ? "give the dotted path of a scenario value, e.g. system.pod" : "did you mean " + near + "?");
}

void apply_overrides(Value& source, const std::vector<Override>& overrides) {
  for (const auto& [key, text] : overrides) set_path(source, full_path(key), text);
}

}  // namespace podsim
