// The table of tiles: every superstep says which operator, pass and phase it belongs to, and nothing is lost.
#include "simulator/app/trace_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/config/json.hpp"

namespace podsim {
namespace {

Compilation three_layers(const std::string& mode) {
  const Value source = parse_json(R"({
    "version": 1, "system": {"pod": "bow-pod4"},
    "workload": {"model": "mlp", "layers": [64, 128, 128, 10], "micro_batch_size": 16, "optimizer": "momentum",
                 "mode": ")" + mode + R"("},
    "ipu_config": {"ipus_per_replica": 1, "layers_per_ipu": [3]}
  })",
                                  "test");
  return compile(read_scenario(source, "."), DataFolder());
}

std::set<std::string> names_in(const Compilation& compilation) {
  std::set<std::string> names;
  for (const Stage& stage : compilation.model.stages) {
    for (const Operator& op : stage.operators) names.insert(op.name);
    for (const Weight& weight : stage.weights) names.insert(weight.name);
  }
  return names;
}

TEST(TileTable, EverySuperstepNamesPassOperatorAndPhase) {
  const Compilation compilation = three_layers("training");
  const TileTable table = tile_table(compilation);
  const std::set<std::string> known = names_in(compilation);
  ASSERT_FALSE(table.names.empty());
  ASSERT_EQ(table.phases.size(), table.names.size());
  ASSERT_EQ(table.use_operator.size(), table.use_ipu.size());
  std::set<std::int32_t> seen;
  std::set<std::string> passes;
  for (std::size_t use = 0; use < table.use_superstep.size(); ++use) {
    const auto superstep = static_cast<std::size_t>(table.use_superstep[use]);
    const std::string& op = table.operators[static_cast<std::size_t>(table.use_operator[use])];
    EXPECT_TRUE(known.contains(op)) << op;
    const std::string pass(kTilePassNames[static_cast<std::size_t>(table.passes[superstep])]);
    passes.insert(pass);
    if (!seen.insert(table.use_superstep[use]).second) continue;
    EXPECT_EQ(table.names[superstep], pass + "/" + op + "/" + table.phases[superstep]);
  }
  EXPECT_EQ(seen.size(), table.names.size());
  EXPECT_EQ(passes, (std::set<std::string>{"forward", "backward_input", "backward_weights", "weight_update"}));
}

// layer1 and layer2 of the forward pass are different matmuls, the two ReLUs on [16, 128] the same supersteps.
TEST(TileTable, EqualOperatorsShareSuperstepsAndKeepTheirNames) {
  const TileTable table = tile_table(three_layers("inference"));
  std::map<std::string, std::set<std::int32_t>> supersteps;
  for (std::size_t use = 0; use < table.use_superstep.size(); ++use) {
    supersteps[table.operators[static_cast<std::size_t>(table.use_operator[use])]].insert(table.use_superstep[use]);
  }
  ASSERT_TRUE(supersteps.contains("layer0/activation") && supersteps.contains("layer1/activation"));
  EXPECT_EQ(supersteps["layer0/activation"], supersteps["layer1/activation"]);
  for (const std::int32_t superstep : supersteps["layer1/activation"]) {
    EXPECT_EQ(table.names[static_cast<std::size_t>(superstep)].rfind("forward/layer0/activation/", 0), 0U);
  }
}

// Cycles by operator, put together from the table as a reader does, are those of the lowering.
TEST(TileTable, CyclesOfEachOperatorAddUp) {
  const Compilation compilation = three_layers("training");
  const TileTable table = tile_table(compilation);
  std::map<std::string, double> cycles;
  const auto tiles = static_cast<std::size_t>(table.tiles);
  for (std::size_t use = 0; use < table.use_superstep.size(); ++use) {
    if (table.use_state[use] != State::Forward) continue;
    const auto superstep = static_cast<std::size_t>(table.use_superstep[use]);
    const auto row = table.compute_cycles.begin() + static_cast<std::ptrdiff_t>(superstep * tiles);
    const double compute = *std::max_element(row, row + static_cast<std::ptrdiff_t>(tiles));
    cycles[table.operators[static_cast<std::size_t>(table.use_operator[use])]] +=
        table.use_count[use] * (compute + table.sync_cycles[superstep] + table.exchange_cycles[superstep]);
    const bool computes = table.activities[superstep] != TileActivity::Exchange;
    const bool exchanges = table.activities[superstep] != TileActivity::Compute;
    EXPECT_EQ(computes, compute > 0) << table.names[superstep];
    EXPECT_EQ(exchanges, table.exchange_cycles[superstep] > 0) << table.names[superstep];
  }
  for (std::size_t i = 0; i < compilation.model.stages.front().operators.size(); ++i) {
    const double expected = compilation.lowered.front().forward[i]->cycles();
    const std::string& name = compilation.model.stages.front().operators[i].name;
    if (expected <= 0) continue;
    EXPECT_NEAR(cycles[name] / expected, 1, 1e-6) << name;  // cycles of tiles are stored as floats
  }
}

}  // namespace
}  // namespace podsim
