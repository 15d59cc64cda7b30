// Reads columns, texts and names back from an HDF5 file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/output/hdf5_handle.hpp"

namespace podsim {

// Every failure is a UserError that names the file: it is the user's choice which file to read.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(std::string path);

  // A whole one-dimensional dataset, converted by HDF5.
  [[nodiscard]] std::vector<double> doubles(const std::string& dataset) const;
  [[nodiscard]] std::vector<std::int32_t> integers(const std::string& dataset) const;
  [[nodiscard]] std::vector<std::int64_t> long_integers(const std::string& dataset) const;
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& dataset) const;

  // Attributes of a group or dataset ("/" for the file).
  [[nodiscard]] double number_attribute(const std::string& object, const std::string& name) const;
  [[nodiscard]] std::vector<std::string> text_attribute(const std::string& object, const std::string& name) const;

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  template <typename Number>
  [[nodiscard]] std::vector<Number> read(const std::string& dataset, hid_t type) const;

  SilencedErrors silence_;
  std::string path_;
  FileHandle file_;
};

}  // namespace podsim
