// Parts may overlap, as long as they agree.
#include "simulator/app/sweep_merge.hpp"

#include <optional>

#include "simulator/app/sweep_write.hpp"
#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"

namespace podsim {

namespace {

void add_part(const SweepPart& part, std::vector<std::optional<SweepRow>>& rows) {
  for (const auto& [point, row] : part.rows) {
    if (point >= rows.size()) throw UserError(part.file, "has a point that the sweep has not", "run this part again");
    if (rows[point] && to_json(to_value(*rows[point]), 0) != to_json(to_value(row), 0)) {
      throw UserError(part.file, "disagrees with another part on point " + std::to_string(point),
                      "run both parts again with the same program");
    }
    rows[point] = row;
  }
}

void require_all(const std::vector<std::optional<SweepRow>>& rows) {
  std::size_t missing = 0;
  std::size_t first = 0;
  for (std::size_t point = rows.size(); point-- > 0;) {
    if (rows[point]) continue;
    ++missing;
    first = point;
  }
  if (missing == 0) return;
  throw UserError("merge",
                  std::to_string(missing) + " of " + std::to_string(rows.size()) +
                      " points are missing, the first is " + std::to_string(first),
                  "give all parts");
}

}  // namespace

void merge_parts(const std::string& output, const std::vector<std::string>& parts) {
  (void)sweep_format(output);
  std::optional<SweepHeader> header;
  std::vector<std::optional<SweepRow>> rows;
  for (const std::string& file : parts) {
    const SweepPart part = read_part(file);
    if (!header) {
      header = part.header;
      rows.resize(header->grid.points());
    }
    if (const std::string other = difference(*header, part.header); !other.empty()) {
      throw UserError(file, "belongs to another sweep than " + parts.front() + ": it differs in " + other,
                      "merge parts of one sweep");
    }
    add_part(part, rows);
  }
  require_all(rows);
  header->shard = {};
  write_sweep(output, *header, rows);
}

}  // namespace podsim
