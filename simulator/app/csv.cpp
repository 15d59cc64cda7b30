// A state machine over the text: inside or outside of quotes.
#include "simulator/app/csv.hpp"

#include <algorithm>

#include "simulator/config/text_file.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

std::vector<std::vector<std::string>> parse_records(const std::string& text, const std::string& name) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> record(1);
  bool quoted = false;
  bool empty = true;
  const auto finish = [&] {
    if (!empty) records.push_back(record);
    record.assign(1, "");
    empty = true;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quoted && letter == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      record.back() += text[++i];
    } else if (letter == '"') {
      quoted = !quoted;
      empty = false;
    } else if (!quoted && letter == ',') {
      record.emplace_back();
      empty = false;
    } else if (!quoted && (letter == '\n' || letter == '\r')) {
      finish();
    } else {
      record.back() += letter;
      empty = false;
    }
  }
  if (quoted) throw UserError(name, "a quote is not closed", "check the last fields");
  finish();
  return records;
}

}  // namespace

const std::string& CsvTable::cell(std::size_t row, std::string_view column) const {
  const auto place = std::find(columns.begin(), columns.end(), column);
  if (place == columns.end()) {
    throw UserError(file, "has no column \"" + std::string(column) + "\"", "the first line names the columns");
  }
  return rows.at(row)[static_cast<std::size_t>(place - columns.begin())];
}

CsvTable parse_csv(const std::string& text, const std::string& name) {
  CsvTable table;
  table.file = name;
  std::vector<std::vector<std::string>> records = parse_records(text, name);
  if (records.empty()) throw UserError(name, "is empty", "the first line names the columns");
  table.columns = std::move(records.front());
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].size() != table.columns.size()) {
      throw UserError(
          name + ":" + std::to_string(i + 1),
          std::to_string(records[i].size()) + " fields, but the header has " + std::to_string(table.columns.size()),
          "quote fields that hold commas");
    }
    table.rows.push_back(std::move(records[i]));
  }
  return table;
}

CsvTable read_csv(const std::filesystem::path& file) { return parse_csv(read_text(file), file.string()); }

}  // namespace podsim
