// The interface of schedule plugins: one scheme = one .cpp in schemes/. A schedule is a pure function from a
// staged model to a program; it knows no times and no links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/core/option.hpp"
#include "simulator/partition/staged_model.hpp"
#include "simulator/program/program.hpp"

namespace podsim {

class Schedule {
 public:
  virtual ~Schedule() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // the key in the scenario: "pipelined"
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual std::vector<Option> options() const = 0;
  // Contract: the program passes check(); codes and host are left for the caller to fill. Combinations that the
  // scheme cannot run are UserErrors that name both numbers ("gradient_accumulation_steps 10 … multiple of 8").
  [[nodiscard]] virtual Program emit(const StagedModel& model, const Execution& execution,
                                     const Options& options) const = 0;
};

// All registered schedules, sorted by name (generated table, and those loaded with --plugin).
[[nodiscard]] const std::vector<const Schedule*>& schedules();
[[nodiscard]] const Schedule& find_schedule(std::string_view name, const std::string& where);

}  // namespace podsim
