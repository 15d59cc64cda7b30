// Soundness of a program, and its live micro-batches.
#include <string>

#include "simulator/core/error.hpp"
#include "simulator/program/analysis.hpp"
#include "simulator/program/walk.hpp"

namespace podsim {

namespace {

template <typename Problem>
void require(const Program& program, bool condition, const Problem& problem) {
  if (!condition) throw InternalError("schedule '" + program.schedule + "': " + problem());
}

bool is_ipu(const Program& program, int ipu) { return ipu >= 0 && ipu < program.ipus_per_replica; }

bool is_stage(const Program& program, int stage) { return stage >= 0 && stage < program.stages; }

void check_tables(const Program& program) {
  require(program, program.stages > 0 && program.ipu_of_stage.size() == static_cast<std::size_t>(program.stages), [&] {
    return "ipu_of_stage has not one entry for each of the " + std::to_string(program.stages) + " stages";
  });
  require(program, program.ipus.size() == static_cast<std::size_t>(program.ipus_per_replica), [&] {
    return "there is not one step tree for each of the " + std::to_string(program.ipus_per_replica) + " IPUs";
  });
  for (std::size_t stage = 0; stage < program.ipu_of_stage.size(); ++stage) {
    const int first = program.ipu_of_stage[stage];
    require(program,
            is_ipu(program, first) && is_ipu(program, first + program.ipus_per_stage - 1) &&
                first % program.ipus_per_stage == 0,
            [&] { return "stage " + std::to_string(stage) + " is on IPU " + std::to_string(first); });
  }
  for (std::size_t i = 0; i < program.transfers.size(); ++i) {
    const Transfer& transfer = program.transfers[i];
    require(program,
            is_stage(program, transfer.from_stage) && is_stage(program, transfer.to_stage) &&
                is_ipu(program, transfer.from_ipu) && is_ipu(program, transfer.to_ipu) &&
                transfer.from_ipu != transfer.to_ipu && transfer.bytes > 0,
            [&] {
              return "transfer " + std::to_string(i) + " from IPU " + std::to_string(transfer.from_ipu) + " to IPU " +
                     std::to_string(transfer.to_ipu) + " of " + std::to_string(transfer.bytes) + " bytes";
            });
  }
  for (const HostStream& stream : program.streams) {
    require(program, is_stage(program, stream.stage) && is_ipu(program, stream.ipu),
            [&] { return "stream '" + stream.name + "'"; });
  }
  for (const RemoteBuffer& buffer : program.buffers) {
    require(program, is_ipu(program, buffer.ipu) && buffer.bytes > 0, [&] { return "buffer '" + buffer.name + "'"; });
  }
}

}  // namespace

void check(const Program& program) {
  check_tables(program);
  Walk(program).run();
}

std::vector<std::int64_t> live_micro_batches(const Program& program) {
  check_tables(program);
  Walk walk(program);
  walk.run();
  return walk.live();
}

std::vector<std::int64_t> stash_micro_batches(const Program& program) {
  std::vector<std::int64_t> sizes = live_micro_batches(program);
  for (std::int64_t& size : sizes) size += program.receive_buffers;
  return sizes;
}

}  // namespace podsim
