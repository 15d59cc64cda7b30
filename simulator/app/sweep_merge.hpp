// Puts the parts of a sweep together.
#pragma once

#include <string>
#include <vector>

namespace podsim {

// UserError where a part belongs to another sweep, parts disagree on a point, or points are missing.
void merge_parts(const std::string& output, const std::vector<std::string>& parts);

}  // namespace podsim
