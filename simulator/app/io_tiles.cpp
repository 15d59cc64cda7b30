// The rule of thumb for the number of IO tiles.
#include "simulator/app/io_tiles.hpp"

#include <cmath>
#include <string>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr double kOverhead = 1.05;

}  // namespace

std::vector<int> io_tiles_needed(const Scenario& scenario, const StagedModel& model, const Chip& chip) {
  std::vector<double> bytes(static_cast<std::size_t>(model.ipus_per_replica), 0.0);
  for (const Stage& stage : model.stages) {
    for (const auto* tensors : {&stage.host_inputs, &stage.host_results}) {
      for (const HostTensor& tensor : *tensors) {
        // Inputs go to every IPU of the stage, results come from the first one or, in parts, from each.
        const bool everywhere = tensors == &stage.host_inputs || tensor.divided;
        for (int ipu = stage.ipu; ipu < stage.ipu + (everywhere ? model.ipus_per_stage : 1); ++ipu) {
          bytes[static_cast<std::size_t>(ipu)] += tensor.bytes;
        }
      }
    }
  }
  std::vector<int> needed;
  for (std::size_t ipu = 0; ipu < bytes.size(); ++ipu) {
    needed.push_back(static_cast<int>(std::ceil(kOverhead * bytes[ipu] / static_cast<double>(chip.bytes_per_tile))));
    const int given = scenario.lowering.io_tiles;
    if (given == 0 || needed.back() <= given) continue;
    throw UserError(scenario.host_options.where("io_tiles"),
                    std::to_string(given) + " IO tiles cannot hold the " + format_bytes(bytes[ipu]) +
                        " of host data of a micro-batch on IPU " + std::to_string(ipu),
                    "set io_tiles to at least " + std::to_string(needed.back()) +
                        " (1.05 x bytes / tile memory), a smaller micro_batch_size or input_type");
  }
  return needed;
}

}  // namespace podsim
