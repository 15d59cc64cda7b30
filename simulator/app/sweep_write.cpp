// CSV after RFC 4180; JSON lines with one object for each point.
#include "simulator/app/sweep_write.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "simulator/app/csv.hpp"
#include "simulator/config/json.hpp"
#include "simulator/config/set_path.hpp"
#include "simulator/config/text_file.hpp"
#include "simulator/core/error.hpp"
#include "simulator/core/format.hpp"
#include "simulator/output/atomic_file.hpp"
#include "simulator/output/sweep_table.hpp"

namespace podsim {

namespace {

constexpr std::string_view kComment = "# podsim sweep part: ";  // first line of a part in CSV

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

std::string csv_cell(const Value& value) { return csv_cell(value.is_text() ? value.text() : to_json(value, 0)); }

std::string csv_header(const SweepHeader& header) {
  std::string line = header.shard.count > 1 ? "point," : "";
  for (const std::string& key : header.grid.keys()) line += csv_cell(key) + ",";
  for (const SweepColumn& column : sweep_columns()) line += column.name + ",";
  return line + "bottleneck,error\n";
}

std::string csv_row(const SweepHeader& header, std::size_t point, const SweepRow& row) {
  std::string line = header.shard.count > 1 ? std::to_string(point) + "," : "";
  for (const Value& value : header.grid.values(point)) line += csv_cell(value) + ",";
  for (const double number : row.numbers) line += (std::isfinite(number) ? format_exact(number) : "") + ",";
  return line + csv_cell(row.bottleneck) + "," + csv_cell(row.error) + "\n";
}

std::string json_row(const SweepHeader& header, std::size_t point, const SweepRow& row) {
  Value value{Value::Object{}};
  if (header.shard.count > 1) value.set("point", static_cast<std::int64_t>(point));
  const std::vector<std::string> keys = header.grid.keys();
  const std::vector<Value> values = header.grid.values(point);
  for (std::size_t i = 0; i < keys.size(); ++i) value.set(keys[i], values[i]);
  const Value figures = to_value(row);
  for (const auto& [key, figure] : figures.object()) value.set(key, figure);
  return to_json(value, 0) + "\n";
}

const SweepRow& row_of(const SweepHeader& header, const std::vector<std::optional<SweepRow>>& rows, std::size_t point) {
  const std::optional<SweepRow>& row = rows[header.grid.representative(point)];
  if (!row) throw InternalError("sweep: point " + std::to_string(point) + " has no result");
  return *row;
}

SweepTableAxis table_axis(const SweepAxis& axis) {
  SweepTableAxis result{axis.keys, {}};
  for (std::size_t key = 0; key < axis.keys.size(); ++key) {
    std::vector<Value>& values = result.values.emplace_back();
    for (const auto& row : axis.rows) values.push_back(parse_value(row[key], axis.keys[key]));
  }
  return result;
}

std::string hdf5_text(const SweepHeader& header, const std::vector<std::optional<SweepRow>>& rows) {
  SweepTable table;
  table.attributes = {{"title", header.name}, {"program", "podsim " + header.program}, {"scenario", header.scenario}};
  for (const SweepAxis& axis : header.grid.axes()) table.axes.push_back(table_axis(axis));
  const std::vector<SweepColumn>& columns = sweep_columns();
  for (const SweepColumn& column : columns)
    table.numbers.push_back({column.name, column.units, column.description, {}});
  table.texts = {{"bottleneck", "what limits the throughput", {}}, {"error", "why the point cannot run", {}}};
  for (std::size_t point = 0; point < header.grid.points(); ++point) {
    const SweepRow& row = row_of(header, rows, point);
    for (std::size_t i = 0; i < columns.size(); ++i) table.numbers[i].values.push_back(row.numbers[i]);
    table.texts[0].values.push_back(row.bottleneck);
    table.texts[1].values.push_back(row.error);
  }
  const std::vector<char> image = sweep_image(table);
  return {image.begin(), image.end()};
}

// Numbers of a part's CSV are read back exactly.
double number_of(const std::string& text, const std::string& where) {
  if (text.empty()) return SweepRow::kUnknown;
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    throw UserError(where, "\"" + text + "\" is not a number", "run this part again");
  }
  return number;
}

std::size_t point_of(const std::string& text, const std::string& where) {
  std::size_t point = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), point);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    throw UserError(where, "\"" + text + "\" is no number of a point", "run this part again");
  }
  return point;
}

void read_csv_rows(SweepPart& part, const std::string& text) {
  const CsvTable table = parse_csv(text, part.file);
  const std::vector<SweepColumn>& columns = sweep_columns();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    SweepRow row;
    for (const SweepColumn& column : columns) row.set(column.name, number_of(table.cell(i, column.name), part.file));
    row.bottleneck = table.cell(i, "bottleneck");
    row.error = table.cell(i, "error");
    part.rows.emplace_back(point_of(table.cell(i, "point"), part.file), std::move(row));
  }
}

void read_json_rows(SweepPart& part, const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const Value value = parse_json(text.substr(begin, end - begin), part.file);
    part.rows.emplace_back(static_cast<std::size_t>(value.at("point").integer()), row_from(value));
    begin = end + 1;
  }
}

}  // namespace

SweepFormat sweep_format(const std::string& output) {
  const std::string suffix = std::filesystem::path(output).extension().string();
  if (output == "-" || suffix == ".csv") return SweepFormat::Csv;
  if (suffix == ".jsonl") return SweepFormat::JsonLines;
  if (suffix == ".h5") return SweepFormat::Hdf5;
  throw UserError("-o " + output, "the suffix says no format",
                  "use .csv, .jsonl or .h5, or - for CSV on standard output");
}

std::string sweep_text(const SweepHeader& header, const std::vector<std::optional<SweepRow>>& rows,
                       SweepFormat format) {
  if (format == SweepFormat::Hdf5) return hdf5_text(header, rows);
  const bool part = header.shard.count > 1;
  std::string text;
  if (part) text = (format == SweepFormat::Csv ? std::string(kComment) : "") + to_json(to_value(header), 0) + "\n";
  if (format == SweepFormat::Csv) text += csv_header(header);
  for (const std::size_t point : header.points()) {
    const SweepRow& row = row_of(header, rows, point);
    text += format == SweepFormat::Csv ? csv_row(header, point, row) : json_row(header, point, row);
  }
  return text;
}

void write_sweep(const std::string& output, const SweepHeader& header,
                 const std::vector<std::optional<SweepRow>>& rows) {
  const std::string text = sweep_text(header, rows, sweep_format(output));
  if (output == "-") {
    std::cout << text;
    return;
  }
  AtomicFile file(output);
  file.write(text);
  file.commit();
}

SweepPart read_part(const std::string& file) {
  const std::string text = read_text(file);
  const bool csv = text.starts_with(kComment);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos || (!csv && !text.starts_with("{\"podsim_sweep\""))) {
    throw UserError(file, "is not a part of a sweep", "parts are written by podsim sweep --shard K/N -o PART");
  }
  SweepPart part;
  part.file = file;
  const std::size_t begin = csv ? kComment.size() : 0;
  part.header = header_from(parse_json(text.substr(begin, end - begin), file));
  const std::string body = text.substr(end + 1);
  csv ? read_csv_rows(part, body) : read_json_rows(part, body);
  return part;
}

}  // namespace podsim
