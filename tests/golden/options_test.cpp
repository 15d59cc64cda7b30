// scenarios/OPTIONS.md is what the declarations say. To renew it: tools/podsim describe markdown > scenarios/OPTIONS.md
#include <gtest/gtest.h>

#include "simulator/app/option_tables.hpp"
#include "simulator/config/text_file.hpp"

namespace podsim {
namespace {

TEST(Options, TheTablesAreTheDeclarations) {
  EXPECT_EQ(read_text(PODSIM_SOURCE_DIR "/scenarios/OPTIONS.md"), scenario_markdown());
}

TEST(Options, TheSchemaNamesEverySection) {
  const Value schema = scenario_schema();
  for (const char* section : {"system", "workload", "partition", "execution", "host"}) {
    EXPECT_TRUE(schema.at("properties").at(section).contains("properties")) << section;
  }
  EXPECT_EQ(schema.at("properties").at("host").at("additionalProperties"), Value(false));
}

}  // namespace
}  // namespace podsim
