// Loads from and stores to streaming memory, which the IPUs of a machine share.
#pragma once

#include <vector>

#include "simulator/engine/ipu.hpp"
#include "simulator/engine/kernel.hpp"
#include "simulator/engine/link_bytes.hpp"
#include "simulator/engine/link_users.hpp"
#include "simulator/program/program.hpp"
#include "topology/topology.hpp"

namespace podsim::engine {

class RemoteMemory {
 public:
  RemoteMemory(const Topology& topology, const Program& program, Kernel& kernel)
      : topology_(topology), program_(program), kernel_(kernel) {}

  // Registers the links of all loads and stores; UserError where an IPU that needs one has no streaming memory.
  void register_links(LinkUsers& users) const;

  // The bytes of all loads and stores of the whole run.
  void add_bytes(LinkBytes& bytes, const std::vector<Code>& codes) const;

  void load(Ipu& ipu);   // the RemoteLoad at the IPU's position
  void store(Ipu& ipu);  // the RemoteStore
  void wait(Ipu& ipu);   // for all overlapped ones so far

 private:
  void move(Ipu& ipu, const Route& route);

  const Topology& topology_;
  const Program& program_;
  Kernel& kernel_;
};

}  // namespace podsim::engine
