// Executes the code of one IPU and books every instant of its time.
#pragma once

#include <cstdint>
#include <functional>

#include "simulator/engine/collectives.hpp"
#include "simulator/engine/exchange.hpp"
#include "simulator/engine/host_calls.hpp"
#include "simulator/engine/host_streams.hpp"
#include "simulator/engine/ipu.hpp"
#include "simulator/engine/marks.hpp"
#include "simulator/engine/remote_memory.hpp"

namespace podsim::engine {

// The parts of the system that an IPU acts on.
struct Machinery {
  const Program& program;
  Kernel& kernel;
  Exchanges& exchanges;
  Collectives& collectives;
  RemoteMemory& memory;
  HostCalls& calls;
  HostStreams& streams;
};

class Interpreter {
 public:
  explicit Interpreter(const Machinery& machinery) : parts_(machinery) {}

  void execute(Ipu& ipu);

  // Called by the first IPU when it starts another iteration of a loop.
  void on_iteration(std::function<void(Ipu&)> called) { on_iteration_ = std::move(called); }
  // Called by the first IPU after each exchange.
  void on_exchange(std::function<void(Ipu&)> called) { on_exchange_ = std::move(called); }

  [[nodiscard]] Marks& update_ends() { return update_ends_; }
  [[nodiscard]] Marks& run_ends() { return run_ends_; }
  [[nodiscard]] double& amp_flops() { return amp_flops_; }
  // Logical seconds that the kernel's clock is behind, because periods were skipped.
  [[nodiscard]] double& skipped_seconds() { return skipped_seconds_; }

 private:
  bool step(Ipu& ipu);  // false at the end of the program
  void run(Ipu& ipu);
  void exchange(Ipu& ipu);
  void sync(Ipu& ipu);
  void collective(Ipu& ipu);
  void host_call(Ipu& ipu);
  void book(const HostCalls::Times& times, Ipu& ipu);  // of a call
  void end_of_update(Ipu& ipu);
  void end_of_loop(Ipu& ipu);
  [[nodiscard]] State waiting_state(const Ipu& ipu) const;
  static void drained(Ipu& ipu);

  Machinery parts_;
  std::function<void(Ipu&)> on_iteration_, on_exchange_;
  Marks update_ends_, run_ends_;
  double amp_flops_ = 0;
  double skipped_seconds_ = 0;
};

}  // namespace podsim::engine
