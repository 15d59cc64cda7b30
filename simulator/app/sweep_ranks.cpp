// Open MPI goes first: its mpirun may itself have been started by srun.
#include "simulator/app/sweep_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace podsim {

namespace {

struct Launcher {
  const char* rank;
  const char* size;
  const char* on_this_machine;  // may be absent
  std::vector<const char*> job;
};

// A batch script of Slurm has SLURM_PROCID, too; the number of tasks of a *step* is there under srun only.
const std::vector<Launcher>& launchers() {
  static const std::vector<Launcher> kLaunchers = {
      {"OMPI_COMM_WORLD_RANK",
       "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       {"PMIX_NAMESPACE", "OMPI_MCA_orte_hnp_uri"}},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", {"PMI_KVS", "SLURM_JOB_ID", "SLURM_STEP_ID"}},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr, {"SLURM_JOB_ID", "SLURM_STEP_ID"}}};
  return kLaunchers;
}

std::optional<int> number(const char* text) {
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1'000'000) return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

Ranks find_ranks(const std::function<const char*(const char*)>& variable) {
  for (const Launcher& launcher : launchers()) {
    const std::optional<int> rank = number(variable(launcher.rank));
    const std::optional<int> size = number(variable(launcher.size));
    if (!rank || !size || *size < 2 || *rank >= *size) continue;
    Ranks ranks{*rank, *size, 1, launcher.rank};
    if (launcher.on_this_machine != nullptr) {
      ranks.on_this_machine = std::max(1, number(variable(launcher.on_this_machine)).value_or(1));
    }
    for (const char* name : launcher.job) {
      const char* text = variable(name);
      ranks.job += std::string(" ") + (text == nullptr ? "" : text);
    }
    return ranks;
  }
  return {};
}

}  // namespace podsim
