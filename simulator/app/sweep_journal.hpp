// SweepJournal: the folder OUT.partial, where a sweep keeps finished rows until its output is complete, and where
// several processes, on one machine or on many with a shared file system, divide the points between them.
//
//   sweep.json     the header: which sweep this is
//   points         one byte for each point: 0 to do, 1 done; then marks of the end and of the ranks' arrival
//   rows-*.jsonl   finished rows, appended by one process each
//
// A process works on a point while it holds the lock on the point's byte. The kernel (or the file server) takes the
// lock back when the process dies, however it dies, and another one goes on with the point: no heartbeats, no
// time-outs. A row is written before its byte is set, so nothing that is marked done is missing.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulator/app/locked_bytes.hpp"
#include "simulator/app/sweep_header.hpp"
#include "simulator/app/sweep_ranks.hpp"
#include "simulator/app/sweep_row.hpp"

namespace podsim {

class SweepJournal {
 public:
  // Starts a journal, joins that of the other ranks, or goes on with an interrupted one (`resume`). UserError where the
  // folder belongs to another sweep, where an interrupted one is there without `resume`, or where it cannot be written.
  SweepJournal(std::filesystem::path folder, SweepHeader header, Ranks ranks, bool resume);
  ~SweepJournal();
  SweepJournal(const SweepJournal&) = delete;
  SweepJournal& operator=(const SweepJournal&) = delete;

  // A point to simulate, now this process's; nothing where all others are done or somebody else's.
  [[nodiscard]] std::optional<std::size_t> claim();
  // Keeps a claimed point's row; `row` is a JSON object on one line.
  void record(std::size_t point, const std::string& row);
  [[nodiscard]] bool complete() const { return done() == points_; }  // by whomever
  [[nodiscard]] std::size_t points() const { return points_; }       // those that run; duplicates do not
  [[nodiscard]] std::size_t done() const;

  // Of the processes that see complete(), one may write the output: true for the first one that asks, and for another
  // one if that dies first. False for ever once it is written.
  [[nodiscard]] bool claim_output();
  void set_output_written();
  [[nodiscard]] bool output_written() const;

  // The rows by point; empty for points that did not run. Damaged lines are left out.
  [[nodiscard]] std::vector<std::optional<SweepRow>> rows() const;
  // Takes a point's mark back, so that it runs again.
  void forget(std::size_t point);

  // Removes the folder once all ranks have come, waiting for late ones for a while; the last of them removes it, else.
  void remove();

 private:
  void enter(bool resume);
  [[nodiscard]] bool join(const Value& stored, bool resume);
  void start(const std::vector<std::optional<SweepRow>>& finished);
  void open_rows();
  [[nodiscard]] bool all_arrived() const;
  [[nodiscard]] std::size_t output_byte() const { return header_.grid.points(); }
  [[nodiscard]] std::size_t presence_byte() const { return output_byte() + 1; }
  [[nodiscard]] std::size_t arrival_byte(int rank) const { return output_byte() + 2 + static_cast<std::size_t>(rank); }

  std::filesystem::path folder_;
  SweepHeader header_;
  Ranks ranks_;
  std::vector<bool> runnable_;
  std::size_t points_ = 0;
  std::unique_ptr<LockedBytes> bytes_;
  int rows_file_ = -1;
  std::string rows_name_;
  std::size_t cursor_ = 0;      // next point to look at
  std::set<std::size_t> mine_;  // claimed, not recorded
};

}  // namespace podsim
