// One file for each result, in 256 folders.
#include "simulator/app/sweep_cache.hpp"

#include <unistd.h>

#include <fstream>
#include <system_error>

#include "simulator/app/sha256.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/text_file.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace fs = std::filesystem;

namespace {

// Digests of all files that texts of the tree name (weights, graphs, …), relative to either folder.
void add_files(const Value& value, const fs::path& folder, std::string& content) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.object()) add_files(member, folder, content);
  } else if (value.is_array()) {
    for (const Value& item : value.array()) add_files(item, folder, content);
  } else if (value.is_text() && value.text().find_first_of("./") != std::string::npos) {
    for (const fs::path& path : {folder / value.text(), fs::current_path() / value.text()}) {
      std::error_code error;
      if (fs::is_regular_file(path, error)) content += value.text() + " " + sha256(read_text(path)) + "\n";
    }
  }
}

}  // namespace

SweepCache::SweepCache(const fs::path& folder, std::string context) : folder_(folder), context_(std::move(context)) {
  if (!enabled()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!fs::is_directory(folder_) || access(folder_.c_str(), W_OK) != 0) {
    throw UserError("--cache " + folder_.string(), "is no folder that can be written", "name another one");
  }
}

std::string SweepCache::key(const Value& source, const fs::path& folder) const {
  std::string content = context_ + "\n" + to_json(source, 0) + "\n";
  add_files(source, folder, content);
  return sha256(content);
}

fs::path SweepCache::place(const std::string& key) const {
  return folder_ / key.substr(0, 2) / (key.substr(2) + ".json");
}

std::optional<SweepRow> SweepCache::find(const std::string& key) const {
  std::ifstream file(place(key), std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || file.eof()) return std::nullopt;
  try {
    return row_from(parse_json(line, place(key).string()));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

void SweepCache::keep(const std::string& key, const SweepRow& row) const {
  const fs::path target = place(key);
  std::error_code error;
  fs::create_directory(target.parent_path(), error);
  std::string machine(256, '\0');
  if (gethostname(machine.data(), machine.size() - 1) != 0) machine = "machine";
  machine.resize(machine.find('\0'));
  const fs::path temporary = target.string() + "." + machine + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(temporary, std::ios::binary);
  file << to_json(to_value(row), 0) << "\n";
  file.close();
  if (file.good()) fs::rename(temporary, target, error);
  if (!file.good() || error) fs::remove(temporary, error);
}

}  // namespace podsim
