// fork, sockets and poll. An answer ends with a mark; who works on it, a worker or its child, writes it to the one
// socket of the worker.
#include "simulator/app/process_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"

namespace podsim {

namespace {

constexpr char kSuccess = '\x01';  // last byte of a result
constexpr char kFailure = '\x02';  // last byte of the text of an exception
constexpr char kDiscard = '\x03';  // what came before was written by a child that has crashed

sigset_t stop_set() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

void write_all(int descriptor, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::send(descriptor, text.data() + written, text.size() - written, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

std::string outcome_of(const std::function<std::string()>& work) {
  try {
    return work() + kSuccess;
  } catch (const UserError& error) {
    return std::string(error.what()) + kFailure;
  } catch (const std::exception& error) {
    return std::string("internal error: ") + error.what() + kFailure;
  }
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return std::string("crashed: ") + strsignal(signal) + " (signal " + std::to_string(signal) + ")";
  }
  return "crashed: ended with exit code " + std::to_string(WEXITSTATUS(status)) + " without a result";
}

// The rest of a task in a child, which answers by itself; where it cannot, the worker says why. `answered` is shared
// between both: what ends a child behind its answer must not become the answer to the next task.
void run_rest(int socket, const std::function<std::string()>& rest, std::atomic<bool>& answered) {
  const pid_t worker = getpid();
  answered = false;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker) _exit(1);
    write_all(socket, outcome_of(rest));
    answered = true;
    _exit(0);
  }
  int status = 0;
  const int reason = errno;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) {
    write_all(socket, std::string("no process can be started: ") + std::strerror(reason) + kFailure);
  } else if (!answered) {
    write_all(socket, kDiscard + describe_end(status) + kFailure);
  }
}

// The life of a worker. Signals that stop the program are its parent's business: they are held back here, where they
// would look like a crash. It dies with its parent.
[[noreturn]] void run_worker(pid_t parent, int null, int socket, const ProcessPool::Prepare& prepare) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  void* shared = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) _exit(1);
  auto& answered = *new (shared) std::atomic<bool>(false);
  for (std::string pending;;) {
    const std::size_t end = pending.find('\n');
    if (end == std::string::npos) {
      std::array<char, 4096> buffer;
      const ssize_t count = ::read(socket, buffer.data(), buffer.size());
      if (count == 0 || (count < 0 && errno != EINTR)) _exit(0);
      if (count > 0) pending.append(buffer.data(), static_cast<std::size_t>(count));
      continue;
    }
    const std::string task = pending.substr(0, end);
    pending.erase(0, end + 1);
    Prepared prepared;
    const std::string answer = outcome_of([&] {
      prepared = prepare(task);
      return prepared.answer;
    });
    if (prepared.rest) {
      run_rest(socket, prepared.rest, answered);
    } else {
      write_all(socket, answer);
    }
  }
}

[[noreturn]] void refuse(const std::string& what, int reason) {
  throw UserError("--jobs", what + ": " + std::strerror(reason), "use fewer jobs");
}

}  // namespace

ProcessPool::ProcessPool(int jobs, double timeout_seconds, Prepare prepare)
    : jobs_(static_cast<std::size_t>(std::max(1, jobs))),
      timeout_seconds_(timeout_seconds),
      prepare_(std::move(prepare)) {}

ProcessPool::~ProcessPool() {
  for (Worker& worker : workers_) {
    ::kill(-worker.pid, SIGKILL);
    end(worker);
  }
}

// Closes the connection to a worker that is about to end, and waits for that.
void ProcessPool::end(Worker& worker) {
  ::close(worker.socket);
  while (waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

ProcessPool::Worker& ProcessPool::idle_worker() {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return !worker.busy; });
  if (found != workers_.end()) return *found;
  spawn();
  return workers_.back();
}

