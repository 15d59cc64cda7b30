// DataFolder: finds and reads the parameter files that ship with the program.
#pragma once

#include <filesystem>
#include <string>

#include "topology/topology.hpp"

namespace podsim {

class DataFolder : public ParameterSource {
 public:
  // PODSIM_DATA, else share/podsim/data beside the installed program, else the source tree it was built from.
  DataFolder();
  explicit DataFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // "chips/bow" -> chips/bow.json. UserError where the file is absent or malformed.
  [[nodiscard]] Value load(const std::string& name) const override;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

// The scenarios that ship with the program: share/podsim/scenarios, or the source tree's.
[[nodiscard]] std::filesystem::path scenarios_folder();

}  // namespace podsim
