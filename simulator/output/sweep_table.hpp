// The results of a sweep as one HDF5 file: a dimension for each axis with its values as dimension scale, and every
// figure as an array over them, in the root group, so that xarray.open_dataset() gives labelled arrays.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulator/core/value.hpp"

namespace podsim {

// One dimension. With several keys that change together, the first one names the dimension and the others are
// coordinates along it.
struct SweepTableAxis {
  std::vector<std::string> keys;
  std::vector<std::vector<Value>> values;  // per key, along the dimension
};

struct SweepTableNumbers {
  std::string name, units, description;
  std::vector<double> values;  // over all axes, the last one fastest; not a number where there is no figure
};

struct SweepTableTexts {
  std::string name, description;
  std::vector<std::string> values;  // likewise; empty where there is none
};

struct SweepTable {
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<SweepTableAxis> axes;
  std::vector<SweepTableNumbers> numbers;
  std::vector<SweepTableTexts> texts;
};

// The file's bytes; equal tables have equal bytes.
[[nodiscard]] std::vector<char> sweep_image(const SweepTable& table);

}  // namespace podsim
