// Text files as a whole.
#pragma once

#include <filesystem>
#include <string>

namespace podsim {

// The content of a file. UserError where it is absent, a folder or not readable.
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

}  // namespace podsim
