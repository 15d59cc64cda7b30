// Orders of the weight update.
#include "schedules/weight_update.hpp"

#include <algorithm>
#include <utility>

namespace podsim {

namespace {

class UpdateWriter {
 public:
  // `overlap`: streaming memory can be read and written beside compute.
  UpdateWriter(const Tables& tables, std::vector<Step>& tree, std::int64_t micro_batch, bool overlap)
      : tables_(tables), tree_(tree), micro_batch_(micro_batch), overlap_(overlap) {}

  void interleaving(const std::vector<int>& stages) {
    for (const int stage : stages) {
      reduce(stage);
      load(stage, false);
      update(stage);
      store(stage, false);
    }
  }

  void batch(const std::vector<int>& stages) {
    bool traffic = false;
    for (const int stage : stages) traffic = load(stage, overlap_) || traffic;
    for (const int stage : stages) reduce(stage);
    if (traffic && overlap_) tree_.emplace_back(RemoteWait{});
    for (const int stage : stages) update(stage);
    for (const int stage : stages) store(stage, overlap_);
    if (traffic && overlap_) tree_.emplace_back(RemoteWait{});
  }

  void clustered(const std::vector<int>& stages) {
    bool traffic = !stages.empty() && load(stages.front(), false);
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if (i > 0) traffic = store(stages[i - 1], overlap_) || traffic;
      if (i + 1 < stages.size()) traffic = load(stages[i + 1], overlap_) || traffic;
      reduce(stages[i]);
      update(stages[i]);
      if (traffic && overlap_) tree_.emplace_back(RemoteWait{});
    }
    if (!stages.empty()) store(stages.back(), false);
  }

 private:
  void reduce(int stage) {
    for (const int collective : tables_.reduction(stage).before_update) tree_.emplace_back(Collective{collective});
  }

  void update(int stage) {
    tree_.emplace_back(Run{stage, Pass::WeightUpdate, {micro_batch_}});
    for (const int collective : tables_.reduction(stage).after_update) tree_.emplace_back(Collective{collective});
  }

  bool load(int stage, bool overlapped) {
    return for_each_buffer(stage, [&](int buffer) { tree_.emplace_back(RemoteLoad{buffer, overlapped}); });
  }

  bool store(int stage, bool overlapped) {
    return for_each_buffer(stage, [&](int buffer) { tree_.emplace_back(RemoteStore{buffer, overlapped}); });
  }

  // Weights and optimiser state are read and written; accumulators are read, and written back as zeros.
  template <typename Action>
  bool for_each_buffer(int stage, Action action) const {
    bool any = false;
    for (const Variable variable : {Variable::Accumulators, Variable::Weights, Variable::OptimizerState}) {
      const int buffer = tables_.buffer(variable, stage);
      if (buffer < 0) continue;
      action(buffer);
      any = true;
    }
    return any;
  }

  const Tables& tables_;
  std::vector<Step>& tree_;
  std::int64_t micro_batch_;
  bool overlap_;
};

}  // namespace

void append_weight_update(Trees& trees, const Execution& execution, const Scheme& scheme, const Tables& tables,
                          std::int64_t micro_batch) {
  const bool meet = trees.size() > 1;
  for (std::size_t ipu = 0; ipu < trees.size(); ++ipu) {
    std::vector<int> stages;
    for (std::size_t stage = 0; stage < scheme.ipu_of_stage.size(); ++stage) {
      if (scheme.ipu_of_stage[stage] == static_cast<int>(ipu)) stages.push_back(static_cast<int>(stage));
    }
    UpdateWriter writer(tables, trees[ipu], micro_batch, scheme.overlapped_loads);
    switch (scheme.update_traffic) {
      case UpdateTraffic::Interleaving: writer.interleaving(stages); break;
      case UpdateTraffic::Batch: writer.batch(stages); break;
      case UpdateTraffic::Clustered: writer.clustered(stages); break;
    }
    if (!meet || stages.empty() || execution.update_order == UpdateOrder::Overlapped) continue;
    for (std::vector<Step>& tree : trees) tree.emplace_back(Sync{SyncScope::Replica});
  }
  if (!meet || execution.update_order == UpdateOrder::Serial) return;
  for (std::vector<Step>& tree : trees) tree.emplace_back(Sync{SyncScope::Replica});
}

}  // namespace podsim
