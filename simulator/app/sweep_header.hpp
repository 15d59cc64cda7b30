// SweepHeader: what makes two parts belong to the same sweep, written into journals and parts.
#pragma once

#include <string>

#include "simulator/app/sweep_grid.hpp"
#include "simulator/core/value.hpp"

namespace podsim {

struct SweepHeader {
  SweepGrid grid;
  SweepShard shard;
  std::string name;      // of the scenario
  std::string scenario;  // SHA-256 of the scenario with --set applied and files inlined
  std::string data;      // SHA-256 of the data folder
  std::string program;   // version
  bool fast_forward = true;

  // Points to simulate for this shard: the first ones of equal points, in order.
  [[nodiscard]] std::vector<bool> runnable() const;
  // Points of the shard, in order.
  [[nodiscard]] std::vector<std::size_t> points() const;
};

[[nodiscard]] Value to_value(const SweepHeader& header);
// UserError where it is no header.
[[nodiscard]] SweepHeader header_from(const Value& value);

// What differs: "the scenario", "the axes", …; empty where both belong to the same sweep. The shard is not compared.
[[nodiscard]] std::string difference(const SweepHeader& left, const SweepHeader& right);

}  // namespace podsim
