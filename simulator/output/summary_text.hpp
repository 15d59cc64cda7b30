// The summary for people: at most 100 columns, aligned, with units.
#pragma once

#include <string>

#include "simulator/trace/summary.hpp"

namespace podsim {

struct TextStyle {
  bool colour = false;    // terminal escapes; plain text otherwise
  int maximum_ipus = 16;  // rows of the table of IPUs; further ones are counted
};

// Ends with a newline.
[[nodiscard]] std::string summary_text(const Summary& summary, const TextStyle& style = {});

}  // namespace podsim
