// Changes values of a configuration by dotted path or by an assignment string, as `--set` does.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

// Reads a value given as text: JSON where it is JSON ("8", "true", "[1, 2]", "{…}"), a list in the form "[a b c]",
// else the text itself. UserError where text that starts as JSON list, object or string does not parse.
[[nodiscard]] Value parse_value(const std::string& text, const std::string& where);

// Sets the value at "a.b.0.c". Members that are missing are made; an index must be one of the list's, or its length to
// add an element. UserError (at "--set a.b.0.c") where the path leads through something that is neither list nor
// object.
void set_path(Value& root, std::string_view path, const std::string& text);
// The same with a value that comes from `where`.
void set_path(Value& root, std::string_view path, Value value, const std::string& where);

// "n_embd=10,scale=false,matmul_proportion=[0.08 0.2]" as pairs of key and text; commas inside brackets, braces and
// quotes do not split. UserError (at `where`) for a part without "=" or key.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> split_assignments(std::string_view text,
                                                                                 const std::string& where);

}  // namespace podsim
