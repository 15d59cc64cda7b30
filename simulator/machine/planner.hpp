// The planner: splits a contraction over the tiles of an IPU as PopLibs' convolution planner does (ConvModel.cpp):
// cost = exchange of both operands + rearrangement + vertices + exchange and reduction of partials.
#pragma once

#include <vector>

#include "simulator/machine/contraction.hpp"
#include "simulator/machine/tile_costs.hpp"

namespace podsim {

// Equal shares of one dimension: `tiles` parts of `grains` grains that hold `elements` elements.
struct DimensionPart {
  std::int64_t parts = 0;
  std::int64_t grains = 0;
  std::int64_t elements = 0;
};

enum class ContractionMethod : std::uint8_t { Amp, VectorMac, Slic };

// A contraction with its plan; what lowering needs to lay it out tile by tile.
struct PlannedContraction {
  Contraction contraction;  // after an exchange of operands
  bool exchanged = false;   // rows and columns changed places (PopLibs: swapOperands)
  ContractionMethod method = ContractionMethod::Amp;
  MatMulPlan plan;
  double estimated_cycles = 0;
};

// The share of one tile in one serial step of a plan.
struct TileShare {
  std::int64_t groups = 0, rows = 0, columns = 0;
  std::int64_t inner_blocks = 0, column_blocks = 0;
  double macs = 0;
  double left_elements = 0, right_elements = 0, partial_elements = 0;
};

class Planner {
 public:
  Planner(const Chip& chip, const TileCosts& costs, const LoweringOptions& options);

  [[nodiscard]] PlannedContraction plan(const Contraction& contraction) const;

  // Parts of each dimension in one serial step.
  struct Layout {
    std::vector<DimensionPart> groups, rows, columns, inner;
  };
  [[nodiscard]] Layout layout(const PlannedContraction& planned) const;
  [[nodiscard]] TileShare share(const PlannedContraction& planned, const DimensionPart& group, const DimensionPart& row,
                                const DimensionPart& column, const DimensionPart& inner) const;

  [[nodiscard]] double compute_cycles(const PlannedContraction& planned, const TileShare& share) const;
  // Bytes that the tile receives before computing, through its own port.
  [[nodiscard]] double operand_bytes_in(const PlannedContraction& planned, const TileShare& share) const;
  [[nodiscard]] double temporary_bytes(const PlannedContraction& planned, const TileShare& share) const;
  [[nodiscard]] ElementType partials_of(const Contraction& contraction) const;
  [[nodiscard]] int tiles() const { return tiles_; }

 private:
  struct Grains;
  [[nodiscard]] Grains grains_of(const PlannedContraction& planned) const;
  void search(PlannedContraction candidate, PlannedContraction& best, PlannedContraction& smallest) const;
  void consider(const Grains& grains, PlannedContraction& candidate, PlannedContraction& best,
                PlannedContraction& smallest) const;
  [[nodiscard]] double estimate(const PlannedContraction& planned, const TileShare& largest) const;

  const TileCosts* costs_;
  LoweringOptions options_;
  int tiles_;
  double memory_bound_;
};

}  // namespace podsim
