// Small lists, searched by equality; what was not used for longest goes first.
#include "simulator/app/compile_cache.hpp"

#include <algorithm>
#include <utility>

namespace podsim {

namespace {

constexpr std::size_t kMostSystems = 8;       // of some MB each where pods are large
constexpr std::size_t kMostPlatforms = 8;     // which cannot be forgotten
constexpr std::size_t kMostLowerings = 32;    // one for each chip, memory proportion, …
constexpr std::size_t kMostOperators = 4096;  // of one Lowering: some 10 KB each

}  // namespace

// system.parameters holds chip and pod parameters side by side: those that the chip knows are the chip's.
System build_system(const Scenario& scenario, const DataFolder& data) {
  const ParameterSet any_chip(data.load("chips/gc200"));
  Value chip_overrides{Value::Object{}};
  PodRequest request = scenario.pod;
  request.overrides = Value{Value::Object{}};
  if (!scenario.parameter_overrides.is_null()) {
    request.overrides.set_where(scenario.parameter_overrides.where());
    chip_overrides.set_where(scenario.parameter_overrides.where());
    for (const auto& [name, value] : scenario.parameter_overrides.object()) {
      (any_chip.find(name) != nullptr ? chip_overrides : request.overrides).set(name, value);
    }
  }
  const auto topology = std::make_shared<const Topology>(build_topology(request, data));
  ParameterSet chip_parameters(data.load("chips/" + topology->chip()));
  chip_parameters.override_with(chip_overrides);
  return {topology, chip_from(chip_parameters)};
}

std::shared_ptr<const System> CompileCache::system(const Scenario& scenario, const DataFolder& data) {
  const Value& section = scenario.source.at("system");
  const auto found = std::find_if(systems_.begin(), systems_.end(),
                                  [&section](const KnownSystem& known) { return known.section == section; });
  if (found != systems_.end()) {
    std::rotate(found, found + 1, systems_.end());
  } else {
    auto built = std::make_shared<const System>(build_system(scenario, data));
    if (systems_.size() == kMostSystems) systems_.erase(systems_.begin());
    systems_.push_back({section, std::move(built)});
  }
  return systems_.back().system;
}

std::shared_ptr<Lowering> CompileCache::lowering(const Chip& chip, const LoweringOptions& options) {
  const auto found = std::find_if(lowerings_.begin(), lowerings_.end(), [&](const auto& known) {
    return known->options() == options && known->chip() == chip;
  });
  if (found != lowerings_.end() && (*found)->operators_kept() <= kMostOperators) {
    std::rotate(found, found + 1, lowerings_.end());
    return lowerings_.back();
  }
  if (found != lowerings_.end()) lowerings_.erase(found);
  if (lowerings_.size() == kMostLowerings) lowerings_.erase(lowerings_.begin());
  lowerings_.push_back(std::make_shared<Lowering>(chip, options));
  return lowerings_.back();
}

Platform* CompileCache::platform(const Topology& topology) {
  const auto made = std::find_if(platforms_.begin(), platforms_.end(),
                                 [&topology](const auto& platform) { return platform->topology().get() == &topology; });
  if (made != platforms_.end()) return made->get();
  const auto known = std::find_if(systems_.begin(), systems_.end(), [&topology](const KnownSystem& system) {
    return system.system->topology.get() == &topology;
  });
  if (known == systems_.end() || !std::exchange(known->simulated, true)) return nullptr;
  if (platforms_.size() == kMostPlatforms) return nullptr;
  platforms_.push_back(std::make_unique<Platform>(known->system->topology));
  return platforms_.back().get();
}

}  // namespace podsim
