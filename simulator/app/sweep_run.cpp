// Points to processes, results to the journal, and at the end the journal to the output.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <thread>

#include "simulator/app/process_pool.hpp"
#include "simulator/app/sweep.hpp"
#include "simulator/app/sweep_cache.hpp"
#include "simulator/app/sweep_journal.hpp"
#include "simulator/app/sweep_point.hpp"
#include "simulator/app/sweep_progress.hpp"
#include "simulator/app/sweep_write.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

namespace fs = std::filesystem;

constexpr double kPause = 0.05;  // seconds between looks at what other processes do

// A folder for the rows of a sweep that goes to standard output; nothing of it stays.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    path_ = (fs::temp_directory_path(error) / "podsim-sweep-XXXXXX").string();
    if (error || mkdtemp(path_.data()) == nullptr) {
      throw UserError("-o -", "there is no place for temporary files: " + path_ + " cannot be made",
                      "set TMPDIR to another folder");
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class SweepLoop {
 public:
  SweepLoop(const Sweep& sweep, const SweepSettings& settings, const LoadedData& data, SweepJournal& journal)
      : sweep_(sweep),
        settings_(settings),
        data_(data),
        journal_(journal),
        cache_(settings.cache, settings.code + " " + data.digest() + (settings.fast_forward ? "" : " step by step")),
        pool_(settings.jobs, settings.timeout_seconds, [this](const std::string& task) { return prepare(task); }),
        progress_(journal.points(), journal.done(), settings.show_progress) {}

  // Until all points are done, here or elsewhere; false where a signal ended it earlier.
  bool run() {
    while (!stop_.arrived()) {
      fill();
      if (pool_.idle() && journal_.complete()) return true;
      collect();
      if (progress_.due()) progress_.show(journal_.done());
    }
    return false;
  }

 private:
  void fill() {
    while (!pool_.full() && !stop_.arrived()) {
      const std::optional<std::size_t> point = journal_.claim();
      if (!point) return;
      if (!from_cache(*point)) pool_.start(*point, std::to_string(*point));
    }
  }

  bool from_cache(std::size_t point) {
    if (!cache_.enabled()) return false;
    try {
      const std::string key = cache_.key(point_source(sweep_, point), sweep_.folder);
      if (const std::optional<SweepRow> row = cache_.find(key)) {
        journal_.record(point, to_json(to_value(*row), 0));
        return true;
      }
      keys_[point] = key;
    } catch (const UserError&) {  // a value that cannot be set: the point itself will say so
    }
    return false;
  }

  // In a worker, with a memory of its own.
  Prepared prepare(const std::string& task) {
    try {
      return prepare_point(point_source(sweep_, std::stoull(task)), sweep_.folder, data_, compiled_,
                           settings_.fast_forward);
    } catch (const UserError& error) {  // a value that cannot be set
      return {row_of_error(error.what()), {}};
    }
  }

  void collect() {
    std::vector<ProcessResult> results = pool_.wait(kPause, stop_.descriptor());
    for (const ProcessResult& result : results) {
      if (result.failure.empty()) {
        journal_.record(result.id, result.output);
        if (const auto key = keys_.find(result.id); key != keys_.end()) {
          cache_.keep(key->second, row_from(parse_json(result.output, "result")));
        }
      } else {
        journal_.record(result.id, row_of_error(result.failure));
      }
      keys_.erase(result.id);
    }
  }

  const Sweep& sweep_;
  const SweepSettings& settings_;
  const LoadedData& data_;
  SweepJournal& journal_;
  SweepCache cache_;
  CompileCache compiled_;                    // of a worker
  std::map<std::size_t, std::string> keys_;  // of points that run
  StopSignals stop_;
  ProcessPool pool_;
  SweepProgress progress_;
};

// Rows that the journal has lost although they are marked done (a damaged disk) run again.
bool all_there(SweepJournal& journal, const std::vector<bool>& runnable,
               const std::vector<std::optional<SweepRow>>& rows) {
  bool complete = true;
  for (std::size_t point = 0; point < rows.size(); ++point) {
    if (!runnable[point] || rows[point]) continue;
    journal.forget(point);
    complete = false;
  }
  return complete;
}

void warn_if_all_failed(const std::vector<std::optional<SweepRow>>& rows) {
  std::string first;
  std::size_t failed = 0;
  for (const auto& row : rows) {
    if (!row) continue;
    if (row->error.empty()) return;
    if (failed++ == 0) first = row->error;
  }
  std::cerr << "podsim: warning: none of the points can run; the first one says: " << first << "\n";
}

[[noreturn]] void stopped(const SweepJournal& journal, const std::string& output) {
  throw UserError("sweep",
                  "stopped after " + format_count(static_cast<long long>(journal.done())) + " of " +
                      format_count(static_cast<long long>(journal.points())) + " points",
                  output == "-"
                      ? "with -o FILE an interrupted sweep can go on"
                      : "the same command with --resume goes on; finished points are in " + output + ".partial");
}

}  // namespace

void run_sweep(const Sweep& sweep, const SweepSettings& settings, const LoadedData& data, const std::string& output) {
  const bool to_stdout = output == "-";
  std::unique_ptr<TemporaryFolder> temporary;
  if (to_stdout) temporary = std::make_unique<TemporaryFolder>();
  static_cast<void>(SweepCache(settings.cache, {}));  // refuses a bad folder before the journal is there
  SweepJournal journal(to_stdout ? temporary->path() : output + ".partial", sweep.header, settings.ranks,
                       settings.resume);
  const std::vector<bool> runnable = sweep.header.runnable();
  while (!journal.output_written()) {
    if (!SweepLoop(sweep, settings, data, journal).run()) stopped(journal, output);
    if (!journal.claim_output()) {  // another rank writes it
      std::this_thread::sleep_for(std::chrono::duration<double>(kPause));
      continue;
    }
    const std::vector<std::optional<SweepRow>> rows = journal.rows();
    if (!all_there(journal, runnable, rows)) continue;
    warn_if_all_failed(rows);
    write_sweep(output, sweep.header, rows);
    journal.set_output_written();
  }
  journal.remove();
}

}  // namespace podsim
