// Ranks: how mpirun, srun and their like say that several processes were started for one sweep. No MPI library is used:
// the ranks share their work through the journal's folder (sweep_journal.hpp), which costs no start-up time, needs
// nothing installed, and goes on when a rank is killed.
#pragma once

#include <functional>
#include <string>

namespace podsim {

struct Ranks {
  int rank = 0;
  int size = 1;
  int on_this_machine = 1;
  std::string job;  // the same for all ranks of one start, and for nobody else; empty: started alone
};

// From the variables of Open MPI, MPICH and Intel MPI (PMI), and srun. `variable` reads the environment: null where
// absent.
[[nodiscard]] Ranks find_ranks(const std::function<const char*(const char*)>& variable);

}  // namespace podsim
