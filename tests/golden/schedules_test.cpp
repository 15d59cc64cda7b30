// The grid of each scheme against tests/golden/schedules/*.txt. To accept new grids:
//   PODSIM_UPDATE_GOLDEN=1 ctest --test-dir build -R SchedulesGolden     (then read the diff)
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/schedules/models.hpp"

namespace podsim {
namespace {

std::string text_of(const Program& program) {
  std::ostringstream out;
  out << program.schedule << ", " << program.slots_per_update << " slots; live micro-batches per stage";
  for (const std::int64_t live : live_micro_batches(program)) out << ' ' << live;
  out << "\n\n" << print_grid(grid(program, 40), program.ipus_per_replica) << '\n' << print(program);
  return out.str();
}

void expect_golden(const std::string& name, const Program& program) {
  const std::filesystem::path file =
      std::filesystem::path(PODSIM_SOURCE_DIR) / "tests" / "golden" / "schedules" / (name + ".txt");
  const std::string text = text_of(program);
  if (std::getenv("PODSIM_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ifstream stored(file);
  ASSERT_TRUE(stored) << file << " is missing; PODSIM_UPDATE_GOLDEN=1 writes it";
  std::ostringstream expected;
  expected << stored.rdbuf();
  EXPECT_EQ(text, expected.str()) << "if this is meant, run again with PODSIM_UPDATE_GOLDEN=1 and read the diff";
}

Program pipelined(const std::string& order, const StagedModel& model, const Execution& execution) {
  return emit("pipelined", model, execution, {{"order", order}});
}

TEST(SchedulesGolden, Popart) { expect_golden("popart", pipelined("popart", chain(4), training(10))); }

TEST(SchedulesGolden, PopartRecompute) {
  Execution execution = training(10, 10);
  execution.recompute = true;
  expect_golden("popart_recompute", pipelined("popart", chain(2), execution));
}

TEST(SchedulesGolden, Grouped) { expect_golden("grouped", pipelined("grouped", chain(4), training(16))); }

TEST(SchedulesGolden, Interleaved) { expect_golden("interleaved", pipelined("interleaved", chain(4), training(8))); }

TEST(SchedulesGolden, Sequential) { expect_golden("sequential", pipelined("sequential", chain(3), training(3))); }

TEST(SchedulesGolden, SeveralStagesPerIpu) {
  expect_golden("several_stages_per_ipu", pipelined("popart", staged_model({0, 1, 2, 3, 0}), training(12)));
}

TEST(SchedulesGolden, Inference) { expect_golden("inference", pipelined("popart", chain(4), inference(10))); }

TEST(SchedulesGolden, Sharded) { expect_golden("sharded", emit("sharded", chain(3), training(3))); }

TEST(SchedulesGolden, ZeroBubble) { expect_golden("zero_bubble", emit("zero_bubble", chain(4), training(10))); }

TEST(SchedulesGolden, Phased) {
  Execution execution = training(4);
  execution.replicas = 2;
  execution.sync_pattern = SyncPattern::ReplicaAndLadder;
  execution.weights.off_chip = execution.activations.off_chip = execution.optimizer_state.off_chip = true;
  execution.optimizer_state.sharded = true;
  expect_golden("phased_parallel", emit("phased", chain(5), execution, {{"mode", "parallel"}}));
  execution.io_overlap = IoOverlap::AccumulationLoop;
  expect_golden("phased_serial", emit("phased", chain(5), execution, {{"mode", "serial"}, {"io_order", "batch"}}));
}

}  // namespace
}  // namespace podsim
