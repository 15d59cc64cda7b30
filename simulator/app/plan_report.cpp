// Tables from a compilation; nothing is computed here that the stages did not.
#include "simulator/app/plan_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr Pass kTrainingPasses[] = {Pass::Forward, Pass::Recompute, Pass::Backward, Pass::WeightUpdate};

double seconds_of(const Program& program, int stage, Pass pass) {
  for (const StageCode& code : program.codes) {
    if (code.stage == stage && code.pass == pass) return code.seconds;
  }
  return 0;
}

// One lowered operator with what limits it.
struct OperatorRow {
  int stage = 0;
  std::string name;
  std::string_view work;
  const LoweredOperator* lowered = nullptr;
  double seconds = 0;
  double roofline_seconds = 0;  // the AMP units at their peak on all tiles
  double tile_utilization = 0;  // mean over tiles of compute cycles / longest tile's
};

double tile_utilization(const LoweredOperator& lowered) {
  double busy = 0;
  double longest = 0;
  for (const Superstep& step : lowered.supersteps) {
    busy += step.compute_cycles.sum() * step.repeat;
    longest += step.compute_cycles_maximum() * step.repeat * step.compute_cycles.tiles();
  }
  return longest > 0 ? busy / longest : 0;
}

void add_rows(std::vector<OperatorRow>& rows, const Compilation& compilation, const Stage& stage, std::string_view work,
              const std::vector<std::shared_ptr<const LoweredOperator>>& operators, bool weights) {
  const Chip& chip = compilation.lowerings[static_cast<std::size_t>(stage.ipu)]->chip();
  const double peak = compilation.program.peak_flops_per_ipu;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i] == nullptr) continue;
    const LoweredOperator& lowered = *operators[i];
    rows.push_back({stage.index, weights ? stage.weights[i].name : stage.operators[i].name, work, &lowered,
                    lowered.cycles() / chip.clock_hz, peak > 0 ? lowered.amp_flops / peak : 0,
                    tile_utilization(lowered)});
  }
}

std::vector<OperatorRow> operator_rows(const Compilation& compilation) {
  std::vector<OperatorRow> rows;
  for (std::size_t i = 0; i < compilation.lowered.size(); ++i) {
    const Stage& stage = compilation.model.stages[i];
    const LoweredStage& lowered = compilation.lowered[i];
    add_rows(rows, compilation, stage, "forward", lowered.forward, false);
    add_rows(rows, compilation, stage, "backward input", lowered.backward_input, false);
    add_rows(rows, compilation, stage, "backward weights", lowered.backward_weights, false);
    add_rows(rows, compilation, stage, "weight update", lowered.weight_update, true);
  }
  return rows;
}

// Activations of a micro-batch that the stage sends to other IPUs; as many gradients come back in training.
double sent_bytes(const Program& program, int stage) {
  double bytes = 0;
  for (const Transfer& transfer : program.transfers) {
    if (transfer.from_stage == stage && !transfer.gradient) bytes += transfer.bytes;
  }
  return bytes;
}

// What a slot waits for: the IPU with the longest passes, against the mean of all.
std::string balance_line(const Compilation& compilation) {
  std::vector<double> seconds(static_cast<std::size_t>(compilation.model.ipus_per_replica), 0.0);
  for (const Stage& stage : compilation.model.stages) {
    for (const Pass pass : {Pass::Forward, Pass::Recompute, Pass::Backward}) {
      seconds[static_cast<std::size_t>(stage.ipu)] += seconds_of(compilation.program, stage.index, pass);
    }
  }
  const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  if (seconds.size() == 1 || !(mean > 0)) return {};
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  return fmt::format("balance: the passes of IPU {} take longest, {} more than the mean of the IPUs\n",
                     slowest - seconds.begin(), format_share(*slowest / mean - 1));
}

std::string stage_table(const Compilation& compilation) {
  std::string text = fmt::format("{:>5} {:>4} {:>12} {:>12} {:>12} {:>12} {:>12} {:>14} {:>6}  {}\n", "stage", "IPU",
                                 "forward", "recompute", "backward", "update", "sends", "weights", "live", "blocks");
  for (const Stage& stage : compilation.model.stages) {
    const int last = stage.ipu + compilation.model.ipus_per_stage - 1;
    text += fmt::format("{:>5} {:>4}", stage.index,
                        last == stage.ipu ? std::to_string(stage.ipu) : fmt::format("{}-{}", stage.ipu, last));
    for (const Pass pass : kTrainingPasses) {
      text += fmt::format(" {:>12}", format_seconds(seconds_of(compilation.program, stage.index, pass)));
    }
    std::string blocks = stage.blocks.empty() ? "" : stage.blocks.front();
    if (stage.blocks.size() > 1) blocks += " … " + stage.blocks.back();
    text += fmt::format(" {:>12} {:>14} {:>6}  {}\n", format_bytes(sent_bytes(compilation.program, stage.index)),
                        format_bytes(compilation.model.weight_bytes(stage.index)),
                        compilation.live_micro_batches[static_cast<std::size_t>(stage.index)], blocks);
  }
  return text + balance_line(compilation);
}

