// The interface of workload plugins: one model family = one .cpp in models/. A plugin declares its
// options and builds the forward graph of one micro-batch; backward and update are derived later.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/option.hpp"
#include "workloads/operator.hpp"

namespace podsim {

class WorkloadGraph;

// What every workload is asked for.
struct WorkloadRequest {
  Options options;               // the plugin's own options, checked
  std::filesystem::path folder;  // that file names among the options are relative to
  Value config;  // the model's configuration file or inline object (Hugging Face config.json); null if none
  bool training = true;
  std::int64_t micro_batch_size = 1;
  ElementType precision = ElementType::Float16;  // of activations and weights
  std::int64_t embedding_serialization = 1;      // serial steps of the embedding
  std::int64_t projection_serialization = 1;     // serial steps of the language-model head
  bool synthetic_data = false;
  int pipeline_ipus = 0;  // IPUs that the model will be split over, where that is known before; 0: not known
};

class Workload {
 public:
  virtual ~Workload() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;  // a sentence
  // Options besides the common ones (model, config, mode, micro_batch_size, optimizer, precision).
  [[nodiscard]] virtual std::vector<Option> options() const = 0;
  // Whether build() reads the request's config; a scenario that gives one to others is refused.
  [[nodiscard]] virtual bool reads_config() const { return false; }
  // Contract: a valid graph (WorkloadGraph::validate), the same one for the same request; wrong
  // configurations are UserErrors that name the place.
  [[nodiscard]] virtual std::unique_ptr<WorkloadGraph> build(const WorkloadRequest& request) const = 0;
};

// All registered workloads, sorted by name (generated table).
[[nodiscard]] const std::vector<const Workload*>& workloads();
// UserError with the nearest name and the list of all where there is none.
[[nodiscard]] const Workload& find_workload(std::string_view name, const std::string& where);

[[nodiscard]] const std::vector<Optimizer>& optimizers();
[[nodiscard]] const Optimizer& find_optimizer(std::string_view name, const std::string& where);

}  // namespace podsim
