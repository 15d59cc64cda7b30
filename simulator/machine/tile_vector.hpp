// TileVector: one number for each tile of an IPU, exact, stored as runs of equal values (a mapping has few
// different tiles: full ones, the last partial one, idle ones).
#pragma once

#include <cstdint>
#include <vector>

namespace podsim {

class TileVector {
 public:
  TileVector() = default;
  explicit TileVector(int tiles, double value = 0) { append(tiles, value); }

  struct TileRun {
    int tiles;
    double value;
  };

  void append(int tiles, double value);  // further tiles behind the last; zero tiles: nothing
  [[nodiscard]] int tiles() const;
  [[nodiscard]] double maximum() const;
  [[nodiscard]] double sum() const;
  [[nodiscard]] double at(int tile) const;
  [[nodiscard]] std::vector<double> expand() const;
  [[nodiscard]] const std::vector<TileRun>& runs() const { return runs_; }

  TileVector& operator+=(const TileVector& other);  // same number of tiles, or empty
  [[nodiscard]] TileVector scaled(double factor) const;
  [[nodiscard]] bool empty() const { return runs_.empty(); }

  // The vector of function(value), run by run.
  template <typename Function>
  [[nodiscard]] TileVector mapped(Function function) const {
    TileVector result;
    for (const TileRun& run : runs_) result.append(run.tiles, function(run.value));
    return result;
  }

  // `amount` units in grains of `grain` over `used` tiles of `tiles`, starting at tile `first` and wrapping
  // around: tile loads differ by at most one grain, the earlier tiles having more.
  [[nodiscard]] static TileVector spread(std::int64_t amount, std::int64_t grain, int used, int tiles, int first = 0);

 private:
  std::vector<TileRun> runs_;
};

}  // namespace podsim
