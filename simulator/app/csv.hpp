// Comma-separated values with quoted fields (RFC 4180), header first.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace podsim {

struct CsvTable {
  std::string file;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  // UserError where there is no such column.
  [[nodiscard]] const std::string& cell(std::size_t row, std::string_view column) const;
};

// UserError where the file cannot be read, a quote is not closed, or a row has another number of fields.
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& file);
[[nodiscard]] CsvTable parse_csv(const std::string& text, const std::string& name);

}  // namespace podsim
