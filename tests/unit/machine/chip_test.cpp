// Chips from the shipped files against published peaks, and errors of files that lack something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/config/json.hpp"
#include "simulator/core/error.hpp"
#include "tests/unit/machine/test_chip.hpp"

namespace podsim {
namespace {

using testing::HasSubstr;

// Datasheets: Bow Pod256 89.23 PFLOPS fp16 and 22.31 PFLOPS fp32 of 256 IPUs; Pod128 31.955 and 7.989 of 128
// (IPU-POD128 datasheet); GC2 124.5 and 31.1 TFLOPS.
TEST(Chip, PeaksAreTheDatasheets) {
  const Chip bow = shipped_chip("bow");
  EXPECT_NEAR(bow.peak_flops(ElementType::Float16, ElementType::Float16) * 256, 89.23e15, 0.01e15);
  EXPECT_NEAR(bow.peak_flops(ElementType::Float32, ElementType::Float32) * 256, 22.31e15, 0.01e15);
  const Chip gc200 = shipped_chip("gc200");
  EXPECT_NEAR(gc200.peak_flops(ElementType::Float16, ElementType::Float16) * 128, 31.955e15, 0.2e15);
  EXPECT_NEAR(gc200.peak_flops(ElementType::Float32, ElementType::Float32) * 128, 7.989e15, 0.05e15);
  const Chip gc2 = shipped_chip("gc2");
  EXPECT_NEAR(gc2.peak_flops(ElementType::Float16, ElementType::Float32), 124.5e12, 0.1e12);
  EXPECT_NEAR(gc2.peak_flops(ElementType::Float32, ElementType::Float32), 31.1e12, 0.1e12);
}

TEST(Chip, HalfPartialsDoubleTheRateOfMk2Only) {
  EXPECT_DOUBLE_EQ(shipped_chip("bow").peak_flops(ElementType::Float16, ElementType::Float16),
                   2 * shipped_chip("bow").peak_flops(ElementType::Float16, ElementType::Float32));
  EXPECT_DOUBLE_EQ(shipped_chip("gc2").peak_flops(ElementType::Float16, ElementType::Float16),
                   shipped_chip("gc2").peak_flops(ElementType::Float16, ElementType::Float32));
}

TEST(Chip, MemoryIsThatOfTheGuide) {  // 1472 tiles of 624 KiB, 897 MiB (guide, section 6.2)
  const Chip chip = shipped_chip("gc200");
  EXPECT_EQ(chip.bytes_per_tile, 638976);
  EXPECT_EQ(chip.bytes_per_tile * chip.tiles, std::int64_t{897} * 1024 * 1024);
}

std::string message_without(const std::string& text) {
  try {
    (void)chip_from(ParameterSet(parse_json(text, "chip.json")));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Chip, NamesWhatIsMissingOrWrong) {
  EXPECT_THAT(message_without(R"({"name": "x", "kind": "chip", "parameters": {}})"),
              HasSubstr("parameter \"clock_hz\" is missing"));
  EXPECT_THAT(message_without(R"({"name": "x", "kind": "chip", "parameters": {
      "clock_hz": {"value": 0, "unit": "Hz", "source": "s", "confidence": "user"}}})"),
              HasSubstr("\"clock_hz\" must be positive"));
  EXPECT_THAT(message_without(R"({"name": "x", "kind": "chip", "parameters": {
      "clock_hz": {"value": 1e9, "unit": "Hz", "source": "s", "confidence": "user"},
      "tiles": {"value": 3.5, "unit": "1", "source": "s", "confidence": "user"}}})"),
              HasSubstr("\"tiles\" must be a whole number"));
}

}  // namespace
}  // namespace podsim
