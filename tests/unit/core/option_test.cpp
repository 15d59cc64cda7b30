// Declared options: defaults, checks and their messages.
#include "simulator/core/option.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/message.hpp"

namespace podsim {
namespace {

std::vector<Option> declared() {
  return {{.name = "micro_batch_size", .type = OptionType::Integer, .default_value = 1, .minimum = 1, .maximum = 64},
          {.name = "order",
           .type = OptionType::Choice,
           .default_value = "popart",
           .choices = {"popart", "grouped", "interleaved"}},
          {.name = "share", .type = OptionType::Number, .default_value = 0.5, .minimum = 0},
          {.name = "layers", .type = OptionType::Integers, .minimum = -1},
          {.name = "verbose", .type = OptionType::Boolean, .default_value = false},
          {.name = "names", .type = OptionType::Texts},
          {.name = "title", .type = OptionType::Text},
          {.name = "inner", .type = OptionType::Object}};
}

Options read(Value value) {
  value.locate("s.json:/w");
  return read_options(value, declared());
}

std::string refusal(const std::string& key, Value value) {
  return message_of([&] { (void)read(Value().set(key, std::move(value))); });
}

TEST(Options, FillInDefaults) {
  const Options options = read_options(Value(), declared());
  EXPECT_EQ(options.integer("micro_batch_size"), 1);
  EXPECT_EQ(options.text("order"), "popart");
  EXPECT_EQ(options.number("share"), 0.5);
  EXPECT_FALSE(options.has("layers"));
  EXPECT_EQ(options.values().size(), declared().size());
}

TEST(Options, TakeGivenValuesAndKnowTheirPlace) {
  const Options options = read(Value().set("micro_batch_size", 8).set("names", Value::Array{Value("a"), Value("b")}));
  EXPECT_EQ(options.integer("micro_batch_size"), 8);
  EXPECT_EQ(options.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.where("micro_batch_size"), "s.json:/w/micro_batch_size");
  EXPECT_EQ(options.where("share"), "s.json:/w/share");
}

TEST(Options, NullStandsForNotGiven) {
  EXPECT_EQ(read(Value().set("micro_batch_size", Value())).integer("micro_batch_size"), 1);
}

TEST(Options, ASingleValueStandsForAListOfOne) {
  EXPECT_EQ(read(Value().set("layers", 3)).integers("layers"), std::vector<std::int64_t>{3});
}

TEST(Options, RefuseUnknownKeysWithTheNearestKnownOne) {
  EXPECT_EQ(refusal("micro_batch_sise", 8),
            "s.json:/w/micro_batch_sise: unknown key \"micro_batch_sise\" (did you mean \"micro_batch_size\"?)");
  EXPECT_EQ(refusal("qqqqqq", 8),
            "s.json:/w/qqqqqq: unknown key \"qqqqqq\" (known: micro_batch_size, order, share, layers, verbose, names, "
            "title, inner)");
}

TEST(Options, RefuseWrongTypes) {
  EXPECT_EQ(refusal("micro_batch_size", 3.7), "s.json:/w/micro_batch_size: expected an integer, found 3.7");
  EXPECT_EQ(refusal("micro_batch_size", true), "s.json:/w/micro_batch_size: expected an integer, found true");
  EXPECT_EQ(refusal("share", "half"), "s.json:/w/share: expected a number, found the string \"half\"");
  EXPECT_EQ(refusal("verbose", 1), "s.json:/w/verbose: expected true or false, found 1");
  EXPECT_EQ(refusal("title", 1), "s.json:/w/title: expected a string, found 1");
  EXPECT_EQ(refusal("inner", 1), "s.json:/w/inner: expected an object, found 1");
  EXPECT_EQ(refusal("layers", Value::Array{Value(1), Value(2.5)}),
            "s.json:/w/layers/1: expected an integer, found 2.5");
}

TEST(Options, RefuseNumbersOutOfRange) {
  EXPECT_EQ(refusal("micro_batch_size", 0), "s.json:/w/micro_batch_size: must be between 1 and 64, found 0");
  EXPECT_EQ(refusal("micro_batch_size", 5000000000),
            "s.json:/w/micro_batch_size: must be between 1 and 64, found 5e+09");
  EXPECT_EQ(refusal("share", -0.5), "s.json:/w/share: must be at least 0, found -0.5");
  EXPECT_EQ(refusal("share", INFINITY), "s.json:/w/share: must be at least 0, found inf");
  EXPECT_EQ(refusal("layers", Value::Array{Value(0), Value(-2)}),
            "s.json:/w/layers/1: must be between -1 and 1e+07, found -2");
}

// Their products must not overflow.
TEST(Options, IntegersWithoutALimitHaveOne) {
  Value value = Value::Object{};
  value.set("hidden", static_cast<std::int64_t>(1e18)).locate("s.json:/w");
  const std::vector<Option> sizes = {{.name = "hidden", .type = OptionType::Integer, .minimum = 1}};
  EXPECT_EQ(message_of([&] { (void)read_options(value, sizes); }),
            "s.json:/w/hidden: must be between 1 and 1e+07, found 1e+18");
}

TEST(Options, RefuseUnknownChoicesWithAllKnownOnes) {
  EXPECT_EQ(refusal("order", "groped"),
            "s.json:/w/order: unknown choice \"groped\" (one of popart, grouped, interleaved)");
}

TEST(Options, RefuseAMissingRequiredKey) {
  Value value = Value::Object{};
  value.locate("s.json:/w");
  const std::vector<Option> required = {
      {.name = "model", .type = OptionType::Text, .help = "name of the workload", .required = true}};
  EXPECT_EQ(message_of([&] { (void)read_options(value, required); }),
            "s.json:/w: \"model\" is missing (name of the workload)");
}

TEST(Options, RefuseWhatIsNoObject) {
  Value value(3);
  value.locate("s.json:/w");
  EXPECT_EQ(message_of([&] { (void)read_options(value, declared()); }), "s.json:/w: expected an object, found 3");
}

TEST(Options, OurOwnMistakesAreInternalErrors) {
  EXPECT_THROW((void)read_options(Value(), declared()).value("sharre"), InternalError);
  EXPECT_THROW((void)read_options(Value(), {{.name = "n", .type = OptionType::Integer, .default_value = "x"}}),
               InternalError);
}

TEST(NearestName, FindsTyposSwapsPrefixesAndHyphens) {
  const std::vector<std::string> known = {"replication_factor", "device_iterations", "seed", "micro_batch_size"};
  EXPECT_EQ(nearest_name("replcation_factor", known), "replication_factor");
  EXPECT_EQ(nearest_name("sede", known), "seed");
  EXPECT_EQ(nearest_name("micro_batch", known), "micro_batch_size");
  EXPECT_EQ(nearest_name("Device-Iterations", known), "device_iterations");
  EXPECT_EQ(nearest_name("optimizer", known), "");
}

}  // namespace
}  // namespace podsim
