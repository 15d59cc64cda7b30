// The grid of slots x IPUs: which passes run when, as text and as SVG.
#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include "simulator/program/analysis.hpp"

namespace podsim {

namespace {

// Follows one IPU's tree from the beginning to the end of the first weight update (training) or run (inference).
class GridReader {
 public:
  GridReader(const Program& program, std::int64_t maximum_slots, std::vector<GridCell>& cells)
      : program_(program), maximum_slots_(maximum_slots), cells_(cells) {}

  void read(int ipu) {
    ipu_ = ipu;
    slot_ = 0;
    exchanges_ = 0;
    follow(program_.ipus[static_cast<std::size_t>(ipu)], 0);
  }

 private:
  // False when everything that was asked for has been read.
  bool follow(const std::vector<Step>& body, std::int64_t base) {
    for (const Step& step : body) {
      if (slot_ >= maximum_slots_) return false;
      if (const auto* run = std::get_if<Run>(&step)) {
        cells_.push_back({ipu_, slot_, run->stage, run->pass, base + run->micro_batch.offset});
      } else if (std::holds_alternative<Exchange>(step)) {
        ++slot_;
        ++exchanges_;
      } else if (std::holds_alternative<Sync>(step) && exchanges_ == program_.slots_per_update) {
        ++slot_;  // a serial weight update: one IPU after the other
      } else if (std::holds_alternative<EndOfUpdate>(step) && program_.execution.mode == Mode::Training) {
        return false;
      } else if (const auto* loop = std::get_if<Repeat>(&step)) {
        const bool once = loop->kind == LoopKind::Runs;
        for (std::int64_t iteration = 0; iteration < (once ? 1 : loop->count); ++iteration) {
          if (!follow(loop->body, base + iteration * loop->stride)) return false;
        }
        if (once) return false;
      }
    }
    return true;
  }

  const Program& program_;
  std::int64_t maximum_slots_;
  std::vector<GridCell>& cells_;
  int ipu_ = 0;
  std::int64_t slot_ = 0;
  std::int64_t exchanges_ = 0;
};

std::string text_of(const GridCell& cell) {
  if (cell.pass == Pass::WeightUpdate) return std::string(letter_of(cell.pass));
  return std::string(letter_of(cell.pass)) + std::to_string(cell.micro_batch);
}

// Cells of the same IPU and slot, in the order in which they run.
using Places = std::map<std::pair<int, std::int64_t>, std::vector<const GridCell*>>;

Places places_of(const std::vector<GridCell>& cells) {
  Places places;
  for (const GridCell& cell : cells) places[{cell.ipu, cell.slot}].push_back(&cell);
  return places;
}

std::int64_t slot_count(const std::vector<GridCell>& cells) {
  std::int64_t slots = 0;
  for (const GridCell& cell : cells) slots = std::max(slots, cell.slot + 1);
  return slots;
}

std::string text_of(const std::vector<const GridCell*>& cells) {
  std::string text;
  for (const GridCell* cell : cells) {
    const std::string next = text_of(*cell);
    if (next == "U" && text == "U") continue;  // several stages of one IPU
    text += (text.empty() ? "" : "+") + next;
  }
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string_view colour_of(Pass pass) {
  switch (pass) {
    case Pass::Forward: return "#4c8bf5";
    case Pass::Recompute:
    case Pass::RecomputePartial: return "#9fc1fa";
    case Pass::Backward:
    case Pass::BackwardInput: return "#34a853";
    case Pass::BackwardWeights: return "#9ad7a9";
    case Pass::WeightUpdate: return "#fbbc04";
  }
  return "";
}

}  // namespace

std::vector<GridCell> grid(const Program& program, std::int64_t maximum_slots) {
  std::vector<GridCell> cells;
  GridReader reader(program, maximum_slots, cells);
  for (int ipu = 0; ipu < program.ipus_per_replica; ++ipu) reader.read(ipu);
  return cells;
}

std::string print_grid(const std::vector<GridCell>& cells, int ipus) {
  const std::int64_t slots = slot_count(cells);
  const Places places = places_of(cells);
  std::vector<std::string> lines;
  const std::size_t margin = ("IPU " + std::to_string(std::max(0, ipus - 1))).size();
  lines.push_back(padded("slot", margin));
  for (int ipu = 0; ipu < ipus; ++ipu) lines.push_back(padded("IPU " + std::to_string(ipu), margin));
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    std::vector<std::string> column{std::to_string(slot)};
    for (int ipu = 0; ipu < ipus; ++ipu) {
      const auto found = places.find({ipu, slot});
      column.push_back(found == places.end() ? "." : text_of(found->second));
    }
    std::size_t width = 0;
    for (const std::string& text : column) width = std::max(width, text.size());
    for (std::size_t row = 0; row < column.size(); ++row) lines[row] += "  " + padded(column[row], width);
  }
  std::string text;
  for (const std::string& line : lines) text += without_trailing_blanks(line) + '\n';
  return text;
}

std::string grid_svg(const std::vector<GridCell>& cells, int ipus) {
  constexpr int kCellWidth = 44, kCellHeight = 28, kMarginLeft = 60, kMarginTop = 24;  // pixels
  const std::int64_t slots = slot_count(cells);
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kMarginLeft + slots * kCellWidth + 8 << "\" height=\""
      << kMarginTop + ipus * kCellHeight + 8 << "\" font-family=\"sans-serif\" font-size=\"11\">\n";
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    out << "<text x=\"" << kMarginLeft + slot * kCellWidth + kCellWidth / 2
        << "\" y=\"16\" text-anchor=\"middle\" fill=\"#666\">" << slot << "</text>\n";
  }
  for (int ipu = 0; ipu < ipus; ++ipu) {
    const int top = kMarginTop + ipu * kCellHeight;
    out << "<text x=\"4\" y=\"" << top + 18 << "\">IPU " << ipu << "</text>\n<rect x=\"" << kMarginLeft << "\" y=\""
        << top << "\" width=\"" << slots * kCellWidth << "\" height=\"" << kCellHeight - 2 << "\" fill=\"#eee\"/>\n";
  }
  for (const auto& [place, inside] : places_of(cells)) {
    const double width = static_cast<double>(kCellWidth - 2) / static_cast<double>(inside.size());
    const int top = kMarginTop + place.first * kCellHeight;
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const double left = static_cast<double>(kMarginLeft + place.second * kCellWidth) + width * static_cast<double>(i);
      out << "<rect x=\"" << left << "\" y=\"" << top << "\" width=\"" << width << "\" height=\"" << kCellHeight - 2
          << "\" fill=\"" << colour_of(inside[i]->pass) << "\"><title>" << name_of(inside[i]->pass) << ", stage "
          << inside[i]->stage << ", micro-batch " << inside[i]->micro_batch << "</title></rect>\n<text x=\""
          << left + width / 2 << "\" y=\"" << top + 17 << "\" text-anchor=\"middle\">" << text_of(*inside[i])
          << "</text>\n";
    }
  }
  out << "</svg>\n";
  return out.str();
}

}  // namespace podsim
