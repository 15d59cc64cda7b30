// Names of passes, stage codes, sets of micro-batches.
#include "simulator/program/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "simulator/core/error.hpp"
#include "simulator/program/micro_batch_set.hpp"

namespace podsim {
namespace {

TEST(Pass, HasANameALetterAndAState) {
  std::set<std::string_view> names, letters;
  for (std::size_t i = 0; i < kPassCount; ++i) {
    names.insert(name_of(static_cast<Pass>(i)));
    letters.insert(letter_of(static_cast<Pass>(i)));
  }
  EXPECT_EQ(names.size(), kPassCount);
  EXPECT_EQ(letters.size(), kPassCount);
  EXPECT_EQ(state_of(Pass::RecomputePartial), State::Recompute);
  EXPECT_EQ(state_of(Pass::BackwardInput), State::Backward);
  EXPECT_EQ(state_of(Pass::WeightUpdate), State::WeightUpdate);
}

TEST(Program, FindsTheCodeOfAPassOrNamesWhatIsMissing) {
  Program program;
  program.codes = {{0, Pass::Forward, 1.5, 0, 0, 0, 0}, {1, Pass::Forward, 2.5, 0, 0, 0, 0}};
  EXPECT_EQ(program.code(1, Pass::Forward).seconds, 2.5);
  try {
    (void)program.code(1, Pass::Backward);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("no code for stage 1, pass backward"));
  }
}

// Against std::set, for numbers in any order with repetitions.
TEST(MicroBatchSet, IsASet) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& numbers, std::uint8_t distance) {
    MicroBatchSet set;
    std::set<std::int64_t> reference;
    for (const std::uint8_t number : numbers) {
      RC_ASSERT(set.insert(number % 32) == reference.insert(number % 32).second);
    }
    RC_ASSERT(set.size() == static_cast<std::int64_t>(reference.size()));
    for (std::int64_t i = -1; i < 34; ++i) RC_ASSERT(set.contains(i) == (reference.count(i) > 0));
    const bool dense = reference.empty() || *reference.rbegin() == set.size() - 1;
    RC_ASSERT(set.contiguous() == dense);
    MicroBatchSet moved = set;
    moved.shift(distance);
    RC_ASSERT(moved.is_shifted(set, distance));
    RC_ASSERT(moved.size() == set.size() + distance);
  }));
}

// Shifted: all numbers raised by the distance, and those that became free at the bottom filled.
TEST(MicroBatchSet, KnowsWhetherItIsAnotherOneShifted) {
  EXPECT_TRUE(rc::check([](const std::set<std::uint8_t>& first, const std::set<std::uint8_t>& second) {
    const std::int64_t distance = *rc::gen::inRange(0, 4);
    MicroBatchSet one, other;
    std::set<std::int64_t> numbers, shifted;
    for (std::int64_t i = 0; i < distance; ++i) shifted.insert(i);
    for (const std::uint8_t number : first) {
      one.insert(number % 8);
      shifted.insert(number % 8 + distance);
    }
    for (const std::uint8_t number : second) {
      other.insert(number % 8);
      numbers.insert(number % 8);
    }
    RC_CLASSIFY(numbers == shifted);
    RC_ASSERT(other.is_shifted(one, distance) == (numbers == shifted));
  }));
}

}  // namespace
}  // namespace podsim
