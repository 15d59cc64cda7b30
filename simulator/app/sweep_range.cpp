// Sums run in units of the last decimal that was given, so that they are exact; products in doubles, printed with 15
// digits.
#include "simulator/app/sweep_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <regex>

#include "simulator/core/error.hpp"

namespace podsim {

namespace {

constexpr double kMostValues = 1e6;  // more are a typing error
constexpr int kMostDecimals = 12;

struct Range {
  std::string first, last, step;
  char kind = '+';  // or 'x'
};

std::optional<Range> split_range(const std::string& text) {
  const std::string number = R"(([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?))";
  static const std::regex kForm(R"(\s*)" + number + ":" + number + "(?::([-+x*])" + number + R"()?\s*)");
  std::smatch match;
  if (!std::regex_match(text, match, kForm)) return std::nullopt;
  Range range{match[1], match[2], "1", '+'};
  if (match[4].matched) {
    const char sign = match[3].str().front();
    range.kind = sign == 'x' || sign == '*' ? 'x' : '+';
    range.step = (sign == '-' ? "-" : "") + match[4].str();
  }
  return range;
}

double number_of(const std::string& text, const std::string& where) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) throw UserError(where, "\"" + text + "\" is not a number");
  return value;
}

// Digits behind the point that the text needs: "0.25" has 2, "1e-3" has 3.
int decimals_of(const std::string& text) {
  const std::size_t exponent = text.find_first_of("eE");
  const std::string mantissa = text.substr(0, exponent);
  const std::size_t point = mantissa.find('.');
  const int digits = point == std::string::npos ? 0 : static_cast<int>(mantissa.size() - point - 1);
  const int shift = exponent == std::string::npos ? 0 : std::atoi(text.c_str() + exponent + 1);
  return std::max(0, digits - shift);
}

std::string formatted(const char* format, int digits, double value) {
  std::array<char, 400> buffer{};
  const int length = std::snprintf(buffer.data(), buffer.size(), format, digits, value);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

std::string decimal(double value, int decimals) {
  std::string text = formatted("%.*f", decimals, value);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

[[noreturn]] void refuse(const std::string& text, const std::string& where, const std::string& problem) {
  throw UserError(where, "the range " + text + " " + problem, "for example 1:10, 1:10:+3, 10:1:-3 or 1:64:x2");
}

std::vector<std::string> sums(const Range& range, const std::string& text, const std::string& where) {
  const double first = number_of(range.first, where);
  const double last = number_of(range.last, where);
  const double step = number_of(range.step, where);
  if (step == 0) refuse(text, where, "has a step of 0 and never ends");
  if ((last - first) * step < 0) refuse(text, where, "steps away from its end");
  const int decimals = std::max(decimals_of(range.first), decimals_of(range.step));
  if (decimals > kMostDecimals) refuse(text, where, "has more than 12 decimals");
  const double count = std::floor((last - first) / step * (1 + 1e-12) + 1e-9) + 1;
  if (count > kMostValues) refuse(text, where, "has more than 1,000,000 values");
  const double scale = std::pow(10.0, decimals);
  std::vector<std::string> values;
  for (double i = 0; i < count; ++i) {
    values.push_back(decimal((std::round(first * scale) + i * std::round(step * scale)) / scale, decimals));
  }
  return values;
}

std::vector<std::string> products(const Range& range, const std::string& text, const std::string& where) {
  const double first = number_of(range.first, where);
  const double last = number_of(range.last, where);
  const double factor = number_of(range.step, where);
  if (first <= 0 || last <= 0 || factor <= 0) refuse(text, where, "multiplies, and needs numbers above 0");
  if (factor == 1) refuse(text, where, "has a factor of 1 and never ends");
  if ((last - first) * (factor - 1) < 0) refuse(text, where, "steps away from its end");
  const double count = std::floor(std::log(last / first) / std::log(factor) + 1e-9) + 1;
  if (count > kMostValues) refuse(text, where, "has more than 1,000,000 values");
  std::vector<std::string> values;
  for (double i = 0; i < count; ++i) {
    const double value = first * std::pow(factor, i);
    const bool whole = value == std::floor(value) && value < 1e15;
    values.push_back(whole ? decimal(value, 0) : formatted("%.*g", 15, value));
  }
  return values;
}

}  // namespace

std::optional<std::vector<std::string>> range_values(const std::string& text, const std::string& where) {
  const std::optional<Range> range = split_range(text);
  if (!range) return std::nullopt;
  return range->kind == 'x' ? products(*range, text, where) : sums(*range, text, where);
}

}  // namespace podsim
