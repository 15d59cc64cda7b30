// check() on a small program that is sound, and on the same one broken on purpose in every way that it must find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "simulator/core/error.hpp"
#include "simulator/program/analysis.hpp"

namespace podsim {
namespace {

using testing::AllOf;
using testing::HasSubstr;

podsim::Run run(int stage, Pass pass, std::int64_t micro_batch) { return {stage, pass, {micro_batch}}; }

// Two stages on two IPUs, two micro-batches per update, one after the other:
//   slot 0: F on IPU 0; slot 1: F and B on IPU 1; slot 2: B on IPU 0
Program two_stages() {
  Program program;
  program.schedule = "by hand";
  program.stages = program.ipus_per_replica = 2;
  program.execution.micro_batches = 2;
  program.ipu_of_stage = {0, 1};
  program.transfers = {{0, 1, 0, 1, false, 10}, {1, 0, 1, 0, true, 10}};
  program.streams = {{0, 0, true, false, 8, "samples"}, {1, 1, false, false, 4, "loss"}};
  program.slots_per_update = 6;
  std::vector<Step> first, second;
  for (const std::int64_t m : {0, 1}) {
    first.insert(first.end(), {StreamIn{0, {m}}, run(0, Pass::Forward, m), Exchange{{{0, {m}}}, {}},
                               Exchange{{}, {{1, {m}}}}, run(0, Pass::Backward, m), Exchange{}});
    second.insert(second.end(), {Exchange{{}, {{0, {m}}}}, run(1, Pass::Forward, m), run(1, Pass::Backward, m),
                                 StreamOut{1, {m}}, Exchange{{{1, {m}}}, {}}, Exchange{}});
  }
  const auto whole = [](std::vector<Step> body, int stage) {
    body.insert(body.begin(), HostCall{});
    body.emplace_back(run(stage, Pass::WeightUpdate, 1));
    body.emplace_back(EndOfUpdate{});
    return std::vector<Step>{Repeat{1, 2, LoopKind::Runs, std::move(body)}};
  };
  program.ipus = {whole(std::move(first), 0), whole(std::move(second), 1)};
  return program;
}

// Body of an IPU: [0] host call; IPU 0 for each micro-batch: stream in, F, exchange, exchange, B, exchange;
// IPU 1: exchange, F, B, stream out, exchange, exchange; then update, end.
std::vector<Step>& body(Program& program, int ipu) {
  return std::get<Repeat>(program.ipus[static_cast<std::size_t>(ipu)][0]).body;
}

std::string problem(const std::function<void(Program&)>& damage) {
  Program program = two_stages();
  damage(program);
  try {
    check(program);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "sound";
}

void erase(std::vector<Step>& steps, int index) { steps.erase(steps.begin() + index); }

TEST(Check, AcceptsASoundProgram) {
  EXPECT_EQ(problem([](Program&) {}), "sound");
}

TEST(Check, NamesScheduleIpuAndStep) {
  EXPECT_THAT(problem([](Program& p) { std::get<podsim::Run>(body(p, 1)[2]).micro_batch.offset = 1; }),
              AllOf(HasSubstr("schedule 'by hand'"), HasSubstr("IPU 1, step 2 (forward of stage 1)")));
}

TEST(Check, FindsASendWithoutReceive) {
  EXPECT_THAT(problem([](Program& p) { std::get<Exchange>(body(p, 1)[1]).receives.clear(); }),
              AllOf(HasSubstr("transfer 0 from IPU 0 stage 0 to IPU 1 stage 1 of micro-batch 0"),
                    HasSubstr("only one of its two sides")));
}

TEST(Check, FindsAReceiveWithoutSend) {
  EXPECT_THAT(problem([](Program& p) {
                std::get<Exchange>(body(p, 0)[4]).receives.push_back({1, {1}});
              }),
              AllOf(HasSubstr("transfer 1 from IPU 1 stage 1"), HasSubstr("micro-batch 1"), HasSubstr("two sides")));
}

TEST(Check, FindsATransferOfAnotherIpu) {
  EXPECT_THAT(problem([](Program& p) {
                std::get<Exchange>(body(p, 1)[1]).sends.push_back({0, {0}});
              }),
              HasSubstr("transfer 0 does not leave this IPU"));
  EXPECT_THAT(problem([](Program& p) {
                std::get<Exchange>(body(p, 0)[3]).receives.push_back({0, {0}});
              }),
              HasSubstr("transfer 0 does not come to this IPU"));
}

TEST(Check, FindsATransferToItself) {
  EXPECT_THAT(problem([](Program& p) { p.transfers[0].to_ipu = 0; }), HasSubstr("transfer 0 from IPU 0 to IPU 0"));
}

TEST(Check, FindsAnEmptyTransfer) {
  EXPECT_THAT(problem([](Program& p) { p.transfers[1].bytes = 0; }), HasSubstr("transfer 1"));
}

TEST(Check, FindsASendBeforeItsData) {
  EXPECT_THAT(problem([](Program& p) { std::swap(body(p, 0)[2], body(p, 0)[5]); }), HasSubstr("before"));
}

TEST(Check, FindsAPassThatRunsTwice) {
  EXPECT_THAT(problem([](Program& p) { body(p, 0).insert(body(p, 0).begin() + 3, run(0, Pass::Forward, 0)); }),
              HasSubstr("forward of stage 0 runs twice for micro-batch 0"));
  EXPECT_THAT(problem([](Program& p) { body(p, 0).insert(body(p, 0).begin() + 6, run(0, Pass::Backward, 0)); }),
              HasSubstr("backward of stage 0 runs twice for micro-batch 0"));
}

TEST(Check, FindsAMissingPass) {
  EXPECT_THAT(problem([](Program& p) { erase(body(p, 0), 11); }),
              AllOf(HasSubstr("IPU 0"), HasSubstr("1 micro-batches of stage 0 instead of 2")));
}

TEST(Check, FindsAMissingMicroBatchInInference) {
  EXPECT_THAT(problem([](Program& p) { p.execution.runs = 2; }), HasSubstr("instead of 4"));
}

TEST(Check, FindsAForwardPassBeforeItsActivation) {
  // The activation of micro-batch 1 has not been sent when stage 1 runs it in slot 1.
  EXPECT_THAT(problem([](Program& p) { std::get<podsim::Run>(body(p, 1)[2]).micro_batch.offset = 1; }),
              HasSubstr("forward of stage 1 runs before forward of stage 0 for micro-batch 1"));
  // Run, but not sent.
  EXPECT_THAT(problem([](Program& p) {
                std::get<Exchange>(body(p, 0)[3]).sends.clear();
                std::get<Exchange>(body(p, 1)[1]).receives.clear();
              }),
              HasSubstr("forward of stage 1 runs before the activation of micro-batch 0 has arrived from stage 0"));
}

TEST(Check, FindsTwoStagesInTheSameSlot) {
  EXPECT_THAT(problem([](Program& p) {
                p.transfers.erase(p.transfers.begin());  // nothing to send, and stage 1 starts with stage 0
                std::get<Exchange>(body(p, 0)[3]).sends.clear();
                std::get<Exchange>(body(p, 1)[1]).receives.clear();
                std::swap(body(p, 1)[1], body(p, 1)[2]);
              }),
              HasSubstr("forward of stage 1 runs before forward of stage 0 for micro-batch 0"));
}

TEST(Check, FindsABackwardPassBeforeItsForwardOrItsGradient) {
  EXPECT_THAT(problem([](Program& p) { std::swap(body(p, 1)[2], body(p, 1)[3]); }),
              HasSubstr("backward of stage 1 runs before its forward pass for micro-batch 0"));
  EXPECT_THAT(problem([](Program& p) { std::swap(body(p, 0)[4], body(p, 0)[5]); }),
              HasSubstr("backward of stage 0 runs before backward of stage 1 for micro-batch 0"));
  EXPECT_THAT(problem([](Program& p) {
                std::get<Exchange>(body(p, 0)[4]).receives.clear();
                std::get<Exchange>(body(p, 1)[5]).sends.clear();
              }),
              HasSubstr("backward of stage 0 runs before the gradient of micro-batch 0 has arrived from stage 1"));
}

TEST(Check, FindsWeightGradientsBeforeInputGradients) {
  EXPECT_THAT(problem([](Program& p) { std::get<podsim::Run>(body(p, 0)[5]).pass = Pass::BackwardWeights; }),
              HasSubstr("backward_weights of stage 0 runs before backward_input for micro-batch 0"));
}

TEST(Check, FindsARecomputeBeforeItsForward) {
  EXPECT_THAT(problem([](Program& p) { body(p, 0).insert(body(p, 0).begin() + 1, run(0, Pass::Recompute, 0)); }),
              HasSubstr("recompute of stage 0 runs before its forward pass for micro-batch 0"));
}

TEST(Check, FindsAStageOnTheWrongIpu) {
  EXPECT_THAT(problem([](Program& p) { std::get<podsim::Run>(body(p, 1)[2]).stage = 0; }),
              AllOf(HasSubstr("stage 0 lives on IPU 0"), HasSubstr("micro-batch 0"), HasSubstr("IPU 1")));
}

TEST(Check, FindsIndicesOutOfRange) {
  EXPECT_THAT(problem([](Program& p) { std::get<podsim::Run>(body(p, 1)[2]).stage = 2; }),
              HasSubstr("stage 2 is out of range, there are 2"));
  EXPECT_THAT(problem([](Program& p) { std::get<StreamIn>(body(p, 0)[1]).stream = -1; }),
              HasSubstr("stream -1 is out of range"));
  EXPECT_THAT(problem([](Program& p) { std::get<Exchange>(body(p, 0)[3]).sends[0].transfer = 7; }),
              HasSubstr("transfer 7 is out of range"));
  EXPECT_THAT(problem([](Program& p) { body(p, 0).insert(body(p, 0).begin(), RemoteLoad{0}); }),
              HasSubstr("buffer 0 is out of range"));
  EXPECT_THAT(problem([](Program& p) { body(p, 0).insert(body(p, 0).begin(), Collective{3}); }),
              HasSubstr("collective 3 is out of range"));
  EXPECT_THAT(problem([](Program& p) { p.ipu_of_stage[1] = 2; }), HasSubstr("stage 1 is on IPU 2"));
  EXPECT_THAT(problem([](Program& p) { p.ipu_of_stage.pop_back(); }), HasSubstr("ipu_of_stage"));
  EXPECT_THAT(problem([](Program& p) { p.ipus.pop_back(); }), HasSubstr("one step tree for each of the 2 IPUs"));
  EXPECT_THAT(problem([](Program& p) { p.streams[0].ipu = 9; }), HasSubstr("stream 'samples'"));
  EXPECT_THAT(problem([](Program& p) { p.buffers.push_back({0, 0, "nothing"}); }), HasSubstr("buffer 'nothing'"));
}

TEST(Check, FindsHostIoAtTheWrongPlaceOrTime) {
  EXPECT_THAT(problem([](Program& p) { erase(body(p, 0), 1); }),
              HasSubstr("forward of stage 0 runs before host input 'samples' of micro-batch 0 is there"));
  EXPECT_THAT(problem([](Program& p) {
                body(p, 0).insert(body(p, 0).begin() + 1, StreamIn{0, {0}});
              }),
              HasSubstr("host input 'samples' is read twice for micro-batch 0"));
  EXPECT_THAT(problem([](Program& p) {
                body(p, 1).insert(body(p, 1).begin() + 1, StreamOut{1, {0}});
              }),
              HasSubstr("result 'loss' is sent before forward of stage 1 for micro-batch 0"));
  EXPECT_THAT(problem([](Program& p) {
                body(p, 1).insert(body(p, 1).begin() + 1, StreamIn{0, {0}});
              }),
              HasSubstr("stream 'samples' is no input of this IPU"));
  EXPECT_THAT(problem([](Program& p) {
                body(p, 0).insert(body(p, 0).begin() + 4, StreamOut{1, {0}});
              }),
              HasSubstr("stream 'loss' is no result of this IPU"));
}

TEST(Check, FindsBuffersAndCollectivesOfAnotherIpu) {
  EXPECT_THAT(problem([](Program& p) {
                p.buffers.push_back({1, 5, "state"});
                body(p, 0).insert(body(p, 0).begin(), RemoteStore{0});
              }),
              HasSubstr("buffer 0 belongs to another IPU"));
  EXPECT_THAT(problem([](Program& p) {
                p.collectives.push_back({});
                p.collectives[0].name = "gradients";
                p.collectives[0].ipu = 1;
                body(p, 0).insert(body(p, 0).begin(), Collective{0});
              }),
              HasSubstr("collective 'gradients' is not of this IPU"));
}

TEST(Check, FindsDeadlocks) {
  EXPECT_THAT(problem([](Program& p) { erase(body(p, 1), 6); }), HasSubstr("has only one of its two sides"));
  EXPECT_THAT(problem([](Program& p) { body(p, 1).emplace_back(Sync{}); }),
              AllOf(HasSubstr("wait for each other"), HasSubstr("IPU 0, step 15 (end)"), HasSubstr("IPU 1"),
                    HasSubstr("(sync)")));
  EXPECT_THAT(problem([](Program& p) {
                body(p, 0).emplace_back(Sync{SyncScope::World});
                body(p, 1).emplace_back(Sync{SyncScope::Replica});
              }),
              HasSubstr("wait for each other"));
}

// Two collectives between the same two IPUs, met in opposite orders.
TEST(Check, FindsCollectivesInDifferentOrders) {
  const auto with = [](bool crossed) {
    return [crossed](Program& p) {
      for (int i = 0; i < 2; ++i) {
        CollectiveOperation operation;
        operation.ipus = {0, 1};
        p.collectives.push_back(operation);
      }
      body(p, 0).insert(body(p, 0).begin() + 1, {Collective{0}, Collective{1}});
      body(p, 1).insert(body(p, 1).begin() + 1, {Collective{crossed ? 1 : 0}, Collective{crossed ? 0 : 1}});
    };
  };
  EXPECT_EQ(problem(with(false)), "sound");
  EXPECT_THAT(problem(with(true)), AllOf(HasSubstr("wait for each other"), HasSubstr("(collective)")));
}

TEST(Check, LetsTheTwoParitiesOfALadderSyncMeetApart) {
  EXPECT_EQ(problem([](Program& p) { body(p, 0).insert(body(p, 0).begin() + 1, Sync{SyncScope::Ladder}); }), "sound");
}

TEST(Check, FindsRepeatsThatDoNotMeet) {
  EXPECT_THAT(problem([](Program& p) { std::get<Repeat>(p.ipus[1][0]).count = 2; }),
              AllOf(HasSubstr("repeat differs"), HasSubstr("IPU 1")));
  EXPECT_THAT(problem([](Program& p) {
                for (auto& tree : p.ipus) std::get<Repeat>(tree[0]).count = 0;
              }),
              HasSubstr("repeat count 0"));
}

TEST(Check, FindsMissingUpdatesAndHostCalls) {
  EXPECT_THAT(problem([](Program& p) { erase(body(p, 0), 13); }),
              HasSubstr("ends without exactly one weight update of stage 0"));
  EXPECT_THAT(problem([](Program& p) { erase(body(p, 1), 14); }), HasSubstr("IPU 1 ended 0 updates in 1 host calls"));
  EXPECT_THAT(problem([](Program& p) {
                erase(body(p, 0), 0);
                erase(body(p, 1), 0);
              }),
              HasSubstr("1 updates in 0 host calls instead of 1 in 1"));
}

// One IPU with two stages in inference; `steps` is the body of the run.
std::string inference_problem(std::int64_t iterations, std::vector<Step> steps) {
  Program program;
  program.schedule = "by hand";
  program.stages = 2;
  program.execution.mode = Mode::Inference;
  program.execution.device_iterations = iterations;
  program.ipu_of_stage = {0, 0};
  steps.insert(steps.begin(), HostCall{});
  steps.emplace_back(Repeat{iterations, 0, LoopKind::Other, {EndOfUpdate{}}});
  program.ipus = {{Repeat{1, iterations, LoopKind::Runs, std::move(steps)}}};
  try {
    check(program);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "sound";
}

Repeat forwards(int stage, std::int64_t first, std::int64_t count) {
  return {count, 1, LoopKind::MicroBatches, {run(stage, Pass::Forward, first), Exchange{}}};
}

// The first, second and last iterations of the loop over stage 1 are sound; micro-batch 5 of stage 0 comes too late.
TEST(Check, FindsAHoleInTheMiddleOfALoop) {
  EXPECT_EQ(inference_problem(10, {forwards(0, 0, 10), forwards(1, 0, 10)}), "sound");
  EXPECT_THAT(inference_problem(10, {forwards(0, 0, 5), forwards(0, 6, 4), forwards(1, 0, 10), forwards(0, 5, 1)}),
              HasSubstr("forward of stage 1 runs before forward of stage 0 for micro-batch 5"));
}

TEST(Check, FindsMicroBatchesThatDoNotExist) {
  EXPECT_THAT(inference_problem(3, {forwards(0, 0, 2), forwards(0, 3, 1), forwards(1, 0, 2), forwards(1, 3, 1)}),
              HasSubstr("of 3 micro-batches instead of 3"));
}

// Update 0 runs micro-batches 0 and 2, update 1 runs 1 and 3: complete in the end, but not at the first update.
TEST(Check, FindsMicroBatchesOfAnotherUpdate) {
  Program program;
  program.schedule = "by hand";
  program.stages = 1;
  program.ipu_of_stage = {0};
  program.execution.micro_batches = program.execution.device_iterations = 2;
  const auto update = [](std::int64_t first) {
    const auto pass = [&](Pass what) { return run(0, what, first); };
    return Repeat{2, 2, LoopKind::MicroBatches, {pass(Pass::Forward), pass(Pass::Backward), Exchange{}}};
  };
  const Step end = run(0, Pass::WeightUpdate, 1);
  program.ipus = {{HostCall{}, update(0), end, EndOfUpdate{}, update(1), end, EndOfUpdate{}}};
  EXPECT_THROW(check(program), InternalError);
}

// Iterations that begin with the exchange and end inside a slot; a million million of them cost nothing.
TEST(Check, IsQuickAlsoWhereAnIterationEndsInsideASlot) {
  constexpr std::int64_t kMany = 1'000'000'000'000;
  Program program;
  program.stages = program.ipus_per_replica = 2;
  program.execution.mode = Mode::Inference;
  program.execution.device_iterations = kMany;
  program.ipu_of_stage = {0, 1};
  program.transfers = {{0, 1, 0, 1, false, 10}};
  const auto loop = [](Step first, Step second) {
    return Repeat{kMany - 1, 1, LoopKind::MicroBatches, {std::move(first), std::move(second)}};
  };
  const Repeat ends{kMany, 0, LoopKind::Other, {EndOfUpdate{}}};
  program.ipus = {{HostCall{}, run(0, Pass::Forward, 0), loop(Exchange{{{0, {0}}}, {}}, run(0, Pass::Forward, 1)),
                   Exchange{{{0, {kMany - 1}}}, {}}, ends},
                  {HostCall{}, loop(Exchange{{}, {{0, {0}}}}, run(1, Pass::Forward, 0)),
                   Exchange{{}, {{0, {kMany - 1}}}}, run(1, Pass::Forward, kMany - 1), ends}};
  EXPECT_NO_THROW(check(program));
  std::get<podsim::Run>(program.ipus[1][3]).micro_batch.offset = kMany;
  EXPECT_THROW(check(program), InternalError);
}

}  // namespace
}  // namespace podsim
