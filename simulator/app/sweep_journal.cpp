// The order of writing: row, then mark, then lock.
#include "simulator/app/sweep_journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "simulator/output/atomic_file.hpp"

namespace podsim {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kBlock = 4096;  // points looked at together
constexpr auto kLongestArrival = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr char kDone = 1;

std::vector<fs::path> row_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("rows-")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// A line that was cut off, or is damaged otherwise, is as good as none: its point runs again.
void read_rows(const fs::path& file, std::vector<std::optional<SweepRow>>& rows) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  while (std::getline(stream, line)) {
    if (stream.eof()) return;  // no end of line: cut off
    try {
      const Value value = parse_json(line, file.string());
      const auto point = static_cast<std::size_t>(value.at("point").integer());
      if (point < rows.size() && !rows[point]) rows[point] = row_from(value);
    } catch (const UserError&) {
    }
  }
}

void write_line(int file, const std::string& line, const std::string& name) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t length = ::write(file, line.data() + done, line.size() - done);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) {
      throw UserError(name, std::string("cannot be written: ") + std::strerror(errno),
                      "make room, then go on with --resume");
    }
    done += static_cast<std::size_t>(length);
  }
}

}  // namespace

SweepJournal::SweepJournal(fs::path folder, SweepHeader header, Ranks ranks, bool resume)
    : folder_(std::move(folder)), header_(std::move(header)), ranks_(std::move(ranks)), runnable_(header_.runnable()) {
  points_ = static_cast<std::size_t>(std::count(runnable_.begin(), runnable_.end(), true));
  cursor_ = runnable_.size() / static_cast<std::size_t>(ranks_.size) * static_cast<std::size_t>(ranks_.rank);
  std::error_code error;
  fs::create_directory(folder_, error);
  if (!fs::is_directory(folder_)) {
    throw UserError(folder_.string(),
                    "cannot be made: " + (fs::exists(folder_) ? "a file has this name" : error.message()),
                    "write the output to another folder");
  }
  {
    LockedBytes setup(folder_ / "lock");
    setup.lock(0);
    enter(resume);
    bytes_->lock_shared(presence_byte());
  }
  open_rows();
  bytes_->set(arrival_byte(ranks_.rank), kDone);
}

SweepJournal::~SweepJournal() {
  if (rows_file_ >= 0) ::close(rows_file_);
}

// Under the set-up lock: one process at a time decides whether to start, to join or to go on.
void SweepJournal::enter(bool resume) {
  bytes_ = std::make_unique<LockedBytes>(folder_ / "points");
  std::vector<std::optional<SweepRow>> finished(runnable_.size());
  if (const fs::path file = folder_ / "sweep.json"; fs::exists(file)) {
    if (join(read_json(file), resume)) return;
    for (const fs::path& rows : row_files(folder_)) {
      if (resume) {
        read_rows(rows, finished);
      } else {
        fs::remove(rows);  // of a sweep whose output is written
      }
    }
  }
  start(finished);
}

// True where others are at work on the same sweep; false to start (without `resume`) or to go on (with it).
bool SweepJournal::join(const Value& stored, bool resume) {
  const SweepHeader found = header_from(stored.at("header"));
  std::string other = difference(found, header_);
  if (other.empty() && (found.shard.index != header_.shard.index || found.shard.count != header_.shard.count)) {
    other = "--shard";
  }
  const bool same_job = !ranks_.job.empty() && stored.at("job").text() == ranks_.job;
  if (other.empty() && same_job) return true;
  const bool written = bytes_->get(found.grid.points()) == kDone;
  if (written && !resume) return false;
  if (!other.empty()) {
    throw UserError(folder_.string(), "belongs to another sweep: it differs in " + other,
                    "remove it, or write to another output");
  }
  if (!resume) {
    throw UserError(folder_.string(),
                    "holds an interrupted sweep with " + std::to_string(done()) + " of " + std::to_string(points_) +
                        " points finished",
                    "go on with --resume, or remove it");
  }
  return bytes_->locked_by_others(presence_byte());
}

