// Options that only the built model can judge: whether it has any use for them.
#pragma once

#include <string>
#include <vector>

#include "simulator/app/scenario.hpp"
#include "simulator/partition/staged_model.hpp"

namespace podsim {

// UserError for a choice that contradicts the model: named checkpoints without names, batch norms over replicas that
// there are not.
void check_option_uses(const Scenario& scenario, const StagedModel& model);

// Warnings for given options without effect; not errors, since configurations are shared between models.
[[nodiscard]] std::vector<std::string> unused_options(const Scenario& scenario, const StagedModel& model);

}  // namespace podsim
