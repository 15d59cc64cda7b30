// The nest of a program: runs of device iterations of slots and weight updates.
#include "schedules/assemble.hpp"

#include <utility>

#include "schedules/passes.hpp"
#include "schedules/share_stages.hpp"
#include "schedules/tables.hpp"
#include "schedules/weight_update.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

// Who waits where an IPU reads from the host. Full: both sync groups are all IPUs, so everyone; single pipeline: each
// IPU for itself; replica and ladder: the IPUs of equal parity (PopART performance guide, SyncPattern).
std::optional<SyncScope> host_sync(const Execution& execution, int ipus_per_replica) {
  switch (execution.sync_pattern) {
    case SyncPattern::Full:
      if (execution.replicas > 1) return SyncScope::World;
      return ipus_per_replica > 1 ? std::optional(SyncScope::Replica) : std::nullopt;
    case SyncPattern::SinglePipeline: return std::nullopt;
    case SyncPattern::ReplicaAndLadder: return ipus_per_replica > 2 ? std::optional(SyncScope::Ladder) : std::nullopt;
  }
  throw InternalError("unknown sync pattern");
}

void check_output(const Execution& execution, const std::string& where) {
  if (execution.output_mode != OutputMode::EveryN) return;
  const std::int64_t period = execution.output_period;
  const std::int64_t micro_batches = micro_batches_per_drain(execution);
  const std::int64_t iterations = execution.mode == Mode::Training ? execution.device_iterations : 1;
  if (execution.io_overlap != IoOverlap::None) {
    throw UserError(where, "output every " + std::to_string(period) + " micro-batches does not go with overlapped IO",
                    "use the output mode all or final");
  }
  const bool inside = period >= 1 && micro_batches % period == 0;
  const bool across = period >= 1 && period % micro_batches == 0 && iterations % (period / micro_batches) == 0;
  if (!inside && !across) {
    throw UserError(where,
                    "output period " + std::to_string(period) + " neither divides the " +
                        std::to_string(micro_batches) +
                        " micro-batches between two drains nor is a multiple of them that divides the run",
                    "choose a divisor of " + std::to_string(micro_batches));
  }
}

void check_execution(const Execution& execution, const Scheme& scheme) {
  if (execution.micro_batches < 1 || execution.device_iterations < 1 || execution.runs < 1 || execution.replicas < 1) {
    throw UserError(scheme.where, "gradient_accumulation_steps, device_iterations, runs and replicas are at least 1",
                    "set them to positive numbers");
  }
  if (execution.io_overlap != IoOverlap::None && !scheme.host_overlap) {
    throw UserError(scheme.where,
                    "schedule \"" + scheme.name + "\" cannot overlap host IO with compute on " +
                        std::to_string(scheme.ipus_per_replica) + " IPUs",
                    "use one IPU per replica or the popart or grouped pipeline, or set io_overlap to none");
  }
  check_output(execution, scheme.where);
}

class Assembler {
 public:
  Assembler(const StagedModel& model, const Execution& execution, const Scheme& scheme, Program& program)
      : execution_(execution),
        scheme_(scheme),
        program_(program),
        tables_(model, execution, scheme, program),
        passes_(timetable_of_passes(execution, scheme, tables_, program)) {
    passes_.host_sync = host_sync(execution, scheme.ipus_per_replica * scheme.ipus_per_stage);
  }

  void assemble() {
    program_.slots_per_update = passes_.slots();
    Trees run(static_cast<std::size_t>(scheme_.ipus_per_replica));
    for (std::vector<Step>& tree : run) tree.emplace_back(HostCall{});
    if (execution_.mode == Mode::Training) {
      device_iterations(run);
    } else {
      Timetable timetable = passes_;
      add_streams(timetable, execution_, scheme_, program_, {});
      emit_slots(timetable, 0, run);
    }
    final_results(run);
    Trees whole(run.size());
    append_repeat(whole, execution_.runs, micro_batches_per_run(), LoopKind::Runs, std::move(run));
    program_.ipus = std::move(whole);
    if (scheme_.ipus_per_stage > 1) share_stages(program_, scheme_.ipus_per_stage, tables_.streams_everywhere());
  }