// Each kind once: "18 x all-reduce of 2.5 MiB", or the bytes of all where they differ.
std::string collectives_text(const std::vector<StageCollective>& collectives) {
  std::string text;
  for (const CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::HaloExchange}) {
    std::int64_t count = 0;
    double bytes = 0, largest = 0;
    for (const StageCollective& each : collectives) {
      if (each.kind != kind) continue;
      count += each.count;
      bytes += each.bytes * static_cast<double>(each.count);
      largest = std::max(largest, each.bytes);
    }
    if (count == 0) continue;
    const bool equal = bytes == largest * static_cast<double>(count);
    text += fmt::format("{}{} x {}", text.empty() ? "" : "; ", count, name_of(kind));
    text += equal ? " of " + format_bytes(largest) : ", " + format_bytes(bytes) + " in all";
  }
  return text.empty() ? "none" : text;
}

// What the IPUs of each stage exchange for a micro-batch.
std::string collectives_table(const Compilation& compilation) {
  if (compilation.model.ipus_per_stage == 1) return {};
  std::string text = fmt::format("\n{} IPUs share each stage; between them, for each micro-batch:\n",
                                 compilation.model.ipus_per_stage);
  for (const Stage& stage : compilation.model.stages) {
    text += fmt::format("{:>5}  forward {}", stage.index, collectives_text(stage.forward_collectives));
    if (!stage.recompute_collectives.empty()) {
      text += "\n       recompute " + collectives_text(stage.recompute_collectives);
    }
    if (!stage.backward_collectives.empty())
      text += "\n       backward " + collectives_text(stage.backward_collectives);
    text += "\n";
  }
  return text;
}

Value collectives_value(const std::vector<StageCollective>& collectives) {
  Value::Array rows;
  for (const StageCollective& each : collectives) {
    Value row{Value::Object{}};
    row.set("kind", std::string(name_of(each.kind)));
    row.set("bytes", each.bytes);
    row.set("count", each.count);
    rows.push_back(std::move(row));
  }
  return Value(std::move(rows));
}

std::string memory_table(const Compilation& compilation) {
  std::string text = fmt::format("{:<28}", "memory (all tiles of an IPU)");
  for (std::size_t ipu = 0; ipu < compilation.memory.size(); ++ipu)
    text += fmt::format(" {:>12}", fmt::format("IPU {}", ipu));
  text += "\n";
  for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    text += fmt::format("  {:<26}", name_of(category));
    for (const MemoryReport& report : compilation.memory) {
      text += fmt::format(" {:>12}", format_bytes(report.total_bytes(category)));
    }
    text += "\n";
  }
  const auto row = [&](const std::string& name, auto&& value) {
    text += fmt::format("{:<28}", name);
    for (const MemoryReport& report : compilation.memory) text += fmt::format(" {:>12}", value(report));
    text += "\n";
  };
  row("fullest tile", [](const MemoryReport& r) { return fmt::format("{}", r.peak_tile); });
  row("  bytes", [](const MemoryReport& r) { return format_count(static_cast<long long>(r.peak_tile_bytes)); });
  row("  always live",
      [](const MemoryReport& r) { return format_count(static_cast<long long>(r.always_live_tile_bytes)); });
  row("  limit", [](const MemoryReport& r) { return format_count(static_cast<long long>(r.limit_bytes)); });
  row("  headroom", [](const MemoryReport& r) { return format_share(1 - r.peak_tile_bytes / r.limit_bytes); });
  row("  fits", [](const MemoryReport& r) { return std::string(r.fits() ? "yes" : "NO"); });
  return text;
}

Value memory_value(const MemoryReport& report) {
  Value value{Value::Object{}};
  value.set("peak_tile", report.peak_tile);
  value.set("peak_tile_bytes", report.peak_tile_bytes);
  value.set("always_live_bytes", report.always_live_tile_bytes);
  value.set("limit_bytes", report.limit_bytes);
  value.set("fits", report.fits());
  Value categories{Value::Object{}};
  for (std::size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    categories.set(std::string(name_of(category)), report.total_bytes(category));
  }
  value.set("categories", std::move(categories));
  return value;
}

Value operator_value(const OperatorRow& row) {
  Value value{Value::Object{}};
  value.set("stage", row.stage);
  value.set("name", row.name);
  value.set("work", std::string(row.work));
  value.set("seconds", row.seconds);
  value.set("compute_cycles", row.lowered->compute_cycles);
  value.set("exchange_cycles", row.lowered->exchange_cycles);
  value.set("sync_cycles", row.lowered->sync_cycles);
  value.set("amp_flops", row.lowered->amp_flops);
  value.set("roofline_seconds", row.roofline_seconds);
  value.set("tile_utilization", row.tile_utilization);
  if (!row.lowered->plans.empty()) {
    value.set("plan", row.lowered->plans.front().text());
    value.set("bounded", row.lowered->plans.front().bounded);
  }
  return value;
}

