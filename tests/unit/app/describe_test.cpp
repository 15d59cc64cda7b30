// Descriptions come from the declarations alone.
#include "simulator/app/describe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/app/scenario_options.hpp"

namespace podsim {
namespace {

using ::testing::HasSubstr;

TEST(Describe, AnOptionShowsTypeLimitsDefaultAndHelp) {
  Option option{"depth", OptionType::Integer, 3, "How deep.", 1, 8};
  const std::string text = describe_options({option});
  EXPECT_THAT(text, HasSubstr("depth  How deep."));
  EXPECT_THAT(text, HasSubstr("(integer 1 … 8; default 3)"));
  EXPECT_THAT(describe_options({}), HasSubstr("no options"));
}

TEST(Describe, ASchemaRefusesWhatIsNotDeclared) {
  Option option{"depth", OptionType::Integers, 3, "How deep.", 1, 8};
  option.required = true;
  const Value schema = options_schema({option});
  EXPECT_EQ(schema.at("additionalProperties"), Value(false));
  EXPECT_EQ(schema.at("required").array().front(), Value("depth"));
  EXPECT_EQ(schema.at("properties").at("depth").at("oneOf").array().size(), 2U);
}

TEST(Describe, EveryScenarioOptionHasHelpThatEndsASentence) {
  for (const OptionGroup& group : scenario_option_groups()) {
    for (const Option& option : group.options) {
      ASSERT_FALSE(option.help.empty()) << group.path << "." << option.name;
      EXPECT_EQ(option.help.back(), '.') << group.path << "." << option.name;
    }
  }
}

}  // namespace
}  // namespace podsim
