// A file that is there completely or not at all: written beside its place and renamed when complete.
#pragma once

#include <string>
#include <string_view>

namespace podsim {

class AtomicFile {
 public:
  // Opens PATH.tmp (a symbolic link is followed; devices and pipes are written directly). UserError when it cannot.
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // removes what was not committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Buffered. UserError with the system's reason (full disk, …).
  void write(std::string_view bytes);
  // Writes the rest and renames. UserError likewise.
  void commit();

 private:
  void flush(std::string_view bytes);
  [[noreturn]] void fail(int error, const char* doing) const;

  std::string path_;       // as given, for messages
  std::string target_;     // where links lead
  std::string temporary_;  // equal to target_ for devices and pipes
  std::string buffer_;
  int descriptor_ = -1;
  bool made_ = false;  // the temporary file is ours to remove
};

// UserError when `path` could not be written now; leaves nothing behind. For checks before long work.
void check_writable(const std::string& path);

}  // namespace podsim
