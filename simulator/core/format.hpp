// Readable numbers for people: seconds, bytes, rates and shares with a fitting unit.
#pragma once

#include <string>

namespace podsim {

[[nodiscard]] std::string format_seconds(double seconds);                           // "12.65 s", "3.21 ms", "870 ns"
[[nodiscard]] std::string format_bytes(double bytes);                               // "638,976 B", "1.2 MiB"
[[nodiscard]] std::string format_rate(double per_second, const std::string& unit);  // "5.18 k samples/s"
[[nodiscard]] std::string format_share(double share);                               // "12.3%"
[[nodiscard]] std::string format_count(long long count);                            // "65,536"
[[nodiscard]] std::string format_exact(double value);  // shortest text that reads back equal

}  // namespace podsim
