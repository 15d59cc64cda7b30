// fork, pipe and poll. A result ends with a mark, so that a slot is free again as soon as the result has arrived, while
// the kernel still tears the child down.
#include "simulator/app/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr char kSuccess = '\x01';  // last byte of a result
constexpr char kFailure = '\x02';  // last byte of the text of an exception

sigset_t stop_set() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

void write_all(int descriptor, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

// The life of a child. Signals that stop the program are its parent's business: they are held back here, where they
// would look like a crash. It dies with its parent.
[[noreturn]] void run_child(pid_t parent, int null, int pipe, const std::function<std::string()>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  std::string text;
  try {
    text = work() + kSuccess;
  } catch (const std::exception& error) {
    text = std::string(error.what()) + kFailure;
  }
  write_all(pipe, text);
  _exit(0);
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return std::string("crashed: ") + strsignal(signal) + " (signal " + std::to_string(signal) + ")";
  }
  return "crashed: ended with exit code " + std::to_string(WEXITSTATUS(status)) + " without a result";
}

}  // namespace

ProcessPool::ProcessPool(int jobs, double timeout_seconds)
    : jobs_(static_cast<std::size_t>(std::max(1, jobs))), timeout_seconds_(timeout_seconds) {
  null_ = ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

ProcessPool::~ProcessPool() {
  for (const Child& child : running_) {
    ::kill(child.pid, SIGKILL);
    ::close(child.pipe);
    ending_.push_back(child.pid);
  }
  for (const pid_t pid : ending_) waitpid(pid, nullptr, 0);
  if (null_ >= 0) ::close(null_);
}

void ProcessPool::start(std::size_t id, const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  std::fflush(nullptr);
  const pid_t parent = getpid();
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw UserError("--jobs", std::string("no pipe to a process: ") + std::strerror(errno), "use fewer jobs");
  }
  const sigset_t signals = stop_set();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);  // the child inherits it
  const pid_t pid = fork();
  if (pid < 0) {
    const int reason = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    for (const int end : ends) ::close(end);
    throw UserError("--jobs", std::string("no process can be started: ") + std::strerror(reason), "use fewer jobs");
  }
  if (pid == 0) run_child(parent, null_, ends[1], work);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const auto limit = std::chrono::duration<double>(timeout_seconds_ > 0 ? timeout_seconds_ : 0);
  running_.push_back({id, pid, ends[0], {}, Clock::now() + std::chrono::duration_cast<Clock::duration>(limit)});
}

// True when the child has finished.
bool ProcessPool::receive(Child& child, ProcessResult& result) {
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  while ((count = ::read(child.pipe, buffer.data(), buffer.size())) > 0) {
    child.received.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const char last = child.received.empty() ? '\0' : child.received.back();
  const bool complete = last == kSuccess || last == kFailure;
  const bool closed = count == 0;
  const bool late = timeout_seconds_ > 0 && Clock::now() >= child.deadline;
  if (!complete && !closed && !late) return false;
  result.id = child.id;
  if (complete) {
    child.received.pop_back();
    (last == kSuccess ? result.output : result.failure) = std::move(child.received);
    ending_.push_back(child.pid);
  } else if (closed) {
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    result.failure = describe_end(status);
  } else {
    ::kill(child.pid, SIGKILL);
    ending_.push_back(child.pid);
    result.failure = "timed out after " + format_exact(timeout_seconds_) + " s";
  }
  ::close(child.pipe);
  return true;
}

int ProcessPool::wait_milliseconds(double seconds) const {
  double wait = seconds;
  if (timeout_seconds_ > 0) {
    for (const Child& child : running_) {
      wait = std::min(wait, std::chrono::duration<double>(child.deadline - Clock::now()).count());
    }
  }
  return static_cast<int>(std::max(0.0, wait) * 1000) + (wait > 0 ? 1 : 0);
}

void ProcessPool::reap() {
  std::erase_if(ending_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

std::vector<ProcessResult> ProcessPool::wait(double seconds, int descriptor) {
  std::vector<pollfd> polled;
  for (const Child& child : running_) polled.push_back({child.pipe, POLLIN, 0});
  polled.push_back({descriptor, POLLIN, 0});  // poll() leaves negative ones out
  ::poll(polled.data(), polled.size(), wait_milliseconds(seconds));
  std::vector<ProcessResult> results;
  std::erase_if(running_, [&](Child& child) {
    ProcessResult result;
    if (!receive(child, result)) return false;
    results.push_back(std::move(result));
    return true;
  });
  reap();
  return results;
}

void run_each(int jobs, std::size_t count, const std::function<std::string(std::size_t)>& work,
              const std::function<void(const ProcessResult&)>& finished) {
  ProcessPool pool(jobs, 0);
  std::size_t next = 0;
  while (next < count || !pool.idle()) {
    for (; next < count && !pool.full(); ++next) {
      pool.start(next, [&work, next] { return work(next); });
    }
    for (const ProcessResult& result : pool.wait(1)) finished(result);
  }
}

StopSignals::StopSignals() {
  // A shell starts background jobs with SIGINT ignored; who sends one to a sweep means it. nohup's SIGHUP stays
  // ignored.
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  const sigset_t signals = stop_set();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  descriptor_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

StopSignals::~StopSignals() {
  (void)arrived();
  ::close(descriptor_);
  const sigset_t signals = stop_set();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

bool StopSignals::arrived() {
  signalfd_siginfo information{};
  while (::read(descriptor_, &information, sizeof information) > 0) arrived_ = true;
  return arrived_;
}

int available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  return CPU_COUNT(&set);
}

}  // namespace podsim
