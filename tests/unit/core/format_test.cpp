// Numbers for people.
#include "simulator/core/format.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace podsim {
namespace {

TEST(Format, Seconds) {
  EXPECT_EQ(format_seconds(12.65), "12.65 s");
  EXPECT_EQ(format_seconds(3.21e-3), "3.21 ms");
  EXPECT_EQ(format_seconds(870e-9), "870 ns");
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(12345.6), "12,346 s");
  EXPECT_EQ(format_seconds(-2.5e-6), "-2.5 us");
}

TEST(Format, RoundingReachesTheNextUnit) {
  EXPECT_EQ(format_seconds(0.99999), "1 s");
  EXPECT_EQ(format_seconds(0.9994), "999.4 ms");
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(638976), "638,976 B");
  EXPECT_EQ(format_bytes(1.2 * 1024 * 1024), "1.2 MiB");
  EXPECT_EQ(format_bytes(1472.0 * 638976), "897 MiB");  // an IPU of 1472 tiles of 624 KiB
  EXPECT_EQ(format_bytes(256.0 * 1024 * 1024 * 1024), "256 GiB");
}

TEST(Format, RatesSharesCounts) {
  EXPECT_EQ(format_rate(5180, "samples"), "5.18 k samples/s");
  EXPECT_EQ(format_rate(12.34, "samples"), "12.3 samples/s");
  EXPECT_EQ(format_rate(47.5e12, "B"), "47.5 T B/s");
  EXPECT_EQ(format_share(0.1234), "12.3%");
  EXPECT_EQ(format_count(65536), "65,536");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(std::numeric_limits<long long>::max()), "9,223,372,036,854,775,807");
}

TEST(Format, ExactTextReadsBackEqual) {
  EXPECT_EQ(format_exact(0.1), "0.1");
  EXPECT_EQ(std::stod(format_exact(1.0 / 3)), 1.0 / 3);
}

}  // namespace
}  // namespace podsim
