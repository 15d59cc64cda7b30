// Quantiles, ranks, and a regression by orthogonal projection: what a chosen parameter explains is taken out of the
// figure and of all other parameters.
#include "simulator/trace/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace podsim {

namespace {

using Column = std::vector<double>;

// A parameter without effect exceeds this many standard errors about once in 1,000 cases, so that with the 30 or so
// that vary one of 30 rankings names a parameter by chance.
constexpr double kStandardErrors = 3.3;
constexpr double kLeastShare = 0.01;    // of the variance: less is not worth a line, and near what chance gives
constexpr double kNothingLeft = 1e-12;  // of the variance: rounding
constexpr double kSame = 1e-9;          // relative spread of a figure below which its differences are rounding

double dot(const Column& left, const Column& right) {
  return std::inner_product(left.begin(), left.end(), right.begin(), 0.0);
}

// column -= (column . direction) direction; `direction` has length 1.
void take_out(Column& column, const Column& direction) {
  const double length = dot(column, direction);
  for (std::size_t i = 0; i < column.size(); ++i) column[i] -= length * direction[i];
}

// Ranks minus their mean; equal values have the mean of their ranks.
Column centred_ranks(const Column& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return values[left] != values[right] ? values[left] < values[right] : left < right;
  });
  Column ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = 0.5 * static_cast<double>(first + end - 1) - 0.5 * static_cast<double>(values.size() - 1);
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = rank;
    first = end;
  }
  return ranks;
}

// The regression's state: what is left of the figure and of the parameters not yet taken in.
class StepwiseRegression {
 public:
  StepwiseRegression(Column figure, std::vector<Column> parameters)
      : left_(std::move(figure)), parameters_(std::move(parameters)), total_(dot(left_, left_)) {
    for (const Column& column : parameters_) squares_.push_back(dot(column, column));
  }

  // Takes in the next parameter; false where none stands out.
  bool step(std::vector<Influence>& chosen) {
    const double freedom = static_cast<double>(left_.size()) - 2 - static_cast<double>(chosen.size());
    const double variance = dot(left_, left_);
    if (freedom < 1 || variance <= kNothingLeft * total_) return false;
    const auto [best, along] = strongest();
    const double explained = along * along / variance;
    if (explained * freedom <= kStandardErrors * kStandardErrors * (1 - explained)) return false;
    if (along * along < kLeastShare * total_) return false;
    chosen.push_back({best, along * along / total_, along > 0});
    Column direction = parameters_[best];
    const double length = std::sqrt(dot(direction, direction));
    for (double& component : direction) component /= length;
    take_out(left_, direction);
    for (Column& column : parameters_) take_out(column, direction);
    squares_[best] = 0;  // taken
    return true;
  }

 private:
  // The parameter along which most of the figure lies, and how much (the length of the projection).
  [[nodiscard]] std::pair<std::size_t, double> strongest() const {
    std::pair<std::size_t, double> best{0, 0};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const double square = dot(parameters_[i], parameters_[i]);
      if (square <= kNothingLeft * squares_[i] || squares_[i] <= 0) continue;  // nothing of its own is left
      const double along = dot(left_, parameters_[i]) / std::sqrt(square);
      if (std::abs(along) > std::abs(best.second)) best = {i, along};
    }
    return best;
  }

  Column left_;
  std::vector<Column> parameters_;
  double total_;
  std::vector<double> squares_;  // of the parameters as given; 0 once taken in
};

}  // namespace

std::size_t Uncertainty::failures() const {
  return static_cast<std::size_t>(
      std::count_if(errors.begin(), errors.end(), [](const std::string& error) { return !error.empty(); }));
}

const UncertainFigure* Uncertainty::find(const std::string& name) const {
  const auto it =
      std::find_if(figures.begin(), figures.end(), [&](const UncertainFigure& figure) { return figure.name == name; });
  return it == figures.end() ? nullptr : &*it;
}

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double last = static_cast<double>(values.size() - 1);
  const double place = std::clamp(p * static_cast<double>(values.size()) - 0.5, 0.0, last);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

std::vector<Influence> rank_influences(std::span<const double> figure, std::span<const double> values) {
  const std::size_t parameters = figure.empty() ? 0 : values.size() / figure.size();
  Column known;
  std::vector<Column> columns(parameters);
  for (std::size_t sample = 0; sample < figure.size(); ++sample) {
    if (!std::isfinite(figure[sample])) continue;
    known.push_back(figure[sample]);
    for (std::size_t i = 0; i < parameters; ++i) columns[i].push_back(values[sample * parameters + i]);
  }
  if (known.empty()) return {};
  const auto [least, most] = std::minmax_element(known.begin(), known.end());
  if (*most - *least <= kSame * std::max(std::abs(*least), std::abs(*most))) return {};
  for (Column& column : columns) column = centred_ranks(column);
  StepwiseRegression regression(centred_ranks(known), std::move(columns));
  std::vector<Influence> influences;
  while (regression.step(influences)) {
  }
  std::stable_sort(influences.begin(), influences.end(),
                   [](const Influence& left, const Influence& right) { return left.share > right.share; });
  return influences;
}

UncertainFigure evaluate_figure(std::string name, std::string unit, std::vector<double> samples,
                                std::span<const double> values) {
  UncertainFigure figure{.name = std::move(name), .unit = std::move(unit), .samples = std::move(samples)};
  std::vector<double> known;
  std::copy_if(figure.samples.begin(), figure.samples.end(), std::back_inserter(known),
               [](double sample) { return std::isfinite(sample); });
  figure.low = quantile(known, 0.05);
  figure.median = quantile(known, 0.5);
  figure.high = quantile(known, 0.95);
  figure.influences = rank_influences(figure.samples, values);
  return figure;
}

}  // namespace podsim
