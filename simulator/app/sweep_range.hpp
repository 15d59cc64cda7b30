// Ranges of numbers as a sweep's axis writes them: "1:10", "1:10:+3", "1:64:x2".
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace podsim {

// The values of a range as text, or nothing where `text` has not the form of one. Decimal steps stay decimal: 0:1:+0.1
// gives 0.3, not 0.30000000000000004. UserError (at `where`) for a range that never ends or has too many values.
[[nodiscard]] std::optional<std::vector<std::string>> range_values(const std::string& text, const std::string& where);

}  // namespace podsim
