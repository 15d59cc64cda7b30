// The file lives in memory (HDF5's core driver), so that HDF5 never meets a full disk, and its bytes are written by
// AtomicFile. Object times are off and types have a fixed byte order: the same content gives the same bytes.
#include "simulator/output/hdf5_builder.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "simulator/core/error.hpp"

namespace podsim {
namespace {

constexpr std::size_t kMemoryGrowth = std::size_t{1} << 20;  // bytes
constexpr hsize_t kChunkElements = 65536;
constexpr std::size_t kCompressedElements = 4096;  // from this size on
constexpr unsigned kDeflateLevel = 1;              // higher ones cost several times more for a few per cent

template <typename Number>
struct Types;
template <>
struct Types<double> {
  static hid_t memory() { return H5T_NATIVE_DOUBLE; }
  static hid_t file() { return H5T_IEEE_F64LE; }
};
template <>
struct Types<float> {
  static hid_t memory() { return H5T_NATIVE_FLOAT; }
  static hid_t file() { return H5T_IEEE_F32LE; }
};
template <>
struct Types<std::int32_t> {
  static hid_t memory() { return H5T_NATIVE_INT32; }
  static hid_t file() { return H5T_STD_I32LE; }
};
template <>
struct Types<std::int64_t> {
  static hid_t memory() { return H5T_NATIVE_INT64; }
  static hid_t file() { return H5T_STD_I64LE; }
};
template <>
struct Types<std::uint8_t> {
  static hid_t memory() { return H5T_NATIVE_UINT8; }
  static hid_t file() { return H5T_STD_U8LE; }
};

DatatypeHandle text_type() {
  DatatypeHandle type(H5Tcopy(H5T_C_S1), "make a type");
  check(H5Tset_size(type.get(), H5T_VARIABLE), "make a type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "make a type");
  return type;
}

std::vector<const char*> pointers(std::span<const std::string> texts) {
  std::vector<const char*> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

DataspaceHandle space_of(std::span<const hsize_t> sizes) {
  if (sizes.empty()) return DataspaceHandle(H5Screate(H5S_SCALAR), "make a data space");
  return DataspaceHandle(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), "make a data space");
}

void write_attribute(hid_t object, const std::string& name, hid_t file_type, hid_t memory_type,
                     std::span<const hsize_t> sizes, const void* values) {
  const DataspaceHandle space = space_of(sizes);
  const AttributeHandle attribute(H5Acreate2(object, name.c_str(), file_type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                                  "make attribute " + name);
  check(H5Awrite(attribute.get(), memory_type, values), "write attribute " + name);
}

void write_text_attribute(hid_t object, const std::string& name, std::string_view value) {
  const DatatypeHandle type = text_type();
  const std::string terminated(value);
  const char* pointer = terminated.c_str();
  write_attribute(object, name, type.get(), type.get(), {}, &pointer);
}

// Chunks of whole trailing dimensions, as many rows as fit.
std::vector<hsize_t> chunk_of(std::span<const hsize_t> sizes) {
  std::vector<hsize_t> chunk(sizes.begin(), sizes.end());
  hsize_t behind = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    chunk[i] = std::clamp<hsize_t>(kChunkElements / behind, 1, sizes[i]);
    behind *= chunk[i];
  }
  return chunk;
}

void set_order(hid_t properties) {
  check(H5Pset_link_creation_order(properties, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "keep the order");
}

}  // namespace

Hdf5Group::Hdf5Group(hid_t file, const std::string& name) : name_(name) {
  const PropertyHandle properties(H5Pcreate(H5P_GROUP_CREATE), "make properties");
  set_order(properties.get());
  check(H5Pset_obj_track_times(properties.get(), false), "switch times off");
  group_ = name == "/" ? GroupHandle(H5Gopen2(file, "/", H5P_DEFAULT), "open the root group")
                       : GroupHandle(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                                     "make group " + name);
}

Hdf5Group::Layout Hdf5Group::layout(const std::string& name, const std::vector<std::string>& axes,
                                    std::size_t values) const {
  Layout result;
  for (const std::string& axis : axes) {
    const auto found = axes_.find(axis);
    if (found == axes_.end()) throw InternalError("trace file: " + name_ + " has no axis " + axis);
    result.sizes.push_back(found->second.size);
    result.count *= found->second.size;
  }
  if (result.count != values) {
    throw InternalError("trace file: " + name_ + "/" + name + " has " + std::to_string(values) + " values for " +
                        std::to_string(result.count) + " places");
  }
  return result;
}

DatasetHandle Hdf5Group::create(const std::string& name, hid_t type, std::span<const hsize_t> sizes,
                                std::string_view units, std::string_view description) {
  const PropertyHandle properties(H5Pcreate(H5P_DATASET_CREATE), "make properties");
  check(H5Pset_obj_track_times(properties.get(), false), "switch times off");
  check(H5Pset_attr_creation_order(properties.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "keep the order");
  const hsize_t count = std::accumulate(sizes.begin(), sizes.end(), hsize_t{1}, std::multiplies<>());
  if (count >= kCompressedElements && H5Tget_class(type) != H5T_STRING) {
    const std::vector<hsize_t> chunk = chunk_of(sizes);
    check(H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()), "set chunks");
    check(H5Pset_shuffle(properties.get()), "set the filter");
    check(H5Pset_deflate(properties.get(), kDeflateLevel), "set the filter");
  }
  const DataspaceHandle space = space_of(sizes);
  DatasetHandle dataset(
      H5Dcreate2(group_.get(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      "make dataset " + name);
  write_text_attribute(dataset.get(), "units", units);
  write_text_attribute(dataset.get(), "description", description);
  return dataset;
}

void Hdf5Group::attach(const DatasetHandle& dataset, const std::vector<std::string>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    check(H5DSattach_scale(dataset.get(), axes_.at(axes[i]).dataset.get(), static_cast<unsigned>(i)),
          "attach axis " + axes[i]);
  }
}

void Hdf5Group::make_axis(const std::string& name, DatasetHandle dataset, hsize_t size) {
  check(H5DSset_scale(dataset.get(), name.c_str()), "make axis " + name);
  axes_.emplace(name, Axis{std::move(dataset), size});
}

template <typename Number>
void Hdf5Group::axis(const std::string& name, std::span<const Number> coordinates, std::string_view units,
                     std::string_view description) {
  const std::array<hsize_t, 1> sizes = {coordinates.size()};
  DatasetHandle dataset = create(name, Types<Number>::file(), sizes, units, description);
  check(H5Dwrite(dataset.get(), Types<Number>::memory(), H5S_ALL, H5S_ALL, H5P_DEFAULT, coordinates.data()),
        "write " + name);
  make_axis(name, std::move(dataset), sizes[0]);
}

void Hdf5Group::axis(const std::string& name, std::span<const std::string> coordinates, std::string_view description) {
  const std::array<hsize_t, 1> sizes = {coordinates.size()};
  const DatatypeHandle type = text_type();
  DatasetHandle dataset = create(name, type.get(), sizes, "1", description);
  check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers(coordinates).data()),
        "write " + name);
  make_axis(name, std::move(dataset), sizes[0]);
}

void Hdf5Group::count_axis(const std::string& name, std::size_t size, std::string_view description) {
  std::vector<std::int32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  axis(name, std::span<const std::int32_t>(numbers), "1", description);
}

template <typename Number>
void Hdf5Group::column(const std::string& name, const std::vector<std::string>& axes, std::span<const Number> values,
                       std::string_view units, std::string_view description) {
  const Layout place = layout(name, axes, values.size());
  const DatasetHandle dataset = create(name, Types<Number>::file(), place.sizes, units, description);
  check(H5Dwrite(dataset.get(), Types<Number>::memory(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
        "write " + name);
  attach(dataset, axes);
}

void Hdf5Group::column(const std::string& name, const std::vector<std::string>& axes,
                       std::span<const std::string> values, std::string_view description) {
  const Layout place = layout(name, axes, values.size());
  const DatatypeHandle type = text_type();
  const DatasetHandle dataset = create(name, type.get(), place.sizes, "1", description);
  check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers(values).data()), "write " + name);
  attach(dataset, axes);
}

void Hdf5Group::enumeration(const std::string& name, const std::vector<std::string>& axes,
                            std::span<const std::uint8_t> values, std::span<const std::string> names,
                            std::string_view description) {
  column(name, axes, values, "1", description);
  const DatatypeHandle type = text_type();
  const DatasetHandle dataset(H5Dopen2(group_.get(), name.c_str(), H5P_DEFAULT), "open " + name);
  const std::array<hsize_t, 1> sizes = {names.size()};
  write_attribute(dataset.get(), "names", type.get(), type.get(), sizes, pointers(names).data());
}

void Hdf5Group::text(const std::string& name, const std::string& value, std::string_view description) {
  const std::array<std::string, 1> values = {value};
  column(name, {}, std::span<const std::string>(values), description);
}

void Hdf5Group::attribute(const std::string& name, const std::string& value) {
  write_text_attribute(group_.get(), name, value);
}

void Hdf5Group::attribute(const std::string& name, double value) {
  write_attribute(group_.get(), name, Types<double>::file(), Types<double>::memory(), {}, &value);
}

void Hdf5Group::attribute(const std::string& name, std::int64_t value) {
  write_attribute(group_.get(), name, Types<std::int64_t>::file(), Types<std::int64_t>::memory(), {}, &value);
}

Hdf5Builder::Hdf5Builder() {
  const PropertyHandle access(H5Pcreate(H5P_FILE_ACCESS), "make properties");
  check(H5Pset_fapl_core(access.get(), kMemoryGrowth, false), "work in memory");
  check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_SEMI), "set how the file closes");
  const PropertyHandle creation(H5Pcreate(H5P_FILE_CREATE), "make properties");
  set_order(creation.get());
  check(H5Pset_obj_track_times(creation.get(), false), "switch times off");
  file_ = FileHandle(H5Fcreate("trace in memory", H5F_ACC_TRUNC, creation.get(), access.get()), "make the file");
}

