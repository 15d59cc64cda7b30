// Flattens lowered stages and memory reports into columns.
#include "simulator/app/trace_tables.hpp"

#include <map>

#include "simulator/app/summary_memory.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/engine/simgrid_settings.hpp"
#include "simulator/program/analysis.hpp"

namespace podsim {

namespace {

using LoweredOperators = std::vector<std::shared_ptr<const LoweredOperator>>;

void append(std::vector<float>& column, const TileVector& vector, int tiles) {
  if (vector.tiles() == 0) {
    column.insert(column.end(), static_cast<std::size_t>(tiles), 0.0F);
    return;
  }
  for (const double value : vector.expand()) column.push_back(static_cast<float>(value));
  column.resize(column.size() + static_cast<std::size_t>(tiles - vector.tiles()), 0.0F);  // IO tiles
}

TilePass pass_of(WorkKind work) {
  switch (work) {
    case WorkKind::Forward: return TilePass::Forward;
    case WorkKind::BackwardInput: return TilePass::BackwardInput;
    case WorkKind::BackwardWeights: return TilePass::BackwardWeights;
    case WorkKind::WeightUpdate: return TilePass::WeightUpdate;
  }
  throw InternalError("unknown kind of work");
}

TileActivity activity_of(const Superstep& step) {
  if (step.exchange_cycles <= 0) return TileActivity::Compute;
  return step.compute_cycles_maximum() > 0 ? TileActivity::ComputeAndExchange : TileActivity::Exchange;
}

// Collects supersteps; equal operators share their lowering, so a pointer identifies them.
class TileTableBuilder {
 public:
  explicit TileTableBuilder(TileTable& table) : table_(table) {}

  // `name` of the operator, or of the weight that is updated.
  void add(const Stage& stage, int ipu, State state, const std::string& name, const LoweredOperator* lowered) {
    if (lowered == nullptr || lowered->supersteps.empty()) return;
    const auto [place, inserted] = first_.try_emplace(lowered, static_cast<int>(table_.names.size()));
    if (inserted) {
      for (const Superstep& step : lowered->supersteps) add_superstep(step, lowered->work, name);
    }
    const auto [known, is_new] = operators_.try_emplace(name, static_cast<int>(table_.operators.size()));
    if (is_new) table_.operators.push_back(name);
    for (std::size_t i = 0; i < lowered->supersteps.size(); ++i) {
      table_.use_ipu.push_back(ipu);
      table_.use_stage.push_back(stage.index);
      table_.use_state.push_back(state);
      table_.use_superstep.push_back(place->second + static_cast<int>(i));
      table_.use_count.push_back(lowered->supersteps[i].repeat);
      table_.use_operator.push_back(known->second);
    }
  }

 private:
  void add_superstep(const Superstep& step, WorkKind work, const std::string& name) {
    const TilePass pass = pass_of(work);
    table_.names.push_back(std::string(kTilePassNames[static_cast<std::size_t>(pass)]) + "/" + name + "/" + step.name);
    table_.phases.push_back(step.name);
    table_.passes.push_back(pass);
    table_.activities.push_back(activity_of(step));
    table_.sync_cycles.push_back(step.sync_cycles);
    table_.exchange_cycles.push_back(step.exchange_cycles);
    append(table_.compute_cycles, step.compute_cycles, table_.tiles);
    append(table_.bytes_in, step.bytes_in, table_.tiles);
    append(table_.bytes_out, step.bytes_out, table_.tiles);
  }

  TileTable& table_;
  std::map<const LoweredOperator*, int> first_;
  std::map<std::string, int> operators_;
};

void add_stage(TileTableBuilder& builder, const Stage& stage, int ipu, const LoweredStage& lowered) {
  const auto add = [&](State state, const LoweredOperators& operators) {
    for (std::size_t i = 0; i < operators.size(); ++i)
      builder.add(stage, ipu, state, stage.operators[i].name, operators[i].get());
  };
  add(State::Forward, lowered.forward);
  add(State::Backward, lowered.backward_input);
  add(State::Backward, lowered.backward_weights);
  auto update = lowered.weight_update.begin();
  for (const Weight& weight : stage.weights) {
    if (weight.trainable && update != lowered.weight_update.end()) {
      builder.add(stage, ipu, State::WeightUpdate, weight.name, (update++)->get());
    }
  }
}

}  // namespace

TileTable tile_table(const Compilation& compilation) {
  TileTable table;
  if (compilation.lowerings.empty()) return table;
  table.tiles = compilation.lowerings.front()->chip().tiles;
  table.clock_hertz = compilation.lowerings.front()->chip().clock_hz;
  TileTableBuilder builder(table);
  for (std::size_t i = 0; i < compilation.lowered.size(); ++i) {
    const Stage& stage = compilation.model.stages[i];
    for (int ipu = stage.ipu; ipu < stage.ipu + compilation.model.ipus_per_stage; ++ipu) {
      add_stage(builder, stage, ipu, compilation.lowered[i]);
    }
  }
  return table;
}

MemoryTable memory_table(const Compilation& compilation) {
  MemoryTable table;
  table.ipus = static_cast<int>(compilation.memory.size());
  if (table.ipus == 0) return table;
  table.tiles = compilation.lowerings.front()->chip().tiles;
  for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    table.categories.emplace_back(name_of(category));
    table.always_live.push_back(always_live(category) ? 1 : 0);
  }
  for (int ipu = 0; ipu < table.ipus; ++ipu) {
    const MemoryReport& report = compilation.memory[static_cast<std::size_t>(ipu)];
    for (const TileVector& bytes : report.categories) {
      std::vector<double> row = bytes.expand();
      row.resize(static_cast<std::size_t>(table.tiles), 0.0);
      table.bytes.insert(table.bytes.end(), row.begin(), row.end());
    }
    table.limit_bytes.push_back(report.limit_bytes);
    table.peak_tile_bytes.push_back(report.peak_tile_bytes);
    table.always_live_bytes.push_back(report.always_live_tile_bytes);
    table.peak_tile.push_back(report.peak_tile);
    for (const LivenessStep& step : report.liveness) {
      table.step_ipu.push_back(ipu);
      table.step_names.push_back(step.name);
      table.step_bytes.push_back(step.bytes);
      table.step_total_bytes.push_back(step.total_bytes);
    }
  }
  return table;
}

ScenarioRecord scenario_record(const Scenario& scenario, const Compilation& compilation) {
  ScenarioRecord record;
  record.text = scenario.text;
  record.resolved = to_json(scenario.resolved);
  record.program = print(compilation.program);
  record.versions = {{"podsim", version()}, {"SimGrid", simgrid_version()}};
  record.settings = simgrid_settings();
  return record;
}

}  // namespace podsim
