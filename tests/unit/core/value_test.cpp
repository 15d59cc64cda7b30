// Values: checked reads, places and messages.
#include "simulator/core/value.hpp"

#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/support/message.hpp"

namespace podsim {
namespace {

Value scenario() {
  Value value;
  value.member("workload").set("micro_batch_size", 3.7).set("model", "bert");
  value.set("stages", Value::Array{Value(1), Value(2.5)});
  value.locate("scenario.json:");
  return value;
}

TEST(Value, KnowsItsPlaceAsJsonPointer) {
  const Value value = scenario();
  EXPECT_EQ(value.where(), "scenario.json:");
  EXPECT_EQ(value.at("workload").at("model").where(), "scenario.json:/workload/model");
  EXPECT_EQ(value.at("stages").array()[1].where(), "scenario.json:/stages/1");
}

TEST(Value, EscapesPointerTokensAsRfc6901Says) {
  Value value;
  value.set("a/b", 1).set("m~n", 2);
  value.locate("f:");
  EXPECT_EQ(value.at("a/b").where(), "f:/a~1b");
  EXPECT_EQ(value.at("m~n").where(), "f:/m~0n");
}

TEST(Value, RefusesLossyNumbers) {
  const Value value = scenario();
  EXPECT_EQ(message_of([&] { (void)value.at("workload").at("micro_batch_size").integer(); }),
            "scenario.json:/workload/micro_batch_size: expected an integer, found 3.7");
  EXPECT_EQ(message_of([] { (void)Value(1e300).integer(); }), "expected an integer, found 1e+300");
}

TEST(Value, TakesARealNumberThatIsAnExactInteger) { EXPECT_EQ(Value(1e6).integer(), 1000000); }

TEST(Value, RefusesOtherTypesAndNamesThem) {
  EXPECT_EQ(message_of([] { (void)Value(true).integer(); }), "expected an integer, found true");
  EXPECT_EQ(message_of([] { (void)Value("8").integer(); }), "expected an integer, found the string \"8\"");
  EXPECT_EQ(message_of([] { (void)Value(1).boolean(); }), "expected true or false, found 1");
  EXPECT_EQ(message_of([] { (void)Value(Value::Array{}).number(); }), "expected a number, found a list");
  EXPECT_EQ(message_of([] { (void)Value(Value::Object{}).text(); }), "expected a string, found an object");
  EXPECT_EQ(message_of([] { (void)Value().array(); }), "expected a list, found null");
  EXPECT_EQ(message_of([] { (void)Value(2.5).object(); }), "expected an object, found 2.5");
}

TEST(Value, NamesTheMissingMember) {
  EXPECT_EQ(message_of([] { (void)scenario().at("system"); }), "scenario.json: \"system\" is missing");
}

TEST(Value, KeepsTheOrderOfMembersAndReplacesInPlace) {
  Value value;
  value.set("b", 1).set("a", 2).set("b", 3);
  ASSERT_EQ(value.object().size(), 2U);
  EXPECT_EQ(value.object()[0].first, "b");
  EXPECT_EQ(value.at("b").integer(), 3);
  value.erase("b");
  EXPECT_FALSE(value.contains("b"));
}

TEST(Value, EqualityIgnoresPlacesButNotTypes) {
  Value placed(1);
  placed.set_where("somewhere");
  EXPECT_EQ(placed, Value(1));
  EXPECT_NE(Value(1), Value(1.0));
}

TEST(Value, WritingIntoAScalarIsOurBug) {
  Value value(1);
  EXPECT_THROW((void)value.member("x"), InternalError);
  EXPECT_THROW((void)value.mutable_array(), InternalError);
}

TEST(UserError, ShowsPlaceProblemAndRemedy) {
  EXPECT_STREQ(UserError("f.json:/a", "is wrong", "mend it").what(), "f.json:/a: is wrong (mend it)");
  EXPECT_STREQ(UserError("", "is wrong").what(), "is wrong");
  EXPECT_STREQ(UserError("f.json:", "is wrong").what(), "f.json: is wrong");
}

TEST(UserError, PutsALongRemedyOnItsOwnLine) {
  const std::string remedy(200, 'x');
  EXPECT_EQ(UserError("f", "is wrong", remedy).what(), "f: is wrong\n  " + remedy);
}

}  // namespace
}  // namespace podsim