void SweepJournal::start(const std::vector<std::optional<SweepRow>>& finished) {
  std::string marks(arrival_byte(ranks_.size), '\0');
  for (std::size_t i = 0; i < runnable_.size(); ++i) {
    if (!runnable_[i] || finished[i]) marks[i] = kDone;
  }
  bytes_->write(0, marks);
  Value stored{Value::Object{}};
  stored.set("job", ranks_.job);
  stored.set("header", to_value(header_));
  AtomicFile file((folder_ / "sweep.json").string());
  file.write(to_json(stored, 0) + "\n");
  file.commit();
}

// A file of its own for each process, so that no two ever write into each other's lines.
void SweepJournal::open_rows() {
  std::string machine(256, '\0');
  if (gethostname(machine.data(), machine.size() - 1) != 0) machine = "machine";
  machine.resize(machine.find('\0'));
  for (int attempt = 0; rows_file_ < 0; ++attempt) {
    rows_name_ =
        (folder_ / ("rows-" + machine + "-" + std::to_string(getpid()) + "-" + std::to_string(attempt) + ".jsonl"))
            .string();
    rows_file_ = ::open(rows_name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (rows_file_ < 0 && errno != EEXIST) {
      throw UserError(rows_name_, std::string("cannot be made: ") + std::strerror(errno),
                      "write the output to a folder that you may write to");
    }
  }
}

std::optional<std::size_t> SweepJournal::claim() {
  std::size_t looked_at = 0;
  while (looked_at < runnable_.size()) {
    if (cursor_ >= runnable_.size()) cursor_ = 0;
    const std::size_t count = std::min({kBlock, runnable_.size() - cursor_, runnable_.size() - looked_at});
    const std::string marks = bytes_->read(cursor_, count);
    for (std::size_t i = 0; i < count; ++i, ++cursor_, ++looked_at) {
      if (marks[i] == kDone || mine_.contains(cursor_) || !bytes_->try_lock(cursor_)) continue;
      if (bytes_->get(cursor_) == kDone) {  // finished between reading and locking
        bytes_->unlock(cursor_);
        continue;
      }
      mine_.insert(cursor_);
      return cursor_++;
    }
  }
  return std::nullopt;
}

void SweepJournal::record(std::size_t point, const std::string& row) {
  write_line(rows_file_, "{\"point\":" + std::to_string(point) + "," + row.substr(1) + "\n", rows_name_);
  bytes_->set(point, kDone);
  bytes_->unlock(point);
  mine_.erase(point);
}

std::size_t SweepJournal::done() const {
  const std::string marks = bytes_->read(0, runnable_.size());
  const auto all = static_cast<std::size_t>(std::count(marks.begin(), marks.end(), kDone));
  return all - (runnable_.size() - points_);
}

bool SweepJournal::claim_output() { return !output_written() && bytes_->try_lock(output_byte()) && !output_written(); }

void SweepJournal::set_output_written() { bytes_->set(output_byte(), kDone); }

bool SweepJournal::output_written() const { return bytes_->get(output_byte()) == kDone; }

std::vector<std::optional<SweepRow>> SweepJournal::rows() const {
  std::vector<std::optional<SweepRow>> rows(runnable_.size());
  for (const fs::path& file : row_files(folder_)) read_rows(file, rows);
  return rows;
}

void SweepJournal::forget(std::size_t point) { bytes_->set(point, 0); }

bool SweepJournal::all_arrived() const {
  const std::string marks = bytes_->read(arrival_byte(0), static_cast<std::size_t>(ranks_.size));
  return std::count(marks.begin(), marks.end(), kDone) == ranks_.size;
}

void SweepJournal::remove() {
  const auto deadline = std::chrono::steady_clock::now() + kLongestArrival;
  while (!all_arrived() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(kPause);
  if (!all_arrived()) return;
  std::error_code ignored;  // another rank may be doing the same
  fs::remove_all(folder_, ignored);
}

}  // namespace podsim
