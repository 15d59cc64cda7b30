// LoadedData: the data folder read once, for programs that compile many scenarios, with a name for its content.
#pragma once

#include <map>
#include <string>

#include "simulator/app/data_folder.hpp"

namespace podsim {

class LoadedData : public DataFolder {
 public:
  LoadedData();

  [[nodiscard]] Value load(const std::string& name) const override;
  // SHA-256 of all files' names and contents.
  [[nodiscard]] const std::string& digest() const { return digest_; }

 private:
  std::map<std::string, Value> files_;
  std::string digest_;
};

}  // namespace podsim
