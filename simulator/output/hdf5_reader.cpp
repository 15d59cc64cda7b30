// Opens read-only; HDF5's reasons become part of the message.
#include "simulator/output/hdf5_reader.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "simulator/core/error.hpp"

namespace podsim {
namespace {

constexpr const char* kRemedy = "give a file that `podsim run SCENARIO -o FILE` has written";

std::size_t elements_of(hid_t space) {
  return static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space), "measure"));
}

}  // namespace

Hdf5Reader::Hdf5Reader(std::string path) : path_(std::move(path)) {
  errno = 0;
  if (!std::ifstream(path_, std::ios::binary)) {
    throw UserError(path_, std::string("cannot read this file: ") + std::strerror(errno), kRemedy);
  }
  if (H5Fis_hdf5(path_.c_str()) <= 0) throw UserError(path_, "this is not an HDF5 file", kRemedy);
  try {
    file_ = FileHandle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "open the file");
  } catch (const Hdf5Error& error) {
    throw UserError(path_, error.what(), "on network disks without file locks, set HDF5_USE_FILE_LOCKING=FALSE");
  }
}

void Hdf5Reader::fail(const std::string& problem) const { throw UserError(path_, problem, kRemedy); }

template <typename Number>
std::vector<Number> Hdf5Reader::read(const std::string& dataset, hid_t type) const {
  try {
    const DatasetHandle handle(H5Dopen2(file_.get(), dataset.c_str(), H5P_DEFAULT), "open " + dataset);
    const DataspaceHandle space(H5Dget_space(handle.get()), "measure " + dataset);
    std::vector<Number> values(elements_of(space.get()));
    check(H5Dread(handle.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read " + dataset);
    return values;
  } catch (const Hdf5Error& error) {
    fail(error.what());
  }
}

std::vector<double> Hdf5Reader::doubles(const std::string& dataset) const {
  return read<double>(dataset, H5T_NATIVE_DOUBLE);
}
std::vector<std::int32_t> Hdf5Reader::integers(const std::string& dataset) const {
  return read<std::int32_t>(dataset, H5T_NATIVE_INT32);
}
std::vector<std::int64_t> Hdf5Reader::long_integers(const std::string& dataset) const {
  return read<std::int64_t>(dataset, H5T_NATIVE_INT64);
}
std::vector<std::uint8_t> Hdf5Reader::bytes(const std::string& dataset) const {
  return read<std::uint8_t>(dataset, H5T_NATIVE_UINT8);
}

double Hdf5Reader::number_attribute(const std::string& object, const std::string& name) const {
  try {
    const AttributeHandle attribute(
        H5Aopen_by_name(file_.get(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "open attribute " + name);
    double value = 0;
    check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value), "read attribute " + name);
    return value;
  } catch (const Hdf5Error& error) {
    fail(error.what());
  }
}

std::vector<std::string> Hdf5Reader::text_attribute(const std::string& object, const std::string& name) const {
  try {
    const AttributeHandle attribute(
        H5Aopen_by_name(file_.get(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "open attribute " + name);
    const DatatypeHandle type(H5Aget_type(attribute.get()), "read attribute " + name);
    if (check(H5Tis_variable_str(type.get()), "read attribute " + name) == 0) fail("attribute " + name + " is no text");
    const DataspaceHandle space(H5Aget_space(attribute.get()), "measure attribute " + name);
    std::vector<char*> pointers(elements_of(space.get()), nullptr);
    check(H5Aread(attribute.get(), type.get(), pointers.data()), "read attribute " + name);
    std::vector<std::string> values;
    for (const char* pointer : pointers) values.emplace_back(pointer == nullptr ? "" : pointer);
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    return values;
  } catch (const Hdf5Error& error) {
    fail(error.what());
  }
}

}  // namespace podsim
