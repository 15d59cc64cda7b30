// JSON in and out: what damages a configuration silently elsewhere is refused here.
#include "simulator/config/json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/message.hpp"

namespace podsim {
namespace {

std::string refusal(const std::string& text) {
  return message_of([&] { (void)parse_json(text, "s.json"); });
}

TEST(ParseJson, KeepsTypesOrderAndPlaces) {
  const Value value = parse_json(R"({"b": 1, "a": [true, null, 2.0, "x"], "c": {"d": -7}})", "s.json");
  EXPECT_EQ(value.object()[0].first, "b");
  EXPECT_TRUE(value.at("b").is_integer());
  const Value::Array& items = value.at("a").array();
  EXPECT_TRUE(items[0].boolean());
  EXPECT_TRUE(items[1].is_null());
  EXPECT_FALSE(items[2].is_integer());
  EXPECT_EQ(items[3].text(), "x");
  EXPECT_EQ(value.at("c").at("d").integer(), -7);
  EXPECT_EQ(value.at("c").at("d").where(), "s.json:/c/d");
}

TEST(ParseJson, AllowsComments) {
  EXPECT_EQ(parse_json("// a scenario\n{\"a\": /* one */ 1}", "s.json").at("a").integer(), 1);
}

TEST(ParseJson, SyntaxErrorsNameLineAndColumn) {
  EXPECT_EQ(refusal("{\n  \"a\": 1,\n}").substr(0, 29), "s.json: line 3, column 1: syn");
  EXPECT_NE(refusal("{\"a\": }").find("line 1, column 7"), std::string::npos);
  EXPECT_NE(refusal("").find("s.json: line 1, column 1"), std::string::npos);
  EXPECT_NE(refusal("{} x").find("line 1, column 4"), std::string::npos);
  EXPECT_NE(refusal("{\"a\": NaN}").find("s.json: line 1"), std::string::npos);
}

TEST(ParseJson, RefusesDuplicateKeys) {
  EXPECT_EQ(refusal(R"({"a": {"b": 1, "c": 2, "b": 3}})"),
            "s.json:/a/b: the key \"b\" stands twice in this object (remove one of them)");
  EXPECT_EQ(refusal(R"([{"b": 1}, {"b": 1}])"), "no UserError");
}

TEST(ParseJson, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(refusal(R"({"a": [0, 9223372036854775808]})"),
            "s.json:/a/1: the integer 9223372036854775808 does not fit 64 bits (write it as 1.5e20 if it is a real "
            "number)");
  EXPECT_EQ(refusal(R"({"a": 99999999999999999999})").substr(0, 47), "s.json:/a: the integer 99999999999999999999 doe");
  EXPECT_EQ(refusal(R"({"a": -99999999999999999999})").substr(0, 48),
            "s.json:/a: the integer -99999999999999999999 doe");
  EXPECT_EQ(refusal(R"({"a": 1e999})"),
            "s.json:/a: the number 1e999 is out of the range of a double (at most 1.7976931348623157e308)");
  EXPECT_EQ(parse_json("9223372036854775807", "s").integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_json("-9223372036854775808", "s").integer(), std::numeric_limits<std::int64_t>::min());
}

TEST(ParseJson, RefusesNestingThatWouldOverflowTheStack) {
  EXPECT_EQ(refusal(std::string(100000, '[')), "s.json: more than 1000 levels of nesting");
}

TEST(ReadJson, NamesFilesThatAreAbsentOrFolders) {
  EXPECT_EQ(message_of([] { (void)read_json("/nowhere/x.json"); }), "/nowhere/x.json: there is no such file");
  EXPECT_EQ(message_of([] { (void)read_json("/"); }), "/: is a folder, not a file");
}

TEST(ReadJson, PlacesStartWithTheFile) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "podsim_read_json.json";
  std::ofstream(file) << R"({"a": {"b": 1}})";
  EXPECT_EQ(read_json(file).at("a").at("b").where(), file.string() + ":/a/b");
  std::filesystem::remove(file);
}

TEST(ToJson, IndentsObjectsAndKeepsPlainListsOnOneLine) {
  const Value value = parse_json(R"({"b":[1,2.0,"x"],"a":{"c":null,"d":true},"e":[{"f":1}],"g":{},"h":[]})", "s");
  EXPECT_EQ(to_json(value),
            "{\n  \"b\": [1, 2.0, \"x\"],\n  \"a\": {\n    \"c\": null,\n    \"d\": true\n  },\n"
            "  \"e\": [\n    {\n      \"f\": 1\n    }\n  ],\n  \"g\": {},\n  \"h\": []\n}");
  EXPECT_EQ(to_json(value, 0), R"({"b":[1,2.0,"x"],"a":{"c":null,"d":true},"e":[{"f":1}],"g":{},"h":[]})");
}

TEST(ToJson, EscapesText) { EXPECT_EQ(to_json(Value("a\"b\\\n\x01")), R"("a\"b\\\n\u0001")"); }

TEST(ToJson, HasNoWordForNumbersThatAreNotFinite) {
  EXPECT_THROW((void)to_json(Value(std::nan(""))), InternalError);
  EXPECT_THROW((void)to_json(Value(INFINITY)), InternalError);
}

RC_GTEST_PROP(ToJson, DoublesReadBackEqualAndStayDoubles, (std::uint64_t bits)) {
  const double number = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(number));
  RC_ASSERT(parse_json(to_json(Value(number)), "s") == Value(number));
}

RC_GTEST_PROP(ToJson, TextReadsBackEqual, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  RC_ASSERT(parse_json(to_json(Value(text)), "s").text() == text);
}

}  // namespace
}  // namespace podsim
