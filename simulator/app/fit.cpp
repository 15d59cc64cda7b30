// Memory that runs out is an error that says where, how much, of what, and what would help.
#include <algorithm>

#include "simulator/app/compile.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

// The largest categories of a report on its peak tile.
std::string contributors(const MemoryReport& report) {
  std::vector<std::pair<double, std::string>> sizes;
  for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const TileVector& bytes = report.categories[i];
    if (bytes.tiles() == 0) continue;
    sizes.emplace_back(bytes.at(report.peak_tile), name_of(static_cast<MemoryCategory>(i)));
  }
  std::sort(sizes.rbegin(), sizes.rend());
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(sizes.size(), 4); ++i) {
    if (sizes[i].first <= 0) break;
    text += (text.empty() ? "" : ", ") + sizes[i].second + " " + format_count(static_cast<long long>(sizes[i].first)) +
            " B";
  }
  return text;
}

// The option with which several IPUs share a stage of this workload; "" where there is none.
std::string sharing_option(const Scenario& scenario) {
  for (const Option& option : scenario.workload->options()) {
    if (option.name == "tensor_parallel" || option.name == "domain_sharding") return option.name;
  }
  return "";
}

// Advice of Graphcore's memory and performance guide, section 6.4, that the scenario does not follow yet.
std::string advice(const Scenario& scenario) {
  std::vector<std::string> ideas;
  if (scenario.workload_request.micro_batch_size > 1) ideas.emplace_back("a smaller micro_batch_size");
  if (scenario.workload_request.training && scenario.recomputation == Recomputation::None) {
    ideas.emplace_back("recomputation (execution.recomputation)");
  } else if (scenario.recomputation == Recomputation::Stage) {
    ideas.emplace_back("checkpoints at every layer (recompute_checkpoint_every_layer)");
  }
  if (scenario.workload_request.training && !scenario.execution.optimizer_state.off_chip) {
    ideas.emplace_back("optimizer_state_offchip");
  }
  if (scenario.execution.replicas > 1 && !scenario.execution.optimizer_state.sharded) {
    ideas.emplace_back("replicated_tensor_sharding");
  }
  if (scenario.lowering.partials == ElementType::Float32) ideas.emplace_back("half partials");
  ideas.emplace_back("a lower matmul_proportion on that IPU");
  ideas.emplace_back("more IPUs per replica or another split");
  const std::string sharing = sharing_option(scenario);
  if (!sharing.empty()) ideas.push_back("more IPUs for each stage (" + sharing + ")");
  std::string text = "what would help: ";
  for (std::size_t i = 0; i < ideas.size(); ++i) text += (i == 0 ? "" : ", ") + ideas[i];
  return text + "; or \"allow_out_of_memory\": true to go on";
}

}  // namespace

void require_fit(Compilation& compilation, const Scenario& scenario) {
  for (std::size_t ipu = 0; ipu < compilation.memory.size(); ++ipu) {
    const MemoryReport& report = compilation.memory[ipu];
    if (report.fits()) continue;
    const std::string problem =
        "out of memory on IPU " + std::to_string(ipu) + ", tile " + std::to_string(report.peak_tile) + ": " +
        format_count(static_cast<long long>(report.peak_tile_bytes)) + " bytes used but tiles only have " +
        format_count(static_cast<long long>(report.limit_bytes)) + " bytes of memory (" + contributors(report) + ")";
    if (!scenario.allow_out_of_memory) throw UserError(scenario.file, problem, advice(scenario));
    compilation.warnings.push_back(problem);
  }
  if (compilation.second_graph != nullptr) require_fit(*compilation.second_graph, *scenario.second_graph);
}

}  // namespace podsim
