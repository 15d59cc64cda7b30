// Changes one value of a configuration by its dotted path, as `--set K=V` does.
#pragma once

#include <string>
#include <string_view>

#include "simulator/core/value.hpp"

namespace podsim {

// Reads a value given as text: JSON where it is JSON ("8", "true", "[1, 2]", "{…}"), a list in the form "[a b c]",
// else the text itself. UserError where text that starts as JSON list, object or string does not parse.
[[nodiscard]] Value parse_value(const std::string& text, const std::string& where);

// Sets the value at "a.b.0.c". Members that are missing are made; an index must be one of the list's, or its length to
// add an element. UserError (at "--set a.b.0.c") where the path leads through something that is neither list nor
// object.
void set_path(Value& root, std::string_view path, const std::string& text);

}  // namespace podsim
