// Element types of tensors and their sizes.
#pragma once

#include <cstdint>
#include <string_view>

namespace podsim {

enum class ElementType : std::uint8_t { Float32, Float16, Float8, Int32, Int8 };

[[nodiscard]] constexpr std::int64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::Float32:
    case ElementType::Int32: return 4;
    case ElementType::Float16: return 2;
    case ElementType::Float8:
    case ElementType::Int8: return 1;
  }
  return 0;
}

[[nodiscard]] constexpr std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::Float32: return "fp32";
    case ElementType::Float16: return "fp16";
    case ElementType::Float8: return "fp8";
    case ElementType::Int32: return "int32";
    case ElementType::Int8: return "int8";
  }
  return "";
}

}  // namespace podsim
