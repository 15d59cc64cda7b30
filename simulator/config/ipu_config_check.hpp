// Checks between the fields of an IpuConfig.
#pragma once

#include "simulator/config/ipu_config.hpp"

namespace podsim {

// Which proportions were given as lists, so that their lengths count.
struct ProportionLists {
  bool matmul_proportion = false;
  bool inference = false;
};

// UserErrors where fields given for single IPUs disagree about how many there are, or exclude each other.
void check_ipu_config(const IpuConfig& config, const ProportionLists& lists);

}  // namespace podsim
