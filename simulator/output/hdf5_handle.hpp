// Owners of HDF5 identifiers and checked calls: the C interface, since H5::Exception is no std::exception.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace podsim {

// A call of HDF5 failed; the text is HDF5's own. Stays within this module: writers turn it into an InternalError,
// readers into a UserError.
class Hdf5Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The reasons on HDF5's error stack, innermost last.
[[nodiscard]] std::string hdf5_reasons();

// Passes a non-negative result on; Hdf5Error otherwise.
template <typename Result>
Result check(Result result, const std::string& doing) {
  if (result < 0) throw Hdf5Error("cannot " + doing + ": " + hdf5_reasons());
  return result;
}

template <herr_t (*Close)(hid_t)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id, const std::string& doing) : id_(check(id, doing)) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  [[nodiscard]] hid_t get() const { return id_; }

 private:
  void reset() {
    if (id_ >= 0) Close(id_);
    id_ = H5I_INVALID_HID;
  }
  hid_t id_ = H5I_INVALID_HID;
};

using FileHandle = Handle<H5Fclose>;
using GroupHandle = Handle<H5Gclose>;
using DatasetHandle = Handle<H5Dclose>;
using DataspaceHandle = Handle<H5Sclose>;
using DatatypeHandle = Handle<H5Tclose>;
using AttributeHandle = Handle<H5Aclose>;
using PropertyHandle = Handle<H5Pclose>;

// Keeps HDF5 from printing errors to stderr, which it does even for handled ones; until the end of the scope.
class SilencedErrors {
 public:
  SilencedErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~SilencedErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  SilencedErrors(const SilencedErrors&) = delete;
  SilencedErrors& operator=(const SilencedErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace podsim
