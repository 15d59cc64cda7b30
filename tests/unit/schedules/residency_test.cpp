// What phased execution has on an IPU beside the running phase: what was loaded ahead, and what is not yet stored.
#include "simulator/program/remote_residency.hpp"

#include <gtest/gtest.h>

#include "tests/unit/schedules/models.hpp"

namespace podsim {
namespace {

// Weights of 200 B and optimiser states of 800 B for each of five phases; one micro-batch.
Execution phases(bool overlapped, bool optimizer_state) {
  Execution execution = training(1);
  execution.weights.off_chip = true;
  execution.optimizer_state.off_chip = optimizer_state;
  if (overlapped) execution.io_overlap = IoOverlap::AccumulationLoop;
  return execution;
}

using Bytes = std::vector<double>;

Bytes of_pass(const Program& program, double BuffersBeside::*pass) {
  Bytes bytes;
  for (const BuffersBeside& beside : buffers_beside(program)) bytes.push_back(beside.*pass);
  return bytes;
}

// Each phase has the next one's weights beside its own. Nothing comes after the last one, but the weights of the phase
// before it stay, since its backward pass follows within two phases.
TEST(Residency, PreloadHoldsTheNextPhaseToo) {
  const Program program = emit("phased", chain(5), phases(true, false), {{"mode", "serial"}});
  EXPECT_EQ(of_pass(program, &BuffersBeside::forward_bytes), (Bytes{200, 200, 200, 200, 200}));
  EXPECT_EQ(of_pass(program, &BuffersBeside::backward_bytes), (Bytes{0, 200, 200, 200, 200}));
  EXPECT_EQ(of_pass(program, &BuffersBeside::update_bytes), (Bytes{0, 0, 0, 0, 0}));
}

TEST(Residency, WithoutPreloadOnlyWhatIsKeptIsThere) {
  const Program program = emit("phased", chain(5), phases(true, false), {{"mode", "serial"}, {"preload", false}});
  EXPECT_EQ(of_pass(program, &BuffersBeside::forward_bytes), (Bytes{0, 0, 0, 0, 200}));
  EXPECT_EQ(of_pass(program, &BuffersBeside::backward_bytes), (Bytes{0, 0, 0, 0, 200}));
}

// Weights and states of all phases at once; of the next one; of none.
TEST(Residency, OrdersOfTheUpdateHoldDifferentStates) {
  const auto held = [](const char* order, bool overlapped) {
    return of_pass(emit("phased", chain(5), phases(overlapped, true), {{"mode", "serial"}, {"io_order", order}}),
                   &BuffersBeside::update_bytes);
  };
  EXPECT_EQ(held("batch", false), (Bytes{4000, 4000, 4000, 4000, 4000}));
  EXPECT_EQ(held("batch", true), (Bytes{4000, 4000, 4000, 4000, 4000}));
  EXPECT_EQ(held("clustered", false), (Bytes{1000, 1000, 1000, 1000, 0}));
  EXPECT_EQ(held("clustered", true), (Bytes{1000, 2000, 2000, 2000, 1000}));
  EXPECT_EQ(held("interleaving", true), (Bytes{0, 0, 0, 0, 0}));
  EXPECT_TRUE(
      emit("phased", chain(5), phases(true, true), {{"io_order", "interleaving"}}).updates_one_tensor_at_a_time);
  EXPECT_FALSE(emit("phased", chain(5), phases(true, true), {{"io_order", "batch"}}).updates_one_tensor_at_a_time);
}

// A pipeline with its optimiser state off chip updates one stage of an IPU after the other.
TEST(Residency, APipelineHasNothingBeside) {
  Execution execution = training(16);
  execution.optimizer_state.off_chip = true;
  const Program program = emit("pipelined", staged_model({0, 1, 2, 0}), execution);
  for (const BuffersBeside& beside : buffers_beside(program)) {
    EXPECT_EQ(beside.forward_bytes + beside.backward_bytes + beside.update_bytes, 0);
  }
  EXPECT_EQ(buffers_beside(emit("pipelined", chain(4), training(16))).size(), 4U);
}

}  // namespace
}  // namespace podsim
