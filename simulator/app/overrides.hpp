// Overrides from the command line: `--set K=V`, where K is the dotted path of any scenario value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

// A key and its value as text.
using Override = std::pair<std::string, std::string>;

// "a.b=1" -> one pair; "n_embd=10,scale=false,matmul_proportion=[0.08 0.2]" -> several (commas inside brackets and
// quotes do not split). UserError where a part has no "=" or no key.
[[nodiscard]] std::vector<Override> parse_overrides(const std::string& text);

// The full path of a key: IPUConfig keys and pipeline_depth may stand without their prefix.
// `where` is for messages; empty: --set KEY.
[[nodiscard]] std::string full_path(const std::string& key, const std::string& where = {});

// Sets each value in the tree. UserError for a key whose first part is no key of a scenario (with the nearest one).
void apply_overrides(Value& source, const std::vector<Override>& overrides);

}  // namespace podsim
