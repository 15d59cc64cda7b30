// Finds the stretches of a timetable that repeat, and writes them as repeats.
#include "schedules/timetable.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace podsim {

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

std::int64_t first_slot(const Occurrence& when, std::int64_t period) { return period * when.first + when.offset; }

std::int64_t last_slot(const Occurrence& when, std::int64_t period) { return period * (when.end - 1) + when.offset; }

void set_micro_batch(Step& step, std::int64_t micro_batch) {
  if (auto* run = std::get_if<Run>(&step)) run->micro_batch.offset = micro_batch;
  if (auto* stream = std::get_if<StreamIn>(&step)) stream->micro_batch.offset = micro_batch;
  if (auto* result = std::get_if<StreamOut>(&step)) result->micro_batch.offset = micro_batch;
}

class SlotWriter {
 public:
  SlotWriter(const Timetable& timetable, std::int64_t base, std::size_t ipus)
      : timetable_(timetable), base_(base), ipus_(ipus), steps_(timetable.steps.size()) {
    for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i] = &timetable.steps[i];
    std::stable_sort(steps_.begin(), steps_.end(), [](const SlotStep* left, const SlotStep* right) {
      return std::pair(left->part, left->order) < std::pair(right->part, right->order);
    });
    for (const SlotStep& step : timetable.steps) note(step.when);
    for (const SlotMove& move : timetable.moves) note(move.when);
  }

  void write_all(Trees& trees) {
    const std::int64_t slots = timetable_.slots();
    for (std::int64_t slot = 0; slot < slots;) {
      const auto change = changes_.lower_bound(slot);
      const std::int64_t alike = (change == changes_.end() ? slots : *change) - slot;
      const std::int64_t count = std::min(alike / timetable_.period + 1, (slots - slot) / timetable_.period);
      if (count < 2) {
        write_slot(slot++, trees);
      } else {
        write_periods(slot, count, trees);
        slot += count * timetable_.period;
      }
    }
  }

 private:
  // Slots s for which slot s + period differs: where something starts one period later, or happens for the last time.
  void note(const Occurrence& when) {
    if (when.end <= when.first) return;
    const std::int64_t start = first_slot(when, timetable_.period) - timetable_.period;
    if (start >= 0) changes_.insert(start);
    changes_.insert(last_slot(when, timetable_.period));
  }

  // The micro-batch of an occurrence in a slot, or kNone.
  [[nodiscard]] std::int64_t micro_batch(const Occurrence& when, std::int64_t slot) const {
    if (slot < when.offset + timetable_.period * when.first) return kNone;
    const std::int64_t since = slot - when.offset;
    if (since % timetable_.period != 0) return kNone;
    const std::int64_t number = since / timetable_.period;
    if (number >= when.end || (number + 1) % when.every != 0) return kNone;
    return number;
  }

  // `count` periods from `slot` on, alike but for steps with `every` > 1.
  void write_periods(std::int64_t slot, std::int64_t count, Trees& trees) {
    std::int64_t every = 1;
    for (const SlotStep* step : steps_) {
      if (step->when.every == 1 || step->when.end <= step->when.first) continue;
      if (last_slot(step->when, timetable_.period) < slot) continue;
      if (first_slot(step->when, timetable_.period) >= slot + timetable_.period) continue;
      every = step->when.every;
    }
    const std::int64_t rounds = count / every;
    if (every > 1 && rounds >= 2) {
      Trees body(ipus_);
      write_runs(slot, every, body);
      append_repeat(trees, rounds, every, LoopKind::MicroBatches, std::move(body));
      write_runs(slot + rounds * every * timetable_.period, count - rounds * every, trees);
    } else {
      write_runs(slot, count, trees);
    }
  }

  // `count` periods, equal neighbours as a repeat.
  void write_runs(std::int64_t slot, std::int64_t count, Trees& trees) {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t start = slot + done * timetable_.period;
      const std::vector<bool> pattern = firing(start);
      std::int64_t equal = 1;
      while (done + equal < count && (plain_ || firing(start + equal * timetable_.period) == pattern)) {
        equal = plain_ ? count - done : equal + 1;
      }
      write_repeat(start, equal, trees);
      done += equal;
    }
  }

  // Which of the steps with `every` > 1 happen in the period from `slot` on.
  [[nodiscard]] std::vector<bool> firing(std::int64_t slot) {
    std::vector<bool> pattern;
    for (const SlotStep* step : steps_) {
      if (step->when.every == 1) continue;
      for (std::int64_t i = 0; i < timetable_.period; ++i)
        pattern.push_back(micro_batch(step->when, slot + i) != kNone);
    }
    plain_ = pattern.empty();
    return pattern;
  }

  void write_repeat(std::int64_t slot, std::int64_t count, Trees& trees) {
    if (count == 1) {
      for (std::int64_t i = 0; i < timetable_.period; ++i) write_slot(slot + i, trees);
      return;
    }
    Trees body(ipus_);
    for (std::int64_t i = 0; i < timetable_.period; ++i) write_slot(slot + i, body);
    append_repeat(trees, count, 1, LoopKind::MicroBatches, std::move(body));
  }

  void write_slot(std::int64_t slot, Trees& trees) const {
    std::vector<const SlotStep*> active;
    bool streams = false;
    for (const SlotStep* step : steps_) {
      if (micro_batch(step->when, slot) == kNone) continue;
      active.push_back(step);
      const auto* stream = std::get_if<StreamIn>(&step->step);
      streams = streams || (stream != nullptr && !stream->overlapped);
    }
    const bool sync = streams && timetable_.host_sync.has_value();
    auto next = active.begin();
    for (; sync && next != active.end() && (*next)->part == SlotPart::StreamIn; ++next) write(**next, slot, trees);
    if (sync) {
      for (std::vector<Step>& tree : trees) tree.emplace_back(Sync{*timetable_.host_sync});
    }
    std::set<int> written;
    for (; next != active.end(); ++next) {
      if ((*next)->once_per_slot >= 0 && !written.insert((*next)->once_per_slot).second) continue;
      write(**next, slot, trees);
    }
    write_exchange(slot, trees);
  }

  void write(const SlotStep& entry, std::int64_t slot, Trees& trees) const {
    Step step = entry.step;
    set_micro_batch(step, base_ + micro_batch(entry.when, slot));
    trees[static_cast<std::size_t>(entry.ipu)].push_back(std::move(step));
  }

  void write_exchange(std::int64_t slot, Trees& trees) const {
    std::vector<Exchange> exchanges(ipus_);
    for (const SlotMove& move : timetable_.moves) {
      const std::int64_t number = micro_batch(move.when, slot);
      if (number == kNone) continue;
      const Transfer& transfer = timetable_.transfers[static_cast<std::size_t>(move.transfer)];
      const ExchangeMove entry{move.transfer, {base_ + number}};
      exchanges[static_cast<std::size_t>(transfer.from_ipu)].sends.push_back(entry);
      exchanges[static_cast<std::size_t>(transfer.to_ipu)].receives.push_back(entry);
    }
    for (std::size_t ipu = 0; ipu < ipus_; ++ipu) trees[ipu].emplace_back(std::move(exchanges[ipu]));
  }

  const Timetable& timetable_;
  std::int64_t base_;
  std::size_t ipus_;
  std::vector<const SlotStep*> steps_;
  std::set<std::int64_t> changes_;
  bool plain_ = true;
};

}  // namespace

std::int64_t Timetable::slots() const {
  std::int64_t last = -1;
  for (const SlotStep& step : steps) {
    if (step.when.end > step.when.first) last = std::max(last, last_slot(step.when, period));
  }
  return last + 1;
}

void emit_slots(const Timetable& timetable, std::int64_t base, Trees& trees) {
  SlotWriter(timetable, base, trees.size()).write_all(trees);
}

void append_repeat(Trees& trees, std::int64_t count, std::int64_t stride, LoopKind kind, Trees bodies) {
  for (std::size_t ipu = 0; ipu < trees.size(); ++ipu) {
    trees[ipu].emplace_back(Repeat{count, stride, kind, std::move(bodies[ipu])});
  }
}

}  // namespace podsim
