// The registered schedules: the table that CMake generates of schemes/, and those loaded from shared objects.
#include "schedules/registry.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "simulator/core/error.hpp"

namespace podsim {

std::vector<const Schedule*> schedule_table();

namespace {

std::vector<const Schedule*>& registered() {
  static std::vector<const Schedule*> table = [] {
    std::vector<const Schedule*> entries = schedule_table();
    std::sort(entries.begin(), entries.end(),
              [](const Schedule* left, const Schedule* right) { return left->name() < right->name(); });
    return entries;
  }();
  return table;
}

}  // namespace

const std::vector<const Schedule*>& schedules() { return registered(); }

const Schedule& find_schedule(std::string_view name, const std::string& where) {
  std::vector<std::string> known;
  std::string list;
  for (const Schedule* schedule : schedules()) {
    if (schedule->name() == name) return *schedule;
    known.push_back(schedule->name());
    list += (list.empty() ? "" : ", ") + schedule->name();
  }
  const std::string nearest = nearest_name(name, known);
  throw UserError(where, "unknown schedule \"" + std::string(name) + "\"",
                  (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") + "known: " + list);
}

void load_schedule_plugin(const std::string& file) {
  if (!std::filesystem::is_regular_file(file)) {
    throw UserError(file, "schedule plugin is not a file", "give the path of a shared object (schedules/README.md)");
  }
  void* library = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw UserError(file, std::string("schedule plugin cannot be loaded: ") + (reason == nullptr ? "?" : reason),
                    "build it against this version of podsim (schedules/README.md)");
  }
  using Entry = const Schedule* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "podsim_schedule"));
  const Schedule* schedule = entry == nullptr ? nullptr : entry();
  if (schedule == nullptr) {
    throw UserError(file, "schedule plugin has no function podsim_schedule(), or it returns nothing",
                    "define extern \"C\" const podsim::Schedule* podsim_schedule()");
  }
  std::vector<const Schedule*>& table = registered();
  const auto place =
      std::lower_bound(table.begin(), table.end(), schedule->name(),
                       [](const Schedule* left, const std::string& right) { return left->name() < right; });
  if (place != table.end() && (*place)->name() == schedule->name()) {
    throw UserError(file, "there is a schedule \"" + schedule->name() + "\" already", "give the plugin another name");
  }
  table.insert(place, schedule);
}

}  // namespace podsim
