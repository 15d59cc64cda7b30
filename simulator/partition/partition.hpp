// partition(): blocks of a workload graph -> stages -> IPUs, in one of four ways.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "simulator/machine/lower.hpp"
#include "simulator/partition/staged_model.hpp"

namespace podsim {

class WorkloadGraph;

// One explicit stage, as poptorch.Stage("B1", "B2").ipu(0).
struct StageAnnotation {
  std::vector<std::string> blocks;
  int ipu = 0;
  std::string where;
};

struct PartitionRequest {
  std::vector<std::int64_t> layers_per_ipu;  // with -1 wildcards; empty: not used
  std::vector<StageAnnotation> stages;       // empty: not used
  int pipeline_depth = 0;                    // balance automatically over this many IPUs; 0: not used
  int ipus_per_replica = 0;                  // 0: follows from the split; larger: extra IPUs stay idle
  bool training = true;
  Recomputation recomputation = Recomputation::None;
  double input_bytes_per_element = 0;  // host transfer type of floating-point samples; 0: as the model's
  Optimizer optimizer;
  std::string where;  // for messages
  // Cost of a block for balancing: seconds of one micro-batch (forward + backward), and tile memory in bytes.
  std::function<double(const Operator&)> operator_cost;
  double preprocess_operations = 0;    // per element of a sample, on the first IPU that reads it; 0: the host prepares
  bool round_to_power_of_two = false;  // auto_round_num_ipus
};

// Where several IPUs share each stage (WorkloadGraph::ipus_per_stage), everything that counts IPUs in the request
// counts such groups: entry s of layers_per_ipu is for IPUs s * k … s * k + k - 1. UserError: layers do not add up
// (both numbers named), unknown block, a block twice or missing, stages out of order, more IPUs than ipus_per_replica.
// With several ways given: stages, then layers_per_ipu, then pipeline_depth.
[[nodiscard]] StagedModel partition(const WorkloadGraph& graph, const PartitionRequest& request);

}  // namespace podsim