std::string io_tiles_line(const Scenario& scenario, const Compilation& compilation) {
  if (scenario.lowering.io_tiles == 0) return {};
  const std::vector<int>& needed = compilation.io_tiles_needed;
  return fmt::format(
      "\nIO tiles: {} on each IPU; rule of thumb (1.05 x host data of a micro-batch / tile memory): at least {}\n",
      scenario.lowering.io_tiles, needed.empty() ? 0 : *std::max_element(needed.begin(), needed.end()));
}

}  // namespace

std::string plan_text(const Scenario& scenario, const Compilation& compilation) {
  std::string text = scenario.name + "\n";
  text += fmt::format("{}: {} parameters; {} stages on {} IPUs, {} replicas on {} ({} IPUs)\n\n",
                      compilation.model.model, format_count(compilation.parameters), compilation.model.stages.size(),
                      compilation.model.ipus_per_replica, scenario.execution.replicas, compilation.topology->name(),
                      compilation.topology->ipu_count());
  text += stage_table(compilation);
  text += collectives_table(compilation);
  text += io_tiles_line(scenario, compilation);
  if (!compilation.memory.empty()) text += "\n" + memory_table(compilation);
  if (compilation.second_graph != nullptr) {
    const Compilation& second = *compilation.second_graph;
    text += "\nSecond graph\n" + stage_table(second);
    if (!second.memory.empty()) text += "\n" + memory_table(second);
  }
  return text;
}

std::string operators_text(const Compilation& compilation) {
  std::string text = fmt::format("{:>5} {:<44} {:<16} {:>10} {:>5} {:>5} {:>5} {:>6} {:>9}  {}\n", "stage", "operator",
                                 "work", "time", "comp", "exch", "sync", "tiles", "roofline", "plan");
  for (const OperatorRow& row : operator_rows(compilation)) {
    const LoweredOperator& lowered = *row.lowered;
    const double cycles = std::max(lowered.cycles(), 1.0);
    text += fmt::format("{:>5} {:<44} {:<16} {:>10} {:>4.0f}% {:>4.0f}% {:>4.0f}% {:>5.0f}% {:>9}", row.stage, row.name,
                        row.work, format_seconds(row.seconds), 100 * lowered.compute_cycles / cycles,
                        100 * lowered.exchange_cycles / cycles, 100 * lowered.sync_cycles / cycles,
                        100 * row.tile_utilization,
                        row.roofline_seconds > 0 ? format_share(row.roofline_seconds / row.seconds) : "-");
    if (!lowered.plans.empty()) {
      text += "  " + lowered.plans.front().text() + (lowered.plans.front().bounded ? "" : "  UNBOUNDED");
    }
    text += "\n";
  }
  return text;
}

Value plan_value(const Scenario& scenario, const Compilation& compilation, bool operators) {
  Value value{Value::Object{}};
  value.set("name", scenario.name);
  value.set("parameters", compilation.parameters);
  value.set("ipus_per_replica", compilation.model.ipus_per_replica);
  value.set("replicas", scenario.execution.replicas);
  if (scenario.lowering.io_tiles > 0) {
    value.set("io_tiles", scenario.lowering.io_tiles);
    value.set("io_tiles_needed",
              Value(Value::Array(compilation.io_tiles_needed.begin(), compilation.io_tiles_needed.end())));
  }
  Value::Array stages;
  for (const Stage& stage : compilation.model.stages) {
    Value row{Value::Object{}};
    row.set("stage", stage.index);
    row.set("ipu", stage.ipu);
    row.set("ipus", compilation.model.ipus_per_stage);
    row.set("forward_collectives", collectives_value(stage.forward_collectives));
    row.set("backward_collectives", collectives_value(stage.backward_collectives));
    for (const StageCode& code : compilation.program.codes) {
      if (code.stage == stage.index) row.set(std::string(name_of(code.pass)) + "_seconds", code.seconds);
    }
    row.set("weight_bytes", compilation.model.weight_bytes(stage.index));
    row.set("sent_bytes", sent_bytes(compilation.program, stage.index));
    row.set("live_micro_batches", compilation.live_micro_batches[static_cast<std::size_t>(stage.index)]);
    row.set("stash_bytes", stage.stash_bytes);
    stages.push_back(std::move(row));
  }
  value.set("stages", std::move(stages));
  Value::Array memory;
  for (const MemoryReport& report : compilation.memory) memory.push_back(memory_value(report));
  value.set("memory", std::move(memory));
  if (operators) {
    Value::Array rows;
    for (const OperatorRow& row : operator_rows(compilation)) rows.push_back(operator_value(row));
    value.set("operators", std::move(rows));
  }
  return value;
}

}  // namespace podsim