void ProcessPool::spawn() {
  std::array<int, 2> ends{};
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) refuse("no /dev/null for a process", errno);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    const int reason = errno;
    ::close(null);
    refuse("no connection to a process", reason);
  }
  const sigset_t signals = stop_set();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &signals, &before);  // the child inherits it
  const pid_t pid = fork();
  const int reason = errno;
  if (pid == 0) {
    setpgid(0, 0);
    ::close(ends[0]);
    for (const Worker& other : workers_) ::close(other.socket);
    run_worker(parent, null, ends[1], prepare_);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(null);
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    refuse("no process can be started", reason);
  }
  setpgid(pid, pid);  // whichever of the two comes first
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  workers_.push_back({.pid = pid, .socket = ends[0]});
}

void ProcessPool::start(std::size_t id, const std::string& task) {
  if (full() || task.find('\n') != std::string::npos) throw InternalError("process pool: start() of " + task);
  Worker& worker = idle_worker();
  const auto limit = std::chrono::duration<double>(timeout_seconds_ > 0 ? timeout_seconds_ : 0);
  worker.busy = true;
  worker.id = id;
  worker.received.clear();
  worker.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  ++busy_;
  write_all(worker.socket, task + '\n');  // where it has ended, its end says so
}

// True when the task has finished; a worker that has ended has no process id then.
bool ProcessPool::receive(Worker& worker, ProcessResult& result) {
  std::array<char, 65536> buffer;
  ssize_t count = 0;
  while ((count = ::recv(worker.socket, buffer.data(), buffer.size(), 0)) > 0) {
    worker.received.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::string& text = worker.received;
  const char last = text.empty() ? '\0' : text.back();
  const bool complete = last == kSuccess || last == kFailure;
  const bool closed = count == 0 || (count < 0 && errno == ECONNRESET);
  const bool late = timeout_seconds_ > 0 && Clock::now() >= worker.deadline;
  if (!complete && !closed && !late) return false;
  result.id = worker.id;
  worker.busy = false;
  if (complete) {
    text.pop_back();
    text.erase(0, text.rfind(kDiscard) + 1);
    (last == kSuccess ? result.output : result.failure) = std::move(text);
    return true;
  }
  int status = 0;
  if (!closed) ::kill(-worker.pid, SIGKILL);
  while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(worker.socket);
  worker.pid = 0;
  result.failure = closed ? describe_end(status) : "timed out after " + format_exact(timeout_seconds_) + " s";
  return true;
}

int ProcessPool::wait_milliseconds(double seconds) const {
  double wait = seconds;
  if (timeout_seconds_ > 0) {
    for (const Worker& worker : workers_) {
      if (worker.busy) wait = std::min(wait, std::chrono::duration<double>(worker.deadline - Clock::now()).count());
    }
  }
  return static_cast<int>(std::max(0.0, wait) * 1000) + (wait > 0 ? 1 : 0);
}

std::vector<ProcessResult> ProcessPool::wait(double seconds, int descriptor) {
  std::vector<pollfd> polled;
  for (const Worker& worker : workers_) polled.push_back({worker.busy ? worker.socket : -1, POLLIN, 0});
  polled.push_back({descriptor, POLLIN, 0});  // poll() leaves negative ones out
  ::poll(polled.data(), polled.size(), wait_milliseconds(seconds));
  std::vector<ProcessResult> results;
  for (Worker& worker : workers_) {
    ProcessResult result;
    if (worker.busy && receive(worker, result)) results.push_back(std::move(result));
  }
  busy_ -= results.size();
  std::erase_if(workers_, [](const Worker& worker) { return worker.pid == 0; });
  return results;
}

void run_each(int jobs, std::size_t count, const std::function<Prepared(std::size_t)>& prepare,
              const std::function<void(const ProcessResult&)>& finished) {
  ProcessPool pool(jobs, 0, [&prepare](const std::string& task) { return prepare(std::stoull(task)); });
  std::size_t next = 0;
  while (next < count || !pool.idle()) {
    for (; next < count && !pool.full(); ++next) pool.start(next, std::to_string(next));
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
