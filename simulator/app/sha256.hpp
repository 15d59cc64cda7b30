// SHA-256 (FIPS 180-4): names for contents, where two different ones must never share a name.
#pragma once

#include <string>
#include <string_view>

namespace podsim {

// 64 hexadecimal digits.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace podsim
