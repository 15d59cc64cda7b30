// Writes and reads results of sweeps: tables for people and other programs, and parts of a sweep for `podsim merge`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/app/sweep_header.hpp"
#include "simulator/app/sweep_row.hpp"

namespace podsim {

enum class SweepFormat { Csv, JsonLines, Hdf5 };

// By suffix: .csv, .jsonl, .h5; "-" (standard output) is CSV. UserError for another one.
[[nodiscard]] SweepFormat sweep_format(const std::string& output);

// The whole file; rows in the order of the points, duplicates filled in from the first of equal points. `rows` has one
// entry for each point of the grid. With several shards the result is a part: it has the header (in CSV as a comment),
// and each row starts with its point's number.
[[nodiscard]] std::string sweep_text(const SweepHeader& header, const std::vector<std::optional<SweepRow>>& rows,
                                     SweepFormat format);

// Writes that to a file, at once and completely, or to standard output.
void write_sweep(const std::string& output, const SweepHeader& header,
                 const std::vector<std::optional<SweepRow>>& rows);

struct SweepPart {
  std::string file;
  SweepHeader header;
  std::vector<std::pair<std::size_t, SweepRow>> rows;
};
// UserError where the file is no part of a sweep, or is damaged.
[[nodiscard]] SweepPart read_part(const std::string& file);

}  // namespace podsim
