// What parameters that are not known well do to the figures of a run: intervals over samples, and which parameter
// decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace podsim {

struct VariedParameter {
  std::string set;  // data file: "chips/bow", "pods/bow", "software/frameworks"
  std::string name;
  std::string unit;
  double value = 0;  // in the data file
  double minimum = 0, maximum = 0;
};

struct Influence {
  std::size_t parameter = 0;  // index
  double share = 0;           // of the variance of the figure's ranks, beyond what parameters found before explain
  bool raises = true;         // the figure grows with the parameter
};

struct UncertainFigure {
  std::string name;
  std::string unit;
  std::vector<double> samples;             // not a number where a sample has no such figure
  double low = 0, median = 0, high = 0;    // 5%, 50% and 95% of the samples that have it
  std::vector<Influence> influences = {};  // largest share first; those of 1% that stand out from chance
};

struct Uncertainty {
  std::uint64_t seed = 0;
  std::vector<VariedParameter> parameters;
  std::vector<double> values;            // samples x parameters, row by row
  std::vector<std::string> errors;       // per sample: why it could not run; empty where it could
  std::vector<UncertainFigure> figures;  // those that at least one sample has; throughput is the first

  [[nodiscard]] std::size_t samples() const { return errors.size(); }
  [[nodiscard]] std::size_t failures() const;
  [[nodiscard]] const UncertainFigure* find(const std::string& name) const;  // null where absent
};

// Quantile `p` of values, interpolated between the points (i + 1/2) / n of the sorted ones (Hazen's rule). Not a
// number for no values.
[[nodiscard]] double quantile(std::vector<double> values, double p);

// Stepwise regression of the figure's ranks on the parameters' ranks (Helton and Davis, "Latin hypercube sampling and
// the propagation of uncertainty in analyses of complex systems", Reliability Engineering and System Safety 81, 2003):
// takes in the parameter that explains most of what is left, until none stands out
// from chance or adds 1%. `values` has one row of
// parameters for each sample; samples without the figure do not count.
[[nodiscard]] std::vector<Influence> rank_influences(std::span<const double> figure, std::span<const double> values);

// Interval and influences of a figure from its samples.
[[nodiscard]] UncertainFigure evaluate_figure(std::string name, std::string unit, std::vector<double> samples,
                                              std::span<const double> values);

}  // namespace podsim