void Hdf5Builder::attribute(const std::string& name, const std::string& value) const {
  write_text_attribute(file_.get(), name, value);
}

void Hdf5Builder::attribute(const std::string& name, std::int64_t value) const {
  write_attribute(file_.get(), name, Types<std::int64_t>::file(), Types<std::int64_t>::memory(), {}, &value);
}

// The oldest superblock (HDF5's default) has no checksum, which H5Fget_file_image of HDF5 1.10 would invalidate.
std::vector<char> Hdf5Builder::image() const {
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "complete the file");
  const ssize_t size = check(H5Fget_file_image(file_.get(), nullptr, 0), "measure the file");
  std::vector<char> bytes(static_cast<std::size_t>(size));
  check(H5Fget_file_image(file_.get(), bytes.data(), bytes.size()), "copy the file");
  return bytes;
}

template void Hdf5Group::axis<double>(const std::string&, std::span<const double>, std::string_view, std::string_view);
template void Hdf5Group::axis<std::int64_t>(const std::string&, std::span<const std::int64_t>, std::string_view,
                                            std::string_view);
template void Hdf5Group::column<double>(const std::string&, const std::vector<std::string>&, std::span<const double>,
                                        std::string_view, std::string_view);
template void Hdf5Group::column<float>(const std::string&, const std::vector<std::string>&, std::span<const float>,
                                       std::string_view, std::string_view);
template void Hdf5Group::column<std::int32_t>(const std::string&, const std::vector<std::string>&,
                                              std::span<const std::int32_t>, std::string_view, std::string_view);
template void Hdf5Group::column<std::int64_t>(const std::string&, const std::vector<std::string>&,
                                              std::span<const std::int64_t>, std::string_view, std::string_view);
template void Hdf5Group::column<std::uint8_t>(const std::string&, const std::vector<std::string>&,
                                              std::span<const std::uint8_t>, std::string_view, std::string_view);

std::string hdf5_reasons() {
  std::string text;
  const auto append = [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
    auto& reasons = *static_cast<std::string*>(data);
    if (error->desc != nullptr && *error->desc != '\0') {
      if (!reasons.empty()) reasons += ": ";
      reasons += error->desc;
    }
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, append, &text);
  return text.empty() ? "unknown reason" : text;
}

}  // namespace podsim
