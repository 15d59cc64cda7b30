// Values, paths and assignments given as text.
#include "simulator/config/set_path.hpp"

#include <gtest/gtest.h>

#include "simulator/config/json.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

Value scenario() {
  return parse_json(R"({"system": {"pod": "pod16"}, "stages": [{"ipu": 0}, {"ipu": 1}], "runs": 2})", "s.json");
}

std::string refusal(const std::string& path, const std::string& text) {
  Value value = scenario();
  return message_of([&] { set_path(value, path, text); });
}

TEST(ParseValue, IsJsonWhereItIsJson) {
  EXPECT_EQ(parse_value("8", ""), Value(8));
  EXPECT_EQ(parse_value(" 0.5 ", ""), Value(0.5));
  EXPECT_EQ(parse_value("false", ""), Value(false));
  EXPECT_EQ(parse_value("[1, 2]", ""), Value(Value::Array{Value(1), Value(2)}));
  EXPECT_EQ(parse_value(R"({"grouped": {}})", "").object()[0].first, "grouped");
  EXPECT_EQ(parse_value("\"8\"", ""), Value("8"));
}

TEST(ParseValue, ElseIsText) {
  EXPECT_EQ(parse_value("bow-pod16", ""), Value("bow-pod16"));
  EXPECT_EQ(parse_value("", ""), Value(""));
  EXPECT_EQ(parse_value("1e999", ""), Value("1e999"));
}

TEST(ParseValue, ReadsListsWithBlanks) {
  EXPECT_EQ(parse_value("[0.08 0.2 0.25 0.25]", ""),
            Value(Value::Array{Value(0.08), Value(0.2), Value(0.25), Value(0.25)}));
  EXPECT_EQ(parse_value("[3  7]", "--set layers").array()[1].where(), "--set layers:/1");
  EXPECT_EQ(parse_value("[a b]", ""), Value(Value::Array{Value("a"), Value("b")}));
}

TEST(ParseValue, RefusesBrokenJson) {
  EXPECT_EQ(message_of([] { (void)parse_value("{\"a\": ", "--set x"); }).substr(0, 24), "--set x: line 1, column ");
}

TEST(SetPath, ReplacesAndMakesMembers) {
  Value value = scenario();
  set_path(value, "system.pod", "bow-pod64");
  set_path(value, "ipu_config.device_iterations", "4");
  set_path(value, "stages.1.ipu", "3");
  EXPECT_EQ(value.at("system").at("pod").text(), "bow-pod64");
  EXPECT_EQ(value.at("ipu_config").at("device_iterations").integer(), 4);
  EXPECT_EQ(value.at("stages").array()[1].at("ipu").integer(), 3);
  EXPECT_EQ(value.at("ipu_config").at("device_iterations").where(), "--set ipu_config.device_iterations:");
}

TEST(SetPath, AnIndexAtTheEndAddsAnElement) {
  Value value = scenario();
  set_path(value, "stages.2.ipu", "2");
  EXPECT_EQ(value.at("stages").array().size(), 3U);
  EXPECT_EQ(value.at("stages").array()[2].at("ipu").integer(), 2);
}

TEST(SetPath, ErrorsNameTheCommandLine) {
  Value value = scenario();
  set_path(value, "runs", "many");
  EXPECT_EQ(message_of([&] { (void)value.at("runs").integer(); }),
            "--set runs: expected an integer, found the string \"many\"");
}

TEST(SetPath, RefusesPathsThatLeadNowhere) {
  EXPECT_EQ(refusal("runs.first", "1"), "--set runs.first: \"runs\" is an integer, it has no \"first\"");
  EXPECT_EQ(refusal("stages.7.ipu", "1"), "--set stages.7.ipu: \"7\" is no index of a list of 2 (indices start at 0)");
  EXPECT_EQ(refusal("stages.x", "1"), "--set stages.x: \"x\" is no index of a list of 2 (indices start at 0)");
  EXPECT_EQ(refusal("system..pod", "1"), "--set system..pod: the path has an empty part (write it as section.key)");
  EXPECT_EQ(refusal("", "1"), "--set : the path has an empty part (write it as section.key)");
}

TEST(SplitAssignments, KeepsCommasInsideBracketsAndQuotes) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(split_assignments("n_embd=10,scale=false, matmul_proportion=[0.08 0.2]", ""),
            (Pairs{{"n_embd", "10"}, {"scale", "false"}, {"matmul_proportion", "[0.08 0.2]"}}));
  EXPECT_EQ(split_assignments(R"(a=[1,2],b={"c": 1, "d": [2,3]},e="x,y",f=p=q)", ""),
            (Pairs{{"a", "[1,2]"}, {"b", R"({"c": 1, "d": [2,3]})"}, {"e", "\"x,y\""}, {"f", "p=q"}}));
}

TEST(SplitAssignments, RefusesPartsThatAssignNothing) {
  const std::string remedy =
      " is not of the form KEY=VALUE (for instance device_iterations=4,matmul_proportion=[0.1 0.2])";
  EXPECT_EQ(message_of([] { (void)split_assignments("a=1,b", "--set"); }), "--set: \"b\"" + remedy);
  EXPECT_EQ(message_of([] { (void)split_assignments("=1", "--set"); }), "--set: \"=1\"" + remedy);
}

}  // namespace
}  // namespace podsim
