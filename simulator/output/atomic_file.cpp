// Plain POSIX calls: their error numbers say exactly what went wrong.
#include "simulator/output/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "simulator/core/error.hpp"

namespace podsim {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr mode_t kMode = 0666;  // the user's umask takes away what they do not want

std::string remedy_for(int error) {
  switch (error) {
    case ENOENT: return "make the folder first, or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS: return "write to a folder that you may write to";
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return "free some space, or write elsewhere";
    case EISDIR:
    case ENOTDIR: return "give the name of a file in an existing folder";
    default: return "write elsewhere";
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path_, ignored);
  target_ = resolved.empty() ? path_ : resolved.string();
  const auto status = std::filesystem::status(target_, ignored);
  if (std::filesystem::is_directory(status)) fail(EISDIR, "write");
  const bool direct = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  temporary_ = direct ? target_ : target_ + ".tmp";
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (descriptor_ < 0) fail(errno, "write");
  made_ = !direct;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (made_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) {
    flush(buffer_);
    buffer_.clear();
  }
  if (bytes.size() > kBufferBytes) {
    flush(bytes);
  } else {
    buffer_ += bytes;
  }
}

void AtomicFile::commit() {
  flush(buffer_);
  buffer_.clear();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno, "write");
  if (!made_) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno, "replace");
  made_ = false;
}

void AtomicFile::flush(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::fail(int error, const char* doing) const {
  throw UserError(path_, std::string("cannot ") + doing + " this file: " + std::strerror(error), remedy_for(error));
}

void check_writable(const std::string& path) { const AtomicFile probe(path); }

}  // namespace podsim
