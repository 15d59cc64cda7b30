// Parameter files: what is read, what is refused, and overrides from a scenario.
#include "simulator/core/parameter.hpp"

#include <gtest/gtest.h>

#include "tests/support/message.hpp"

namespace podsim {
namespace {

Value clock() {
  return Value()
      .set("value", 1.85e9)
      .set("unit", "Hz")
      .set("source", "Bow-2000 datasheet")
      .set("confidence", "vendor")
      .set("range", Value::Array{Value(1.8e9), Value(1.9e9)});
}

Value file_with(Value parameter) {
  Value file;
  file.set("name", "bow").set("kind", "chip").set("parameters", Value().set("clock", std::move(parameter)));
  file.locate("bow.json:");
  return file;
}

std::string refusal(Value parameter) {
  return message_of([&] { (void)ParameterSet(file_with(std::move(parameter))); });
}

TEST(ParameterSet, KeepsValueUnitSourceConfidenceAndRange) {
  const ParameterSet set(file_with(clock()));
  EXPECT_EQ(set.name(), "bow");
  EXPECT_EQ(set.get("clock"), 1.85e9);
  const Parameter* parameter = set.find("clock");
  ASSERT_NE(parameter, nullptr);
  EXPECT_EQ(parameter->unit, "Hz");
  EXPECT_EQ(parameter->source, "Bow-2000 datasheet");
  EXPECT_EQ(name_of(parameter->confidence), "vendor");
  EXPECT_EQ(parameter->minimum, 1.8e9);
  EXPECT_EQ(parameter->maximum, 1.9e9);
  EXPECT_EQ(set.find("cloc"), nullptr);
  EXPECT_THROW((void)set.get("cloc"), InternalError);
}

TEST(ParameterSet, WithoutRangeTheValueIsTheRange) {
  Value parameter = clock();
  parameter.erase("range");
  const ParameterSet set(file_with(parameter));
  EXPECT_EQ(set.find("clock")->minimum, 1.85e9);
  EXPECT_EQ(set.find("clock")->maximum, 1.85e9);
}

TEST(ParameterSet, RefusesFiguresWithoutSourceOrConfidence) {
  EXPECT_EQ(refusal(clock().set("source", "")), "bow.json:/parameters/clock/source: a parameter needs a source");
  Value parameter = clock();
  parameter.erase("source");
  EXPECT_EQ(refusal(parameter), "bow.json:/parameters/clock: \"source\" is missing (where the figure is stated)");
  EXPECT_EQ(refusal(clock().set("confidence", "sure")),
            "bow.json:/parameters/clock/confidence: unknown choice \"sure\" (one of vendor, measured, software, "
            "reverse-engineered, inferred, user)");
}

TEST(ParameterSet, RefusesARangeThatMissesItsValue) {
  EXPECT_EQ(refusal(clock().set("range", Value::Array{Value(1.9e9), Value(2e9)})),
            "bow.json:/parameters/clock/range: expected [lowest, highest] around the value 1.85e+09");
}

TEST(ParameterSet, RefusesUnknownKeys) {
  EXPECT_EQ(message_of([] { (void)ParameterSet(file_with(clock()).set("paramters", 1)); }),
            "unknown key \"paramters\" (did you mean \"parameters\"?)");
}

TEST(ParameterSet, IsOverriddenByTheScenario) {
  ParameterSet set(file_with(clock()));
  Value overrides;
  overrides.set("clock", 1.6e9);
  overrides.locate("s.json:/system/parameters");
  set.override_with(overrides);
  EXPECT_EQ(set.get("clock"), 1.6e9);
  EXPECT_EQ(set.find("clock")->source, "s.json:/system/parameters/clock");
  EXPECT_EQ(set.find("clock")->confidence, Confidence::User);
}

TEST(ParameterSet, RefusesBadOverrides) {
  ParameterSet set(file_with(clock()));
  const auto refused = [&](const char* name, Value value) {
    Value overrides;
    overrides.set(name, std::move(value));
    overrides.locate("s.json:/p");
    return message_of([&] { set.override_with(overrides); });
  };
  EXPECT_EQ(refused("clok", 1.0), "s.json:/p/clok: unknown key \"clok\" (did you mean \"clock\"?)");
  EXPECT_EQ(refused("clock", 0), "s.json:/p/clock: must be more than 0 Hz, found 0");
  EXPECT_EQ(refused("clock", "fast"), "s.json:/p/clock: expected a number, found the string \"fast\"");
  EXPECT_EQ(set.get("clock"), 1.85e9);
}

}  // namespace
}  // namespace podsim
