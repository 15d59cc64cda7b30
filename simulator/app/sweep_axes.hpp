// The axes of a sweep: which scenario values vary, and over what.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

// One dimension of the sweep: one key, or several that change together (zipped).
struct SweepAxis {
  std::vector<std::string> keys;               // as the user gave them
  std::vector<std::vector<std::string>> rows;  // per position: the value of each key, as text for --set
  std::vector<std::size_t> first;              // per position: the first one that has equal values
  std::string where;                           // for messages
};

// The value of `--vary`:
//   K=V1,V2,…            values as for --set; commas inside brackets, braces and quotes do not split
//   K=A:B, K=A:B:+S      A, A+S, … up to B (step 1 where there is none; negative steps go down)
//   K=A:B:xF             A, A·F, A·F², … up to B
//   K1,K2=V1/W1,V2/W2    zipped keys: V1 with W1, V2 with W2
// Values, ranges among them, may be mixed: K=0,1:64:x2. UserError for anything else.
[[nodiscard]] SweepAxis parse_axis(const std::string& text);

// The same from a sweep file: "K" with a list of values or a text as after the "=" above; "K1,K2" with a list of lists.
[[nodiscard]] SweepAxis axis_from(const std::string& keys, const Value& values);

// UserError where two of the keys (full paths) say the same value, or one is inside the other. `sets` are those of
// --set.
void require_distinct_keys(const std::vector<SweepAxis>& axes, const std::vector<std::string>& sets);

}  // namespace podsim
