// How the IPUs of a replica advance together: local steps, meetings, repeats. What the steps mean is in
// walk_steps.cpp.
#include "simulator/program/walk.hpp"

#include <algorithm>

#include "simulator/core/error.hpp"

namespace podsim {

bool has_meeting(const std::vector<Step>& body) {
  return std::any_of(body.begin(), body.end(), [](const Step& step) {
    if (const auto* repeat = std::get_if<Repeat>(&step)) return has_meeting(repeat->body);
    return std::holds_alternative<Exchange>(step) || std::holds_alternative<Sync>(step) ||
           std::holds_alternative<Collective>(step) || std::holds_alternative<HostCall>(step);
  });
}

std::string describe(const Step& step) {
  if (const auto* run = std::get_if<Run>(&step)) {
    return std::string(name_of(run->pass)) + " of stage " + std::to_string(run->stage);
  }
  if (const auto* repeat = std::get_if<Repeat>(&step)) return "repeat of " + std::to_string(repeat->count);
  static constexpr const char* kNames[] = {"run",         "exchange",     "stream in",    "stream out",
                                           "remote load", "remote store", "remote wait",  "collective",
                                           "sync",        "host call",    "end of update"};
  return kNames[step.index()];
}

Walk::Walk(const Program& program) : program_(program) {
  const auto stages = static_cast<std::size_t>(program.stages);
  places_ = stages * static_cast<std::size_t>(program.ipus_per_stage);
  state_.sets.resize(4 * places_ + program.transfers.size() + program.streams.size());
  state_.counters.resize(places_ + 2 * program.ipus.size());
  live_.assign(stages, 0);
  inputs_.resize(places_);
  for (std::size_t i = 0; i < program.transfers.size(); ++i) {
    const Transfer& transfer = program.transfers[i];
    Inputs& inputs = inputs_[place(transfer.to_stage, transfer.to_ipu)];
    (transfer.gradient ? inputs.gradients : inputs.activations).push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < program.streams.size(); ++i) {
    if (!program.streams[i].input) continue;
    const HostStream& stream = program.streams[i];
    inputs_[place(stream.stage, stream.ipu)].streams.push_back(static_cast<int>(i));
  }
  micro_batches_per_update_ = program.execution.mode == Mode::Training ? program.execution.micro_batches : 1;
}

void Walk::run() {
  std::vector<Cursor> cursors;
  for (std::size_t ipu = 0; ipu < program_.ipus.size(); ++ipu) {
    cursors.push_back({static_cast<int>(ipu), &program_.ipus[ipu], 0});
  }
  walk(std::move(cursors), 0);
  require_complete();
}

void Walk::walk(std::vector<Cursor> cursors, std::int64_t base) {
  while (true) {
    for (Cursor& cursor : cursors) local_steps(cursor, base);
    if (std::all_of(cursors.begin(), cursors.end(), [](const Cursor& cursor) { return cursor.finished(); })) return;
    if (!meet(cursors, base)) fail(cursors, "the IPUs wait for each other at different steps");
  }
}

// Everything up to the next step at which IPUs meet.
void Walk::local_steps(Cursor& cursor, std::int64_t base) {
  for (; !cursor.finished(); ++cursor.position) {
    const Step& step = cursor.step();
    if (const auto* loop = std::get_if<Repeat>(&step)) {
      if (has_meeting(loop->body)) return;
      repeat({cursor}, base);
    } else if (const auto* run = std::get_if<Run>(&step)) {
      execute(cursor, *run, base);
    } else if (const auto* stream_in = std::get_if<StreamIn>(&step)) {
      execute(cursor, *stream_in, base);
    } else if (const auto* stream_out = std::get_if<StreamOut>(&step)) {
      execute(cursor, *stream_out, base);
    } else if (const auto* load = std::get_if<RemoteLoad>(&step)) {
      execute(cursor, *load, base);
    } else if (const auto* store = std::get_if<RemoteStore>(&step)) {
      execute(cursor, *store, base);
    } else if (const auto* end = std::get_if<EndOfUpdate>(&step)) {
      execute(cursor, *end, base);
    } else if (const auto* collective = std::get_if<Collective>(&step)) {
      execute(cursor, *collective, base);
      if (members(step, cursor.ipu).size() > 1) return;
    } else if (!std::holds_alternative<RemoteWait>(step)) {
      return;  // Exchange, Sync, HostCall
    }
  }
}

bool Walk::meet(std::vector<Cursor>& cursors, std::int64_t base) {
  return meet_all(cursors, base) || meet_some(cursors);
}

bool Walk::meet_all(std::vector<Cursor>& cursors, std::int64_t base) {
  if (std::any_of(cursors.begin(), cursors.end(), [](const Cursor& cursor) { return cursor.finished(); })) return false;
  const std::size_t kind = cursors.front().step().index();
  for (const Cursor& cursor : cursors) {
    if (cursor.step().index() != kind) return false;
  }
  const Step& step = cursors.front().step();
  if (std::holds_alternative<Exchange>(step)) {
    exchange(cursors, base);
  } else if (std::holds_alternative<Repeat>(step)) {
    repeat(cursors, base);
  } else if (const auto* sync = std::get_if<Sync>(&step)) {
    const bool same = std::all_of(cursors.begin(), cursors.end(), [&](const Cursor& cursor) {
      return std::get<Sync>(cursor.step()).scope == sync->scope;
    });
    if (!same || sync->scope == SyncScope::Ladder) return false;
    state_.fresh.clear();
  } else if (std::holds_alternative<HostCall>(step)) {
    for (const Cursor& cursor : cursors) {
      const auto ipu = static_cast<std::size_t>(cursor.ipu);
      ++state_.counters[places_ + program_.ipus.size() + ipu];
    }
  } else {
    return false;  // a collective of some IPUs
  }
  for (Cursor& cursor : cursors) ++cursor.position;
  return true;
}

// The IPUs that must be at `step` together with `ipu`, where that is only a part of the replica.
std::vector<int> Walk::members(const Step& step, int ipu) const {
  if (const auto* collective = std::get_if<Collective>(&step)) {
    return program_.collectives[static_cast<std::size_t>(collective->collective)].ipus;
  }
  std::vector<int> result;
  const auto* sync = std::get_if<Sync>(&step);
  if (sync == nullptr || sync->scope != SyncScope::Ladder) return result;
  for (int other = ipu % 2; other < program_.ipus_per_replica; other += 2) result.push_back(other);
  return result;
}

// Lets the first group of IPUs pass that stands complete at a collective of its own or a ladder sync.
bool Walk::meet_some(std::vector<Cursor>& cursors) {
  for (const Cursor& cursor : cursors) {
    if (cursor.finished()) continue;
    const Step& step = cursor.step();
    std::vector<Cursor*> group;
    for (const int member : members(step, cursor.ipu)) {
      for (Cursor& other : cursors) {
        if (other.ipu != member || other.finished() || other.step().index() != step.index()) continue;
        const auto* mine = std::get_if<Collective>(&step);
        if (mine == nullptr || std::get<Collective>(other.step()).collective == mine->collective) {
          group.push_back(&other);
        }
      }
    }
    if (group.empty() || group.size() != members(step, cursor.ipu).size()) continue;
    for (Cursor* member : group) ++member->position;
    return true;
  }
  return false;
}

void Walk::repeat(const std::vector<Cursor>& cursors, std::int64_t base) {
  const auto& loop = std::get<Repeat>(cursors.front().step());
  std::vector<Cursor> inside;
  for (const Cursor& cursor : cursors) {
    const auto& other = std::get<Repeat>(cursor.step());
    if (other.count != loop.count || other.stride != loop.stride || has_meeting(other.body) != has_meeting(loop.body)) {
      fail(cursor,
           "its repeat differs in count, stride or meetings from that of IPU " + std::to_string(cursors.front().ipu));
    }
    if (other.count < 1) fail(cursor, "repeat count " + std::to_string(other.count));
    inside.push_back({cursor.ipu, &other.body, 0});
  }
  for (std::int64_t iteration = 0; iteration < loop.count; ++iteration) {
    const WalkState before = iteration + 2 < loop.count ? state_ : WalkState{};
    walk(inside, base + iteration * loop.stride);
    const std::int64_t middle = loop.count - 2 - iteration;
    if (middle > 0 && skip(before, loop.stride, middle)) iteration += middle;
  }
}

// Where the iteration just done only moved the state along by its stride, all further ones do the same: what a
// step asks for is either moved as well, or complete and fixed, and then the last iteration is the hardest. So
// the state is moved to the beginning of the last iteration, which is walked again.
bool Walk::skip(const WalkState& before, std::int64_t stride, std::int64_t iterations) {
  const bool same_slot = std::equal(state_.fresh.begin(), state_.fresh.end(), before.fresh.begin(), before.fresh.end(),
                                    [&](const WalkState::Fresh& now, const WalkState::Fresh& then) {
                                      return now.first == then.first && now.second == then.second + stride;
                                    });
  if (!same_slot) return false;
  std::vector<bool> moved(state_.sets.size());
  for (std::size_t i = 0; i < state_.sets.size(); ++i) {
    const bool fixed = state_.sets[i].contiguous() && state_.sets[i] == before.sets[i];
    moved[i] = !fixed;
    if (!fixed && !state_.sets[i].is_shifted(before.sets[i], stride)) return false;
  }
  for (std::size_t i = 0; i < state_.sets.size(); ++i) {
    if (moved[i]) state_.sets[i].shift(stride * iterations);
  }
  for (WalkState::Fresh& fresh : state_.fresh) fresh.second += stride * iterations;
  for (std::size_t i = 0; i < state_.counters.size(); ++i) {
    state_.counters[i] += iterations * (state_.counters[i] - before.counters[i]);
  }
  return true;
}

void Walk::fail(const Cursor& cursor, const std::string& problem) const { fail(std::vector<Cursor>{cursor}, problem); }

void Walk::fail(const std::vector<Cursor>& cursors, const std::string& problem) const {
  std::string where;
  for (const Cursor& cursor : cursors) {
    where += (where.empty() ? "" : "; ") + std::string("IPU ") + std::to_string(cursor.ipu) + ", step " +
             std::to_string(cursor.position) + " (" + (cursor.finished() ? "end" : describe(cursor.step())) + ")";
  }
  throw InternalError("schedule '" + program_.schedule + "': " + problem + ": " + where);
}

}  // namespace podsim
