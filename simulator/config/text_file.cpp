// Says what is wrong with a name before a stream is opened, which would not.
#include "simulator/config/text_file.hpp"

#include <fstream>
#include <sstream>

#include "simulator/core/error.hpp"

namespace podsim {

std::string read_text(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw UserError(path.string(), "there is no such file");
  if (std::filesystem::is_directory(status)) throw UserError(path.string(), "is a folder, not a file");
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw UserError(path.string(), "cannot be read", "check its permissions");
  return text.str();
}

}  // namespace podsim
