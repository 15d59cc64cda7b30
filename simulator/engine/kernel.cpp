// Processes and flows in SimGrid.
#include "simulator/engine/kernel.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <limits>
#include <utility>

#include "simulator/core/error.hpp"
#include "simulator/engine/route_zone.hpp"
#include "simulator/engine/simgrid_settings.hpp"

namespace podsim::engine {
namespace {

// SimGrid's payloads are whole bytes; a share of a tensor is not. A power of two keeps doubles exact: the resolution is
// 1.5e-5 bytes, the largest flow 1.4e14 bytes.
constexpr double kByteScale = 65536;

// A process that has been suspended at this instant must not be resumed before SimGrid has finished with the
// suspension: a timer does it, behind everything else that happens now. Runs in SimGrid's own context.
void resume(Process& process) {
  const double now = simgrid::s4u::Engine::get_clock();
  if (process.blocked_at < now) return process.actor->resume();
  simgrid::kernel::timer::Timer::set(std::nextafter(now, std::numeric_limits<double>::infinity()),
                                     [&process] { process.actor->resume(); });
}

std::unique_ptr<simgrid::s4u::Engine> make_engine() {
  silence_simgrid();
  auto engine = std::make_unique<simgrid::s4u::Engine>("podsim");
  // SimGrid's own handlers hide which signal ended a process.
  for (const int signal : {SIGINT, SIGSEGV, SIGBUS}) std::signal(signal, SIG_DFL);
  configure_simgrid(*engine);
  RouteZone::create_world();
  return engine;
}

// SimGrid's clock and its sealed platform are static: a second engine in a process would start at the first one's end.
void claim_process() {
  static std::atomic<bool> claimed = false;
  if (claimed.exchange(true)) throw InternalError("engine: run() was called twice in a process; fork for each run");
}

// SimGrid ends each actor by an exception: libstdc++ finds the functions for that when they are first used.
void throw_once() {
  try {
    throw InternalError("");
  } catch (const InternalError&) {
  }
}

}  // namespace

void start_simgrid() {
  if (simgrid::s4u::Engine::is_initialized()) return;
  (void)make_engine().release();  // found again by get_instance()
  throw_once();
}

struct Kernel::SimGrid {
  std::unique_ptr<simgrid::s4u::Engine> own_engine;  // none where start_simgrid() has made it
  simgrid::s4u::Engine* engine = nullptr;
  std::unique_ptr<RouteZone> own_zone;
  RouteZone* zone = nullptr;
  std::vector<simgrid::s4u::ActorPtr> actors;
  std::vector<simgrid::s4u::CommPtr> flows;
  std::vector<FlowId> free_flows;
  std::exception_ptr failure;
  bool deadlock = false;
  std::size_t ended = 0;
};

Kernel::Kernel(const Topology& topology, Platform* platform)
    : topology_(topology), platform_(platform), simgrid_(std::make_unique<SimGrid>()) {}

Kernel::~Kernel() = default;

void Kernel::start() {
  claim_process();
  if (!simgrid::s4u::Engine::is_initialized()) simgrid_->own_engine = make_engine();
  simgrid_->engine = simgrid::s4u::Engine::get_instance();
  if (platform_ == nullptr) simgrid_->own_zone = std::make_unique<RouteZone>(topology_, kByteScale);
  simgrid_->zone = platform_ == nullptr ? simgrid_->own_zone.get() : platform_->zone_.get();
  simgrid::s4u::Engine::on_deadlock_cb([state = simgrid_.get()] { state->deadlock = true; });
}

void Kernel::spawn(Process& process, int vertex, const std::string& name, std::function<void()> body) {
  const auto wrapped = [state = simgrid_.get(), &process, run = std::move(body)] {
    std::exception_ptr failure;
    try {
      run();
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    process.wait = Wait::None;
    ++state->ended;
    if (failure && !state->failure) {
      state->failure = failure;
      simgrid::s4u::Actor::kill_all();
    }
  };
  simgrid_->actors.push_back(simgrid::s4u::Actor::create(name, simgrid_->zone->host(vertex), wrapped));
  process.actor = simgrid_->actors.back().get();
}

bool Kernel::run() {
  simgrid_->engine->run();
  if (simgrid_->failure) std::rethrow_exception(simgrid_->failure);
  return !simgrid_->deadlock && simgrid_->ended == simgrid_->actors.size();
}

double Kernel::now() const { return simgrid::s4u::Engine::get_clock(); }

void Kernel::sleep_until(Process& self, double time, int phase) {
  const double seconds = time - now();
  if (seconds <= kTimeResolutionSeconds) return;
  ++activities_;
  self.wait = Wait::Sleep;
  self.phase = phase;
  self.until = time;
  simgrid::s4u::this_actor::sleep_for(seconds);
  self.wait = Wait::None;
}

void Kernel::block(Process& self, int phase) {
  ++activities_;
  self.wait = Wait::Blocked;
  self.phase = phase;
  self.blocked_at = now();
  simgrid::s4u::this_actor::suspend();
  self.wait = Wait::None;
  self.woken = false;
}

void Kernel::yield() { simgrid::s4u::this_actor::yield(); }

void Kernel::wake(Process& other) {
  if (other.wait != Wait::Blocked || other.woken) return;
  other.woken = true;
  wake_all(std::array{&other});
}

void Kernel::wake_all(std::span<Process* const> others) {
  if (others.empty()) return;
  for (Process* other : others) other->woken = true;
  simgrid::kernel::actor::simcall_answered([others] {
    for (Process* other : others) resume(*other);
  });
}

// SimGrid 3.32 keeps all communications between hosts in one list, and searches it when one of them ends: the cost of a
// flow grows with the number of others.
FlowId Kernel::start_flow(const FlowRequest& request) {
  ++activities_;
  const RouteZone::Ends ends = simgrid_->zone->use(*request.route);
  FlowId flow = static_cast<FlowId>(simgrid_->flows.size());
  if (simgrid_->free_flows.empty()) {
    simgrid_->flows.emplace_back();
  } else {
    flow = simgrid_->free_flows.back();
    simgrid_->free_flows.pop_back();
  }
  const auto payload = static_cast<std::uint64_t>(std::max(1LL, std::llround(request.bytes * kByteScale)));
  simgrid_->flows[static_cast<std::size_t>(flow)] = simgrid::s4u::Comm::sendto_async(ends.from, ends.to, payload);
  return flow;
}

void Kernel::start_flows(std::span<const FlowRequest> requests, std::vector<FlowId>& flows) {
  simgrid::kernel::actor::simcall_answered([this, requests, &flows] {
    for (const FlowRequest& request : requests) flows.push_back(start_flow(request));
  });
}

double Kernel::finish_flow(Process& self, FlowId flow, int phase) {
  self.flows.push_back(flow);
  simgrid::s4u::CommPtr comm = simgrid_->flows[static_cast<std::size_t>(flow)];
  finish_flows(self, phase);
  return comm->get_finish_time();
}

void Kernel::finish_flows(Process& self, int phase) {
  self.wait = Wait::Flows;
  self.phase = phase;
  for (const FlowId flow : self.flows) {
    simgrid::s4u::CommPtr& comm = simgrid_->flows[static_cast<std::size_t>(flow)];
    comm->wait();
  }
  self.wait = Wait::None;
  for (const FlowId flow : self.flows) {
    simgrid_->flows[static_cast<std::size_t>(flow)].reset();
    simgrid_->free_flows.push_back(flow);
  }
  self.flows.clear();
}

double Kernel::remaining_bytes(FlowId flow) const {
  const simgrid::s4u::CommPtr& comm = simgrid_->flows[static_cast<std::size_t>(flow)];
  return comm->get_state() == simgrid::s4u::Activity::State::FINISHED ? 0.0 : comm->get_remaining() / kByteScale;
}

}  // namespace podsim::engine

namespace podsim {

Platform::Platform(std::shared_ptr<const Topology> topology) : topology_(std::move(topology)) {
  engine::start_simgrid();
  zone_ = std::make_unique<engine::RouteZone>(*topology_, engine::kByteScale);
}

Platform::~Platform() = default;

}  // namespace podsim
