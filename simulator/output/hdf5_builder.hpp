// Builds an HDF5 file in memory: groups with axes (dimension scales), columns over them, and attributes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/output/hdf5_handle.hpp"

namespace podsim {

class Hdf5Group {
 public:
  // "/" is the root group, which is there already.
  Hdf5Group(hid_t file, const std::string& name);

  // A dimension scale with its coordinates. Columns refer to it by name.
  template <typename Number>
  void axis(const std::string& name, std::span<const Number> coordinates, std::string_view units,
            std::string_view description);
  void axis(const std::string& name, std::span<const std::string> coordinates, std::string_view description);
  // … with coordinates 0, 1, 2, …
  void count_axis(const std::string& name, std::size_t size, std::string_view description);

  // Numbers over the named axes, in C order; as many as the product of their sizes (InternalError otherwise).
  template <typename Number>
  void column(const std::string& name, const std::vector<std::string>& axes, std::span<const Number> values,
              std::string_view units, std::string_view description);
  template <typename Number>
  void column(const std::string& name, const std::vector<std::string>& axes, const std::vector<Number>& values,
              std::string_view units, std::string_view description) {
    column(name, axes, std::span<const Number>(values), units, description);
  }
  void column(const std::string& name, const std::vector<std::string>& axes, std::span<const std::string> values,
              std::string_view description);
  // Small integers that stand for `names`, which becomes an attribute.
  void enumeration(const std::string& name, const std::vector<std::string>& axes, std::span<const std::uint8_t> values,
                   std::span<const std::string> names, std::string_view description);
  void text(const std::string& name, const std::string& value, std::string_view description);

  void attribute(const std::string& name, const std::string& value);
  void attribute(const std::string& name, double value);
  void attribute(const std::string& name, std::int64_t value);

 private:
  struct Axis {
    DatasetHandle dataset;
    hsize_t size = 0;
  };
  struct Layout {
    std::vector<hsize_t> sizes;
    std::size_t count = 1;
  };

  [[nodiscard]] Layout layout(const std::string& name, const std::vector<std::string>& axes, std::size_t values) const;
  [[nodiscard]] DatasetHandle create(const std::string& name, hid_t type, std::span<const hsize_t> sizes,
                                     std::string_view units, std::string_view description);
  void attach(const DatasetHandle& dataset, const std::vector<std::string>& axes);
  void make_axis(const std::string& name, DatasetHandle dataset, hsize_t size);

  std::string name_;
  GroupHandle group_;
  std::map<std::string, Axis> axes_;
};

class Hdf5Builder {
 public:
  Hdf5Builder();
  [[nodiscard]] Hdf5Group group(const std::string& name) const { return {file_.get(), name}; }
  // Attributes of the whole file.
  void attribute(const std::string& name, const std::string& value) const;
  void attribute(const std::string& name, std::int64_t value) const;
  // The file's bytes. Groups must be gone by then.
  [[nodiscard]] std::vector<char> image() const;

 private:
  SilencedErrors silence_;
  FileHandle file_;
};

}  // namespace podsim
