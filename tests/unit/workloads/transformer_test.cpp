// Do the transformer families have the published numbers of parameters and operations?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/core/error.hpp"
#include "tests/unit/workloads/build.hpp"

namespace podsim {
namespace {

using test::build;

// Hugging Face BertForPreTraining.num_parameters().
TEST(Bert, HasThePublishedNumberOfParameters) {
  EXPECT_EQ(build("bert", {.options = R"({"variant": "large"})"})->parameter_count(), 336'226'108);
  EXPECT_EQ(build("bert", {.options = R"({"variant": "base"})"})->parameter_count(), 110'106'428);
}

}  // namespace
}  // namespace podsim
