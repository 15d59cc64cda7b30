// SuperstepList: builds the supersteps of one operator and its totals.
#pragma once

#include <string>

#include "simulator/machine/lower.hpp"
#include "simulator/machine/tile_costs.hpp"

namespace podsim {

class SuperstepList {
 public:
  SuperstepList(const TileCosts& costs, int compute_tiles, int tiles)
      : costs_(&costs), compute_tiles_(compute_tiles), tiles_(tiles) {}

  // Appends a superstep; vectors have one entry for each compute tile (empty: nothing). The control program's cycles
  // are added to every compute tile.
  void add(std::string name, const TileVector& compute_cycles, const TileVector& bytes_in, const TileVector& bytes_out,
           double repeat = 1);
  // Data of `bytes` in all, exchanged evenly: each tile sends and receives its share.
  void add_exchange(std::string name, const TileVector& compute_cycles, double bytes, double repeat = 1);
  // An exchange with other IPUs that takes a fixed time.
  void add_waiting(std::string name, double exchange_cycles);

  // Work of the control program once per operator, on every compute tile; nothing where there are no supersteps.
  void add_control(double cycles);

  // `elements` spread over the compute tiles in vectors of 8 bytes.
  [[nodiscard]] TileVector spread(double elements, ElementType type) const;
  // One vertex loop over `elements` spread so.
  [[nodiscard]] TileVector vector_loop(double elements, ElementType type, double cycles_per_vector) const;

  void add_macs(const TileVector& macs) { result_.macs += on_all_tiles(macs); }
  void temporary(double bytes_per_tile);
  [[nodiscard]] const TileCosts& costs() const { return *costs_; }
  [[nodiscard]] int compute_tiles() const { return compute_tiles_; }
  [[nodiscard]] LoweredOperator& result() { return result_; }
  [[nodiscard]] bool empty() const { return result_.supersteps.empty(); }

 private:
  void append(Superstep step);
  [[nodiscard]] TileVector on_all_tiles(const TileVector& vector) const;

  const TileCosts* costs_;
  int compute_tiles_;
  int tiles_;
  LoweredOperator result_;
};

}  // namespace podsim
