// The account of an IPU's SRAM: always-live categories, the steps of the program, and the fullest tile.
#include "simulator/machine/memory.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/core/error.hpp"
#include "simulator/machine/code_size.hpp"
#include "simulator/machine/liveness.hpp"

namespace podsim {

namespace {

constexpr std::size_t index_of(MemoryCategory category) { return static_cast<std::size_t>(category); }

// Tensors begin on different tiles, as PopLibs dithers its mappings, so that their last, partial grains do not meet.
class Placement {
 public:
  Placement(int first_tile, int compute_tiles, int tiles)
      : first_tile_(first_tile), compute_tiles_(compute_tiles), tiles_(tiles) {}

  [[nodiscard]] TileVector spread(double bytes) {
    constexpr std::int64_t kGrain = 8;  // tensors are aligned to 8 bytes
    TileVector mapped =
        TileVector::spread(static_cast<std::int64_t>(std::ceil(bytes)), kGrain, compute_tiles_, compute_tiles_, first_);
    const double grains = std::ceil(bytes / static_cast<double>(kGrain));
    first_ = static_cast<int>(std::fmod(first_ + grains, compute_tiles_));
    TileVector all;
    all.append(first_tile_, 0);
    for (const TileVector::TileRun& run : mapped.runs()) all.append(run.tiles, run.value);
    all.append(tiles_ - first_tile_ - compute_tiles_, 0);
    return all;
  }

  [[nodiscard]] TileVector even(double bytes_per_tile) const {
    TileVector all;
    all.append(first_tile_, 0);
    all.append(compute_tiles_, bytes_per_tile);
    all.append(tiles_ - first_tile_ - compute_tiles_, 0);
    return all;
  }

 private:
  int first_tile_, compute_tiles_, tiles_;
  int first_ = 0;
};

class Account {
 public:
  Account(const Lowering& lowering, const MemoryRequest& request)
      : lowering_(lowering),
        request_(request),
        tiles_(lowering.chip().tiles),
        compute_(0, lowering.compute_tiles(), tiles_),
        io_(lowering.options().io_tiles > 0 ? lowering.compute_tiles() : 0,
            lowering.options().io_tiles > 0 ? lowering.options().io_tiles : tiles_, tiles_) {
    for (TileVector& category : report_.categories) category = TileVector(tiles_);
    report_.limit_bytes = static_cast<double>(lowering.chip().bytes_per_tile);
  }

  MemoryReport run() {
    for (const StageMemory& stage : request_.stages) {
      if (stage.operators == nullptr || stage.lowered == nullptr) throw InternalError("account_memory: empty stage");
      add_variables(stage);
    }
    add_code();
    add_buffers();
    add_liveness();
    find_peak();
    return std::move(report_);
  }

 private:
  TileVector& category(MemoryCategory which) { return report_.categories[index_of(which)]; }

  void add_variables(const StageMemory& stage) {
    double state = 0;
    for (const ElementType type : request_.optimizer.state_types) state += static_cast<double>(bytes_of(type));
    if (stage.weights != nullptr) {
      for (const Weight& weight : *stage.weights) {
        const double elements = static_cast<double>(weight.elements);
        if (!request_.weights_off_chip) {
          category(MemoryCategory::Weights) +=
              compute_.spread(std::ceil(elements / static_cast<double>(request_.weight_shards)) *
                              static_cast<double>(bytes_of(weight.type)));
        }
        if (!request_.training || !weight.trainable) continue;
        if (request_.accumulates_gradients && !request_.accumulators_off_chip) {
          category(MemoryCategory::GradientAccumulators) +=
              compute_.spread(std::ceil(elements / static_cast<double>(request_.accumulator_shards)) *
                              static_cast<double>(bytes_of(request_.optimizer.accumulator_type)));
        }
        if (!request_.optimizer_state_off_chip && state > 0) {
          category(MemoryCategory::OptimizerState) +=
              compute_.spread(std::ceil(elements / static_cast<double>(request_.optimizer_shards)) * state);
        }
      }
    }
    if (!request_.activations_off_chip) {
      category(MemoryCategory::ActivationStashes) +=
          compute_.spread(stash_bytes(stage, request_) * static_cast<double>(stage.live_micro_batches));
    }
  }

