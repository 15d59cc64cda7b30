// The contract of every registered schedule, over stages, placements, micro-batches, replicas, modes and locations.
// The facts are counted from the program with all repeats followed, not by check().
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <tuple>

#include "simulator/core/error.hpp"
#include "tests/unit/schedules/models.hpp"
#include "tests/unit/schedules/slot_time.hpp"
#include "tests/unit/schedules/steps.hpp"

namespace podsim {

namespace {

struct Case {
  const Schedule* schedule = nullptr;
  Value::Object options;
  StagedModel model;
  Execution execution;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << c.schedule->name();
  for (const auto& [key, value] : c.options) out << ' ' << key << '=' << (value.is_text() ? value.text() : "bool");
  out << ", ipus";
  for (const Stage& stage : c.model.stages) out << ' ' << stage.ipu;
  out << ", " << c.model.ipus_per_stage << " for each stage";
  return out << ", mode " << static_cast<int>(c.execution.mode) << ", M " << c.execution.micro_batches << ", D "
             << c.execution.device_iterations << ", runs " << c.execution.runs << ", R " << c.execution.replicas;
}

// One IPU for each stage; the last stage back on IPU 0 (embedding and head of BERT); or two stages for each IPU.
std::vector<int> placement(int stages) {
  const int kind = *rc::gen::inRange(0, 3);
  std::vector<int> ipus;
  for (int i = 0; i < stages; ++i) ipus.push_back(kind == 2 ? i / 2 : i);
  if (kind == 1) ipus.back() = 0;
  return ipus;
}

VariableLocation location(int replicas) {
  VariableLocation result;
  result.off_chip = *rc::gen::arbitrary<bool>();
  result.sharded = replicas > 1 && *rc::gen::arbitrary<bool>();
  return result;
}

Execution execution(int stages) {
  Execution result;
  result.mode = *rc::gen::element(Mode::Training, Mode::Inference);
  const bool trains = result.mode == Mode::Training;
  // Multiples of 2N fit all orders; other numbers must be refused or run.
  const std::int64_t many = 2 * stages * *rc::gen::inRange(1, 5);
  const std::int64_t any = *rc::gen::inRange(1, 40);
  const std::int64_t micro_batches = *rc::gen::inRange(0, 4) > 0 ? many : any;
  result.micro_batches = trains ? micro_batches : 1;
  result.device_iterations = trains ? *rc::gen::inRange(1, 5) : micro_batches;
  result.runs = *rc::gen::inRange(1, 4);
  result.replicas = *rc::gen::element(1, 2, 4);
  result.recompute = trains && *rc::gen::arbitrary<bool>();
  result.output_mode = *rc::gen::element(OutputMode::All, OutputMode::Sum, OutputMode::Final, OutputMode::EveryN);
  result.output_period = result.output_mode == OutputMode::EveryN ? *rc::gen::element<std::int64_t>(1, 2, stages) : 1;
  result.update_order = *rc::gen::element(UpdateOrder::Serial, UpdateOrder::Overlapped);
  result.sync_pattern =
      *rc::gen::element(SyncPattern::Full, SyncPattern::SinglePipeline, SyncPattern::ReplicaAndLadder);
  result.io_overlap =
      *rc::gen::element(IoOverlap::None, IoOverlap::None, IoOverlap::AccumulationLoop, IoOverlap::DeviceIterationLoop);
  result.weights = location(result.replicas);
  if (trains) {
    result.accumulators = location(result.replicas);
    result.optimizer_state = location(result.replicas);
    result.activations.off_chip = *rc::gen::arbitrary<bool>();
  }
  return result;
}

Value::Object options_of(const Schedule& schedule) {
  Value::Object values;
  for (const Option& option : schedule.options()) {
    if (option.type == OptionType::Choice) values.emplace_back(option.name, *rc::gen::elementOf(option.choices));
    if (option.type == OptionType::Boolean) values.emplace_back(option.name, *rc::gen::arbitrary<bool>());
  }
  return values;
}

Case any_case(const Schedule& schedule) {
  const int stages = *rc::gen::inRange(1, 9);
  const int ipus_per_stage = *rc::gen::element(1, 1, 2, 4);
  StagedModel model = staged_model(placement(stages));
  if (ipus_per_stage > 1) model = shared_by(ipus_per_stage, std::move(model));
  return {&schedule, options_of(schedule), std::move(model), execution(stages)};
}

// A program, or nothing where the combination is refused; a refusal says how to mend it.
std::optional<Program> emit(const Case& c) {
  try {
    return emit(c.schedule->name(), c.model, c.execution, c.options);
  } catch (const UserError& error) {
    RC_ASSERT(!error.remedy().empty());
    RC_ASSERT(!error.where().empty());
    return std::nullopt;
  }
}

using Passes = std::map<std::tuple<int, Pass>, std::vector<std::int64_t>>;  // micro-batches in the order of execution

// Of the IPUs that are `member` of their stages.
Passes passes_of(const Program& program, int member) {
  Passes passes;
  for (int ipu = member; ipu < program.ipus_per_replica; ipu += program.ipus_per_stage) {
    for (const auto& run : executed<podsim::Run>(program, ipu)) {
      passes[{run.step.stage, run.step.pass}].push_back(run.base + run.step.micro_batch.offset);
    }
  }
  return passes;
}

// Each micro-batch of the whole program exactly once.
void expect_each_once(std::vector<std::int64_t> micro_batches, std::int64_t count) {
  std::sort(micro_batches.begin(), micro_batches.end());
  RC_ASSERT(static_cast<std::int64_t>(micro_batches.size()) == count);
  for (std::int64_t i = 0; i < count; ++i) RC_ASSERT(micro_batches[static_cast<std::size_t>(i)] == i);
}

void append_unrolled(const std::vector<Step>& body, std::int64_t base, std::vector<Step>& result) {
  for (const Step& step : body) {
    if (const auto* loop = std::get_if<Repeat>(&step)) {
      for (std::int64_t i = 0; i < loop->count; ++i) append_unrolled(loop->body, base + i * loop->stride, result);
      continue;
    }
    result.push_back(step);
    if (auto* run = std::get_if<podsim::Run>(&result.back())) run->micro_batch.offset += base;
    if (auto* in = std::get_if<StreamIn>(&result.back())) in->micro_batch.offset += base;
    if (auto* out = std::get_if<StreamOut>(&result.back())) out->micro_batch.offset += base;
    if (auto* exchange = std::get_if<Exchange>(&result.back())) {
      for (ExchangeMove& move : exchange->sends) move.micro_batch.offset += base;
      for (ExchangeMove& move : exchange->receives) move.micro_batch.offset += base;
    }
  }
}

Program unrolled(const Program& program) {
  Program result = program;
  for (std::vector<Step>& tree : result.ipus) {
    const std::vector<Step> body = std::move(tree);
    tree.clear();
    append_unrolled(body, 0, tree);
  }
  return result;
}

// The most micro-batches between forward and backward, by following every step of the stage's IPU.
std::int64_t live_by_counting(const Program& program, int stage) {
  std::int64_t live = 0, most = 0;
  for (const auto& run : executed<podsim::Run>(program, program.ipu_of_stage[static_cast<std::size_t>(stage)])) {
    if (run.step.stage != stage) continue;
    live += run.step.pass == Pass::Forward ? 1 : 0;
    live -= run.step.pass == Pass::Backward || run.step.pass == Pass::BackwardWeights ? 1 : 0;
    most = std::max(most, live);
  }
  return most;
}

// Every pass of every micro-batch once, and what the IPUs of a stage exchange once for each of them.
void expect_passes(const Program& program, int member, std::int64_t total, std::int64_t updates) {
  const bool trains = program.execution.mode == Mode::Training;
  Passes passes = passes_of(program, member);
  for (int stage = 0; stage < program.stages; ++stage) {
    expect_each_once(passes[{stage, Pass::Forward}], total);
    const auto& whole = passes[{stage, Pass::Backward}];
    const auto& inputs = passes[{stage, Pass::BackwardInput}];
    const auto& weights = passes[{stage, Pass::BackwardWeights}];
    RC_ASSERT(whole.empty() || inputs.empty());
    expect_each_once(inputs.empty() ? whole : inputs, trains ? total : 0);
    if (!inputs.empty()) expect_each_once(weights, total);
    RC_ASSERT(passes[(std::tuple{stage, Pass::WeightUpdate})].size() == static_cast<std::size_t>(trains ? updates : 0));
    const std::size_t recomputed =
        passes[{stage, Pass::Recompute}].size() + passes[{stage, Pass::RecomputePartial}].size();
    RC_ASSERT(recomputed == static_cast<std::size_t>(program.execution.recompute ? total : 0));
  }
  std::size_t runs = 0, exchanges = 0;
  for (int ipu = member; ipu < program.ipus_per_replica; ipu += program.ipus_per_stage) {
    for (const auto& run : executed<podsim::Run>(program, ipu)) {
      const bool backward = run.step.pass == Pass::Backward || run.step.pass == Pass::BackwardInput;
      runs += backward ? 2 : run.step.pass == Pass::WeightUpdate || run.step.pass == Pass::BackwardWeights ? 0 : 1;
    }
    for (const auto& collective : executed<Collective>(program, ipu)) {
      const auto& operation = program.collectives[static_cast<std::size_t>(collective.step.collective)];
      if (operation.ipus.empty()) continue;
      ++exchanges;
      RC_ASSERT(std::count(operation.ipus.begin(), operation.ipus.end(), ipu) == 1);
      RC_ASSERT(static_cast<int>(operation.ipus.size()) == program.ipus_per_stage);
    }
  }
  RC_ASSERT(exchanges == (program.ipus_per_stage > 1 ? runs : 0));
}

void expect_contract(const Case& c) {
  const std::optional<Program> emitted = emit(c);
  RC_TAG(emitted.has_value() ? c.schedule->name() : c.schedule->name() + " refused");
  if (!emitted) return;
  const Program& program = *emitted;
  check(program);

  const bool trains = c.execution.mode == Mode::Training;
  const std::int64_t updates = c.execution.runs * (trains ? c.execution.device_iterations : 1);
  const std::int64_t total = updates * (trains ? c.execution.micro_batches : c.execution.device_iterations);
  for (int member = 0; member < program.ipus_per_stage; ++member) expect_passes(program, member, total, updates);

  for (int ipu = 0; ipu < program.ipus_per_replica; ++ipu) {
    RC_ASSERT(static_cast<std::int64_t>(executed<Exchange>(program, ipu).size()) == updates * program.slots_per_update);
    RC_ASSERT(static_cast<std::int64_t>(executed<HostCall>(program, ipu).size()) == c.execution.runs);
  }

  const Program flat = unrolled(program);
  check(flat);
  const std::vector<std::int64_t> live = live_micro_batches(program);
  RC_ASSERT(live == live_micro_batches(flat));
  const std::vector<std::int64_t> stash = stash_micro_batches(program);
  for (int stage = 0; stage < program.stages; ++stage) {
    const auto index = static_cast<std::size_t>(stage);
    RC_ASSERT(live[index] == (trains ? live_by_counting(program, stage) : 1));
    RC_ASSERT(live[index] <= stash[index]);
  }
}

TEST(Contract, EverySchedule) {
  for (const Schedule* schedule : schedules()) {
    EXPECT_TRUE(rc::check(schedule->name(), [schedule] {
      const Case c = any_case(*schedule);
      RC_LOG() << c << std::endl;
      expect_contract(c);
    }));
  }
}

// All stages, all small and large M, both modes, without any other option: nothing left to chance.
TEST(Contract, EveryNumberOfStagesAndMicroBatches) {
  for (const Schedule* schedule : schedules()) {
    for (int stages = 1; stages <= 8; ++stages) {
      for (const std::int64_t factor : {1, 2, 3, 1'000'000}) {
        const std::int64_t micro_batches = 2 * stages * factor;
        for (const Execution& execution : {training(micro_batches, 2), inference(micro_batches)}) {
          const Program program = emit(schedule->name(), chain(stages), execution);
          EXPECT_NO_THROW(check(program)) << schedule->name() << ' ' << stages << ' ' << micro_batches;
        }
      }
    }
  }
}

// With the same stage times everywhere, a schedule that does more at once is never slower.
TEST(Theory, MoreAtOnceIsNeverSlower) {
  EXPECT_TRUE(rc::check([] {
    const int stages = *rc::gen::inRange(1, 9);
    const std::int64_t micro_batches = 2 * stages * *rc::gen::inRange(1, 5);
    const double forward = *rc::gen::inRange(1, 50), backward = *rc::gen::inRange(1, 50);
    const auto time = [&](const char* schedule, Value::Object options = {}) {
      return slot_time(emit(schedule, chain(stages), training(micro_batches), std::move(options)),
                       uniform(forward, backward));
    };
    const double popart = time("pipelined");
    const double interleaved = time("pipelined", {{"order", "interleaved"}});
    RC_ASSERT(popart == time("pipelined", {{"order", "grouped"}}));
    if (backward >= forward) RC_ASSERT(popart <= interleaved);
    RC_ASSERT(popart <= time("sharded"));
    RC_ASSERT(time("sharded") == time("pipelined", {{"order", "sequential"}}));
    if (forward >= backward / 2) RC_ASSERT(time("zero_bubble") <= popart);
  }));
}

// The share of the ramps falls with gradient accumulation.
TEST(Theory, MoreAccumulationIsNeverSlowerPerMicroBatch) {
  EXPECT_TRUE(rc::check([] {
    const int stages = *rc::gen::inRange(1, 9);
    const std::int64_t few = 2 * stages * *rc::gen::inRange(1, 5), more = few + 2 * stages;
    const auto order = *rc::gen::elementOf(std::vector<std::string>{"popart", "grouped", "interleaved"});
    const auto per_micro_batch = [&](std::int64_t micro_batches) {
      return slot_time(emit("pipelined", chain(stages), training(micro_batches), {{"order", order}}), uniform(3, 7)) /
             static_cast<double>(micro_batches);
    };
    RC_ASSERT(per_micro_batch(more) <= per_micro_batch(few) * (1 + 1e-12));
  }));
}

}  // namespace
}  // namespace podsim