 private:
  [[nodiscard]] std::int64_t micro_batches_per_run() const {
    return execution_.device_iterations * (execution_.mode == Mode::Training ? execution_.micro_batches : 1);
  }

  void update(Trees& trees, std::int64_t base, const IterationVariant& variant) {
    Timetable timetable = passes_;
    add_streams(timetable, execution_, scheme_, program_, variant);
    emit_slots(timetable, base, trees);
    append_weight_update(trees, execution_, scheme_, tables_, base + execution_.micro_batches - 1);
    for (std::vector<Step>& tree : trees) tree.emplace_back(EndOfUpdate{});
  }

  void updates(Trees& trees, std::int64_t count, std::int64_t base, const IterationVariant& variant) {
    if (count <= 0) return;
    Trees body(trees.size());
    update(body, base, variant);
    append_repeat(trees, count, execution_.micro_batches, LoopKind::DeviceIterations, std::move(body));
  }

  void device_iterations(Trees& trees) {
    const std::int64_t iterations = execution_.device_iterations, step = execution_.micro_batches;
    const bool every = execution_.output_mode == OutputMode::EveryN && execution_.output_period > step;
    if (execution_.io_overlap == IoOverlap::DeviceIterationLoop && iterations > 1) {
      update(trees, 0, {true, false, true});
      updates(trees, iterations - 2, step, {false, false, true});
      update(trees, (iterations - 1) * step, {false, true, true});
    } else if (every) {
      const std::int64_t together = execution_.output_period / step;
      Trees body(trees.size());
      updates(body, together - 1, 0, {true, true, false});
      update(body, (together - 1) * step, {});
      append_repeat(trees, iterations / together, execution_.output_period, LoopKind::DeviceIterations,
                    std::move(body));
    } else {
      updates(trees, iterations, 0, {});
    }
  }

  // The last result of a run, or the sum of all, once per run.
  void final_results(Trees& trees) const {
    if (execution_.output_mode != OutputMode::Final && execution_.output_mode != OutputMode::Sum) return;
    for (std::size_t i = 0; i < program_.streams.size(); ++i) {
      const HostStream& stream = program_.streams[i];
      if (stream.input) continue;
      trees[static_cast<std::size_t>(stream.ipu)].emplace_back(
          StreamOut{static_cast<int>(i), {micro_batches_per_run() - 1}, false});
    }
  }

  const Execution& execution_;
  const Scheme& scheme_;
  Program& program_;
  Tables tables_;
  Timetable passes_;
};

}  // namespace

std::int64_t micro_batches_per_drain(const Execution& execution) {
  return execution.mode == Mode::Training ? execution.micro_batches : execution.device_iterations;
}

Scheme scheme_of(std::string name, std::string where, const StagedModel& model) {
  Scheme scheme;
  scheme.name = std::move(name);
  scheme.where = std::move(where);
  scheme.ipus_per_stage = model.ipus_per_stage;
  scheme.ipus_per_replica = model.ipus_per_replica / model.ipus_per_stage;
  for (const Stage& stage : model.stages) scheme.ipu_of_stage.push_back(stage.ipu / model.ipus_per_stage);
  scheme.host_overlap = scheme.ipus_per_replica == 1;
  return scheme;
}

Program assemble(const StagedModel& model, const Execution& execution, const Scheme& scheme) {
  check_execution(execution, scheme);
  Program program;
  program.schedule = scheme.name;
  program.stages = static_cast<int>(model.stages.size());
  program.ipus_per_replica = scheme.ipus_per_replica;
  program.replicas = execution.replicas;
  program.execution = execution;
  program.ipu_of_stage = scheme.ipu_of_stage;
  program.receive_buffers = scheme.receive_buffers;
  program.updates_one_tensor_at_a_time = scheme.update_traffic == UpdateTraffic::Interleaving;
  Assembler(model, execution, scheme, program).assemble();
  return program;
}

}  // namespace podsim
