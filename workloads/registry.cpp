// The registered workloads, from the table that CMake generates of models/.
#include <algorithm>

#include "simulator/core/error.hpp"
#include "workloads/workload.hpp"

namespace podsim {

std::vector<const Workload*> workload_table();

const std::vector<const Workload*>& workloads() {
  static const std::vector<const Workload*> table = [] {
    std::vector<const Workload*> entries = workload_table();
    std::sort(entries.begin(), entries.end(),
              [](const Workload* left, const Workload* right) { return left->name() < right->name(); });
    return entries;
  }();
  return table;
}

const Workload& find_workload(std::string_view name, const std::string& where) {
  std::vector<std::string> known;
  std::string list;
  for (const Workload* workload : workloads()) {
    if (workload->name() == name) return *workload;
    known.push_back(workload->name());
    list += (list.empty() ? "" : ", ") + workload->name();
  }
  const std::string nearest = nearest_name(name, known);
  throw UserError(where, "unknown workload model \"" + std::string(name) + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + "known: " + list);
}

}  // namespace podsim
