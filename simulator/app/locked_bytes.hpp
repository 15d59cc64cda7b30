// LockedBytes: a file of bytes, each of which a process can lock for itself. Processes on all machines that share the
// file system see the same bytes and locks; locks of a process end with it, however it ends.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace podsim {

class LockedBytes {
 public:
  // Opens the file, or makes an empty one. UserError where it cannot. One object per file and process: closing any
  // descriptor of a file ends all locks that the process has on it.
  explicit LockedBytes(std::filesystem::path file);
  ~LockedBytes();
  LockedBytes(const LockedBytes&) = delete;
  LockedBytes& operator=(const LockedBytes&) = delete;

  // Bytes behind the end are 0.
  [[nodiscard]] std::string read(std::size_t begin, std::size_t count) const;
  [[nodiscard]] char get(std::size_t byte) const { return read(byte, 1).front(); }
  void set(std::size_t byte, char value) { write(byte, std::string(1, value)); }
  void write(std::size_t begin, const std::string& bytes);

  // Succeeds for locks that this process has already. UserError where the file system has no locks.
  [[nodiscard]] bool try_lock(std::size_t byte);
  void lock(std::size_t byte);         // waits
  void lock_shared(std::size_t byte);  // waits; any number of processes may
  void unlock(std::size_t byte);
  [[nodiscard]] bool locked_by_others(std::size_t byte) const;

 private:
  bool change(std::size_t byte, short type, bool wait) const;
  [[noreturn]] void fail(const std::string& problem, int error) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace podsim
