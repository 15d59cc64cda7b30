// JSON text <-> Value. The JSON library stays in the .cpp.
#pragma once

#include <filesystem>
#include <string>

#include "simulator/core/value.hpp"

namespace podsim {

// Parses JSON with // and /* */ comments. UserError with `name`, line and column on a syntax error; on a duplicate
// key, a number out of double's range or an integer out of int64's, with the JSON pointer. Every node of the result
// knows its place ("name:/pointer").
[[nodiscard]] Value parse_json(const std::string& text, const std::string& name);

// Reads and parses a file. UserError where it is absent, a folder or not readable.
[[nodiscard]] Value read_json(const std::filesystem::path& path);

// Indented JSON; doubles in the shortest form that reads back equal; keys in their order.
[[nodiscard]] std::string to_json(const Value& value, int indent = 2);

}  // namespace podsim
