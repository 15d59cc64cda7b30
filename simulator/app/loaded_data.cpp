// Reads every parameter file of the data folder.
#include "simulator/app/loaded_data.hpp"

#include <algorithm>
#include <vector>

#include "simulator/app/sha256.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/text_file.hpp"

namespace podsim {

namespace fs = std::filesystem;

LoadedData::LoadedData() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::string content;
  for (const fs::path& path : paths) {
    const std::string text = read_text(path);
    const std::string name = fs::relative(path, folder()).replace_extension().string();
    content += name + " " + sha256(text) + "\n";
    files_[name] = parse_json(text, path.string());
  }
  digest_ = sha256(content);
}

Value LoadedData::load(const std::string& name) const {
  const auto found = files_.find(name);
  return found != files_.end() ? found->second : DataFolder::load(name);
}

}  // namespace podsim
