// What a process remembers of earlier scenarios must not show in later ones.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "simulator/app/compile.hpp"
#include "simulator/app/loaded_data.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {
namespace {

Scenario scenario_of(const std::vector<Override>& overrides) {
  Value source = parse_json(R"({"version": 1, "system": {"pod": "pod4"}, "partition": {"pipeline_depth": 2},
    "workload": {"model": "bert", "micro_batch_size": 2, "sequence_length": 64, "config": {"model_type": "bert",
      "hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 512,
      "vocab_size": 1024, "max_position_embeddings": 64, "type_vocab_size": 2}},
    "ipu_config": {"gradient_accumulation_steps": 16, "inference_device_iterations": 8, "matmul_proportion": 0.2}, "execution": {}})",
                            "bert.json");
  apply_overrides(source, overrides);
  return read_scenario(std::move(source), ".");
}

void expect_equal(const Compilation& left, const Compilation& right) {
  ASSERT_EQ(left.program.codes.size(), right.program.codes.size());
  for (std::size_t i = 0; i < left.program.codes.size(); ++i) {
    const StageCode &one = left.program.codes[i], &other = right.program.codes[i];
    EXPECT_EQ(one.seconds, other.seconds) << i;
    EXPECT_EQ(one.compute_seconds, other.compute_seconds) << i;
    EXPECT_EQ(one.exchange_seconds, other.exchange_seconds) << i;
    EXPECT_EQ(one.amp_flops, other.amp_flops) << i;
  }
  ASSERT_EQ(left.memory.size(), right.memory.size());
  for (std::size_t i = 0; i < left.memory.size(); ++i) {
    EXPECT_EQ(left.memory[i].peak_tile, right.memory[i].peak_tile);
    EXPECT_EQ(left.memory[i].peak_tile_bytes, right.memory[i].peak_tile_bytes);
    EXPECT_EQ(left.memory[i].limit_bytes, right.memory[i].limit_bytes);
  }
  EXPECT_EQ(left.topology->name(), right.topology->name());
  EXPECT_EQ(left.topology->links().size(), right.topology->links().size());
}

TEST(CompileCache, EqualScenariosArePlannedOnce) {
  const LoadedData data;
  CompileCache cache;
  const Compilation first = compile(scenario_of({}), data, cache);
  const std::size_t plans = first.lowerings.front()->plans_made();
  EXPECT_GT(plans, 10U);
  const Compilation second = compile(scenario_of({{"gradient_accumulation_steps", "8"}}), data, cache);
  EXPECT_EQ(second.lowerings.front(), first.lowerings.front());
  EXPECT_EQ(second.lowerings.front()->plans_made(), plans);
  EXPECT_EQ(second.topology, first.topology);
  const Compilation other = compile(scenario_of({{"workload.micro_batch_size", "4"}}), data, cache);
  EXPECT_GT(other.lowerings.front()->plans_made(), plans);
}

TEST(CompileCache, WhatChangesPlansOrSystemIsNotMixedUp) {
  const LoadedData data;
  CompileCache cache;
  const std::vector<std::vector<Override>> changes = {{{"matmul_proportion", "0.1"}},
                                                      {{"matmul_proportion", "[0.2 0.05]"}},
                                                      {{"enable_half_partials", "true"}},
                                                      {{"system.pod", "bow-pod4"}},
                                                      {{"system.parameters", R"({"clock_hz": 1.0e9})"}},
                                                      {{"system.parameters", R"({"ipu_link_latency_seconds": 5e-6})"}},
                                                      {{"workload.mode", "inference"}},
                                                      {{"workload.precision", "fp32"}},
                                                      {{"auto_loss_scaling", "true"}},
                                                      {{"workload.optimizer", "lamb"}},
                                                      {{"workload.sequence_length", "32"}}};
  std::mt19937 random(7);
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Override> overrides = {{"workload.micro_batch_size", std::to_string(1 + random() % 3)}};
    for (const std::vector<Override>& change : changes) {
      if (random() % 4 == 0) overrides.insert(overrides.end(), change.begin(), change.end());
    }
    std::optional<Scenario> scenario;
    try {
      scenario = scenario_of(overrides);
    } catch (const UserError&) {  // not all choices go together
      continue;
    }
    SCOPED_TRACE(to_json(scenario->source, 0));
    expect_equal(compile(*scenario, data, cache), compile(*scenario, data));
    if (HasFailure()) return;
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

TEST(CompileCache, ForgetsWhatIsOldest) {
  const LoadedData data;
  CompileCache cache;
  const auto first = cache.system(scenario_of({}), data);
  for (int hosts = 1; hosts <= 20; ++hosts) {
    (void)cache.system(scenario_of({{"system.parameters", R"({"clock_hz": )" + std::to_string(hosts) + "e9}"}}), data);
  }
  EXPECT_NE(cache.system(scenario_of({}), data), first);
  EXPECT_EQ(cache.system(scenario_of({}), data), cache.system(scenario_of({}), data));
}

}  // namespace
}  // namespace podsim
