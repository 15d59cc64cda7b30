// Every parameter of the data files says how far it may be off: who infers a figure must give a range and a reason.
#include <gtest/gtest.h>

#include <filesystem>

#include "simulator/app/data_folder.hpp"
#include "simulator/core/parameter.hpp"

namespace podsim {
namespace {

namespace fs = std::filesystem;

std::vector<ParameterSet> all_sets() {
  const DataFolder data;
  std::vector<ParameterSet> sets;
  for (const char* kind : {"chips", "pods", "software"}) {
    for (const auto& entry : fs::directory_iterator(data.folder() / kind)) {
      sets.emplace_back(data.load(std::string(kind) + "/" + entry.path().stem().string()));
      EXPECT_EQ(sets.back().name(), entry.path().stem().string());
    }
  }
  return sets;
}

TEST(Parameters, WhatIsInferredHasARangeAroundItsValue) {
  std::size_t inferred = 0;
  for (const ParameterSet& set : all_sets()) {
    for (const Parameter& parameter : set.parameters()) {
      if (parameter.confidence != Confidence::Inferred) continue;
      ++inferred;
      EXPECT_LT(parameter.minimum, parameter.maximum) << set.name() << " " << parameter.name;
      EXPECT_LE(parameter.minimum, parameter.value) << set.name() << " " << parameter.name;
      EXPECT_LE(parameter.value, parameter.maximum) << set.name() << " " << parameter.name;
    }
  }
  EXPECT_GT(inferred, 50U);
}

TEST(Parameters, NobodyButAScenarioGivesUserFigures) {
  for (const ParameterSet& set : all_sets()) {
    for (const Parameter& parameter : set.parameters()) {
      EXPECT_NE(parameter.confidence, Confidence::User) << set.name() << " " << parameter.name;
    }
  }
}

}  // namespace
}  // namespace podsim
