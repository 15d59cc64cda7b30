// Numbers to text without the locale, so that every machine prints the same.
#include "simulator/core/format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace podsim {

namespace {

constexpr double kMebi = 1024.0 * 1024.0;

struct Unit {
  double size;
  std::string_view name;
};

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals);
  return {buffer.data(), end.ptr};
}

// Commas between the thousands of the whole part.
std::string grouped(std::string text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t start = text.front() == '-' ? 1 : 0;
  for (std::size_t place = point; place > start + 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

// At most `digits` significant digits, no exponent and no trailing zeros.
std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const int magnitude = value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = std::max(0, digits - 1 - magnitude);
  std::string text = fixed(value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  if (text == "-0") text = "0";
  return grouped(std::move(text));
}

// In the largest unit whose rounded count is at least one, else in the smallest.
template <std::size_t Count>
std::string in_units(double value, const std::array<Unit, Count>& units, int digits) {
  const double rounding = 1 - 0.5 * std::pow(10.0, -digits);
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.size * rounding) return significant(value / unit.size, digits) + std::string(unit.name);
  }
  return significant(value / units.back().size, digits) + std::string(units.back().name);
}

}  // namespace

std::string format_seconds(double seconds) {
  constexpr std::array<Unit, 5> kUnits = {{{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}, {1e-9, " ns"}, {1e-12, " ps"}}};
  return seconds == 0 ? "0 s" : in_units(seconds, kUnits, 4);
}

std::string format_bytes(double bytes) {
  if (std::abs(bytes) < kMebi) return significant(std::round(bytes), 7) + " B";
  constexpr std::array<Unit, 3> kUnits = {{{kMebi * kMebi, " TiB"}, {kMebi * 1024, " GiB"}, {kMebi, " MiB"}}};
  return in_units(bytes, kUnits, 4);
}

std::string format_rate(double per_second, const std::string& unit) {
  constexpr std::array<Unit, 5> kUnits = {{{1e12, " T "}, {1e9, " G "}, {1e6, " M "}, {1e3, " k "}, {1, " "}}};
  return in_units(per_second, kUnits, 3) + unit + "/s";
}

std::string format_share(double share) { return fixed(100 * share, 1) + "%"; }

std::string format_count(long long count) { return grouped(std::to_string(count)); }

std::string format_exact(double value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

}  // namespace podsim