  void add_code() {
    const CodeSizes sizes = code_sizes(lowering_, request_);
    const auto everywhere = [this](double bytes) { return TileVector(tiles_, std::ceil(bytes)); };
    category(MemoryCategory::VertexCode) += everywhere(sizes.vertex);
    category(MemoryCategory::ControlCode) += everywhere(sizes.control);
    category(MemoryCategory::InternalExchangeCode) += everywhere(sizes.internal_exchange);
    category(MemoryCategory::HostExchangeCode) += everywhere(sizes.host_exchange);
    category(MemoryCategory::GlobalExchangeCode) += everywhere(sizes.global_exchange);
    category(MemoryCategory::StackAndVertexState) += everywhere(sizes.stack_and_vertex_state);
  }

  // Stream buffers: on the IO tiles where there are some, twice, since one is filled while the other is read.
  void add_buffers() {
    double bytes = 0;
    for (const StageMemory& stage : request_.stages) bytes += stage.host_input_bytes + stage.host_result_bytes;
    if (lowering_.options().io_tiles > 0) bytes *= 2;
    if (bytes > 0) category(MemoryCategory::IoBuffers) += io_.spread(bytes);
  }

  [[nodiscard]] double share(double bytes) const {
    return std::ceil(bytes / lowering_.compute_tiles() / 8) * 8;  // the fullest tile's
  }

  void add_liveness() {
    std::vector<StageLiveness> stages;
    double most = -1;
    std::size_t peak_stage = 0;
    std::size_t peak_step = 0;
    for (const StageMemory& stage : request_.stages) {
      stages.push_back(liveness_of(stage, request_));
      const StageLiveness& liveness = stages.back();
      for (std::size_t s = 0; s < liveness.steps.size(); ++s) {
        const LiveStep& step = liveness.steps[s];
        LivenessStep reported{
            step.name, step.temporary_bytes_per_tile + share(step.temporary_bytes) + share(step.remote_bytes),
            step.temporary_bytes_per_tile * lowering_.compute_tiles() + step.temporary_bytes + step.remote_bytes};
        for (const std::vector<int>* live : {&step.activations, &step.gradients}) {
          for (const int t : *live) {
            const double bytes = liveness.tensors[static_cast<std::size_t>(t)].bytes;
            reported.bytes += share(bytes);
            reported.total_bytes += bytes;
          }
        }
        if (reported.bytes > most) {
          most = reported.bytes;
          peak_stage = stages.size() - 1;
          peak_step = s;
        }
        report_.liveness.push_back(std::move(reported));
      }
    }
    if (most >= 0) place_peak(stages[peak_stage], stages[peak_stage].steps[peak_step]);
  }

  void place_peak(const StageLiveness& liveness, const LiveStep& step) {
    for (const std::vector<int>* live : {&step.activations, &step.gradients}) {
      for (const int t : *live) {
        category(MemoryCategory::Activations) += compute_.spread(liveness.tensors[static_cast<std::size_t>(t)].bytes);
      }
    }
    category(MemoryCategory::MatMulTemporaries) += compute_.even(step.temporary_bytes_per_tile);
    if (step.temporary_bytes > 0) category(MemoryCategory::MatMulTemporaries) += compute_.spread(step.temporary_bytes);
    if (step.remote_bytes > 0) category(MemoryCategory::RemoteBuffers) += compute_.spread(step.remote_bytes);
  }

  void find_peak() {
    TileVector all(tiles_);
    TileVector always(tiles_);
    for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
      all += report_.categories[i];
      if (always_live(static_cast<MemoryCategory>(i))) always += report_.categories[i];
    }
    report_.peak_tile_bytes = all.maximum();
    int tile = 0;
    for (const TileVector::TileRun& run : all.runs()) {
      if (run.value == report_.peak_tile_bytes) break;
      tile += run.tiles;
    }
    report_.peak_tile = tile;
    report_.always_live_tile_bytes = always.at(tile);
  }

  const Lowering& lowering_;
  const MemoryRequest& request_;
  int tiles_;
  Placement compute_, io_;
  MemoryReport report_;
};

}  // namespace

std::string_view name_of(MemoryCategory category) {
  constexpr std::array<std::string_view, kMemoryCategoryCount> kNames{
      "weights",      "gradient_accumulators",  "optimizer_state",    "activation_stashes",   "vertex_code",
      "control_code", "internal_exchange_code", "host_exchange_code", "global_exchange_code", "stack_and_vertex_state",
      "activations",  "matmul_temporaries",     "io_buffers",         "remote_buffers"};
  return kNames[index_of(category)];
}

bool always_live(MemoryCategory category) { return category < MemoryCategory::Activations; }

double MemoryReport::total_bytes(MemoryCategory category) const { return categories[index_of(category)].sum(); }

MemoryReport account_memory(const Lowering& lowering, const MemoryRequest& request) {
  return Account(lowering, request).run();
}

}  // namespace podsim
