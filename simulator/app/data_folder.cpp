// Looks for the data folder in the order: environment, installation, source tree.
#include "simulator/app/data_folder.hpp"

#include <cstdlib>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

namespace fs = std::filesystem;

// share/podsim/NAME beside the installed program, or empty.
fs::path installed_folder(const std::string& name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path installed = program.parent_path().parent_path() / "share" / "podsim" / name;
  return fs::is_directory(installed) ? installed : fs::path();
}

fs::path find_data_folder() {
  if (const char* given = std::getenv("PODSIM_DATA"); given != nullptr && *given != '\0') {
    if (!fs::is_directory(given)) {
      throw UserError("PODSIM_DATA", std::string(given) + " is not a folder", "unset it, or name podsim's data folder");
    }
    return given;
  }
  const fs::path installed = installed_folder("data");
  return installed.empty() ? fs::path(PODSIM_SOURCE_DATA) : installed;
}

}  // namespace

fs::path scenarios_folder() {
  const fs::path installed = installed_folder("scenarios");
  return installed.empty() ? fs::path(PODSIM_SOURCE_SCENARIOS) : installed;
}

DataFolder::DataFolder() : folder_(find_data_folder()) {}

Value DataFolder::load(const std::string& name) const { return read_json(folder_ / (name + ".json")); }

}  // namespace podsim
