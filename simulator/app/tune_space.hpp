// The configurations that `podsim tune` chooses from: pipeline depth, split, replicas, micro-batch and accumulation
// (plans), recomputation, and what changes no stage time: offload, sharding and schedule (variants).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/app/compile.hpp"
#include "simulator/app/scenario.hpp"
#include "simulator/app/sweep_axes.hpp"

namespace podsim {

enum class TuneObjective { Throughput, Latency };

struct TuneRequest {
  Value source;                  // the scenario, files inlined
  std::filesystem::path folder;  // of its file
  TuneObjective objective = TuneObjective::Throughput;
  int ipus = 0;                   // 0: all of the pod
  std::int64_t global_batch = 0;  // samples of a weight update; 0: the scenario's; training only
  std::vector<SweepAxis> axes;    // --vary: values of a tuned key instead of the usual ones, or further keys
  int keep = 5;                   // best ones to find
  bool exhaustive = false;        // simulate everything, for tests of the pruning
};

// A split of the model and the counts that go with it.
struct TunePlan {
  int ipus_per_replica = 1;                  // of ipu_config: times ipus_per_stage
  std::vector<std::int64_t> layers_per_ipu;  // empty: balanced automatically, or fixed by the scenario
  int replicas = 1;
  std::int64_t micro_batch_size = 1;
  std::int64_t accumulation = 1;
  std::vector<Override> further;  // of --vary
  int ipus_per_stage = 1;         // that share each stage (tensor parallel)
};

struct TuneVariant {
  std::string offload;  // "true", "false"; empty: as in the scenario
  std::string sharding;
  std::string schedule;
};

struct TuneSpace {
  bool training = true;
  bool fixed_split = false;  // stage_times: its stages are what they are
  int ipus = 0;
  std::int64_t global_batch = 0;
  std::vector<TunePlan> plans;
  std::vector<std::string> recomputations;  // empty text: as in the scenario
  std::vector<TuneVariant> variants;        // those with several replicas or IPUs apply where there are several
};

// UserError where there is nothing to choose from: more IPUs than the pod has, a batch that no count divides, …
[[nodiscard]] TuneSpace tune_space(const TuneRequest& request, const DataFolder& data);

// Whether the variant says something about the plan: no sharding with one replica, no pipeline on one IPU.
[[nodiscard]] bool applies(const TuneVariant& variant, const TunePlan& plan);

// The scenario with the choices made.
[[nodiscard]] Value tuned_source(const TuneRequest& request, const TuneSpace& space, const TunePlan& plan,
                                 const std::string& recomputation, const TuneVariant& variant);

// "4 x [3,7,7,7], micro-batch 8 x 2048, every_layer, …" for people.
[[nodiscard]] std::string describe(const TunePlan& plan, const std::string& recomputation, const TuneVariant& variant);

}  // namespace podsim
