// SweepCache: results of points by content, in a folder that any number of processes may share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "simulator/app/sweep_row.hpp"
#include "simulator/core/value.hpp"

namespace podsim {

class SweepCache {
 public:
  // An empty folder name: no cache. `context` stands for all else that results depend on: data, program, settings.
  // UserError where the folder cannot be made.
  SweepCache(const std::filesystem::path& folder, std::string context);

  [[nodiscard]] bool enabled() const { return !folder_.empty(); }
  // SHA-256 of a resolved scenario, of the files that it names, and of the context.
  [[nodiscard]] std::string key(const Value& source, const std::filesystem::path& folder) const;
  // A result kept earlier; damaged entries count as absent.
  [[nodiscard]] std::optional<SweepRow> find(const std::string& key) const;
  // Written beside its place and renamed, so that no reader meets half a result. A full disk is no error: results are
  // then simulated again.
  void keep(const std::string& key, const SweepRow& row) const;

 private:
  [[nodiscard]] std::filesystem::path place(const std::string& key) const;

  std::filesystem::path folder_;
  std::string context_;
};

}  // namespace podsim
