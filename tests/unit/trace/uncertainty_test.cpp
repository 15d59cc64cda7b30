// Quantiles against their rule, and rankings of functions whose variance shares are known.
#include "simulator/trace/uncertainty.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "simulator/core/latin_hypercube.hpp"

namespace podsim {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A function at points of the unit cube.
std::vector<double> at_points(const std::vector<double>& points, std::size_t dimensions,
                              const std::function<double(const double*)>& function) {
  std::vector<double> values;
  for (std::size_t i = 0; i < points.size(); i += dimensions) values.push_back(function(&points[i]));
  return values;
}

TEST(Quantile, InterpolatesBetweenTheMiddlesOfSteps) {
  const std::vector<double> values = {40, 10, 30, 20};  // at 1/8, 3/8, 5/8 and 7/8
  EXPECT_DOUBLE_EQ(quantile(values, 3.0 / 8), 20);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 25);
  EXPECT_DOUBLE_EQ(quantile(values, 0.75), 35);
  EXPECT_DOUBLE_EQ(quantile(values, 0.05), 10);  // beyond the points
  EXPECT_DOUBLE_EQ(quantile(values, 0.95), 40);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.3), 7);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

// Of 3 a + b with a and b uniform and independent, a has 9 parts of the variance and b one; ranks are nearly linear.
TEST(RankInfluences, SharesAreThoseOfTheVariance) {
  const std::vector<double> points = latin_hypercube(400, 12, 1);
  const auto figure = at_points(points, 12, [](const double* x) { return -3 * x[4] + x[9]; });
  const std::vector<Influence> influences = rank_influences(figure, points);
  ASSERT_EQ(influences.size(), 2U);  // the other ten have none
  EXPECT_EQ(influences[0].parameter, 4U);
  EXPECT_FALSE(influences[0].raises);
  EXPECT_NEAR(influences[0].share, 0.9, 0.03);
  EXPECT_EQ(influences[1].parameter, 9U);
  EXPECT_TRUE(influences[1].raises);
  EXPECT_NEAR(influences[1].share, 0.1, 0.03);
}

TEST(RankInfluences, AnyMonotoneFunctionOfOneParameterIsAllItsDoing) {
  const std::vector<double> points = latin_hypercube(30, 25, 2);  // hardly more samples than parameters
  const auto figure = at_points(points, 25, [](const double* x) { return std::exp(20 * x[17]); });
  const std::vector<Influence> influences = rank_influences(figure, points);
  ASSERT_EQ(influences.size(), 1U);
  EXPECT_EQ(influences[0].parameter, 17U);
  EXPECT_NEAR(influences[0].share, 1, 1e-12);
}

TEST(RankInfluences, NothingDecidesAConstantOrRounding) {
  const std::vector<double> points = latin_hypercube(64, 5, 3);
  EXPECT_TRUE(rank_influences(std::vector<double>(64, 0.1), points).empty());
  const auto rounding = at_points(points, 5, [](const double* x) { return 1 + 1e-13 * x[0]; });
  EXPECT_TRUE(rank_influences(rounding, points).empty());
  EXPECT_TRUE(rank_influences(std::vector<double>(64, kNone), points).empty());
}

// Figures that are independent of all 30 parameters: one of 30 rankings may name one.
TEST(RankInfluences, ChanceIsSeldomMistaken) {
  int named = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<double> points = latin_hypercube(64, 31, seed);
    const auto figure = at_points(points, 31, [](const double* x) { return x[30]; });
    std::vector<double> others;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % 31 != 30) others.push_back(points[i]);
    }
    named += static_cast<int>(!rank_influences(figure, others).empty());
  }
  EXPECT_LE(named, 20);
}

TEST(EvaluateFigure, SamplesWithoutItDoNotCount) {
  std::vector<double> points, samples;
  for (int i = 0; i < 40; ++i) {
    points.push_back(i);
    samples.push_back(i < 10 ? kNone : 2.0 * i);
  }
  const UncertainFigure figure = evaluate_figure("peak_tile_bytes", "B", samples, points);
  EXPECT_DOUBLE_EQ(figure.median, 49);                 // of 20, 22, ..., 78
  EXPECT_DOUBLE_EQ(figure.low, 20 + 2 * (1.5 - 0.5));  // 30 samples: 5% is at place 1 from 0
  EXPECT_DOUBLE_EQ(figure.high, 76);
  ASSERT_EQ(figure.influences.size(), 1U);
  EXPECT_NEAR(figure.influences[0].share, 1, 1e-12);
}

}  // namespace
}  // namespace podsim
