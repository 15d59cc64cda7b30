// POSIX record locks (fcntl): the only ones that NFS, GPFS and Lustre carry between machines.
#include "simulator/app/locked_bytes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "simulator/core/error.hpp"

namespace podsim {

LockedBytes::LockedBytes(std::filesystem::path file) : file_(std::move(file)) {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("cannot be written", errno);
}

LockedBytes::~LockedBytes() { ::close(descriptor_); }

std::string LockedBytes::read(std::size_t begin, std::size_t count) const {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t length = ::pread(descriptor_, bytes.data() + done, count - done, static_cast<off_t>(begin + done));
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) fail("cannot be read", errno);
    if (length == 0) break;
    done += static_cast<std::size_t>(length);
  }
  return bytes;
}

void LockedBytes::write(std::size_t begin, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t length =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(begin + done));
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) fail("cannot be written", errno);
    done += static_cast<std::size_t>(length);
  }
}

bool LockedBytes::try_lock(std::size_t byte) { return change(byte, F_WRLCK, false); }
void LockedBytes::lock(std::size_t byte) { change(byte, F_WRLCK, true); }
void LockedBytes::lock_shared(std::size_t byte) { change(byte, F_RDLCK, true); }
void LockedBytes::unlock(std::size_t byte) { change(byte, F_UNLCK, false); }

bool LockedBytes::change(std::size_t byte, short type, bool wait) const {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  while (::fcntl(descriptor_, wait ? F_SETLKW : F_SETLK, &lock) != 0) {
    if (errno == EINTR) continue;
    if (!wait && (errno == EACCES || errno == EAGAIN)) return false;
    fail("cannot be locked", errno);
  }
  return true;
}

bool LockedBytes::locked_by_others(std::size_t byte) const {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  if (::fcntl(descriptor_, F_GETLK, &lock) != 0) fail("cannot be locked", errno);
  return lock.l_type != F_UNLCK;
}

void LockedBytes::fail(const std::string& problem, int error) const {
  throw UserError(file_.string(), problem + ": " + std::strerror(error),
                  "write the output to a folder that you may write to, on a file system with record locks");
}

}  // namespace podsim
