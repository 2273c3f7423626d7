// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <hdf5.h>

#include <mutex>
#include <pgas/detail/process/one_per_process.hpp>
#include <pgas/files/save.hpp>
#include <span>
#include <string_view>

namespace PGAS_NAMESPACE {

/// The name of an array in an HDF5 file, for save and load: `save(a, hdf5{"run.h5", "fields/density"})`.
struct hdf5 {
  std::filesystem::path file;     ///< the file
  std::string dataset = "array";  ///< the path of the data set in the file
};

namespace detail {

/// Gives this thread exclusive use of HDF5, which not every system builds for threads, and silences HDF5's
/// own messages.
class hdf5_session {
 public:
  hdf5_session() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  hdf5_session(hdf5_session const&) = delete;
  hdf5_session& operator=(hdf5_session const&) = delete;
  ~hdf5_session() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  struct only_one {
    static constexpr std::string_view shared_name = "hdf5_session";
    std::mutex mutex;
  };
  static std::mutex& mutex() { return one_per_process<only_one>().mutex; }
  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Throws a file_failure with `text`, which follows the file's name, and with HDF5's reason for this thread's
/// last failure.
[[noreturn]] inline void throw_hdf5(std::string const& text) {
  std::string why;
  auto const innermost = [](unsigned n, H5E_error2_t const* e, void* to) -> herr_t {
    if (n == 0 && e->desc != nullptr) *static_cast<std::string*>(to) = e->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, &why);
  throw file_failure(errc::bad_file, text + (why.empty() ? "" : ": " + why));
}
inline void require_hdf5(herr_t result, std::string const& text) {
  if (result < 0) throw_hdf5(text);
}

/// An HDF5 handle that is closed in the destructor. The constructor throws file_failure if there is none.
class hdf5_handle {
 public:
  hdf5_handle(hid_t id, herr_t (*close)(hid_t), std::string const& text) : id_(id), close_(close) {
    if (id < 0) throw_hdf5(text);
  }
  hdf5_handle(hdf5_handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  hdf5_handle& operator=(hdf5_handle&&) = delete;
  ~hdf5_handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const noexcept { return id_; }  // NOLINT(google-explicit-constructor): a handle is its id

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// The HDF5 type of T; complex numbers and bool have the types that h5py uses.
template <npy_element T>
hdf5_handle hdf5_type() {
  std::string const text = "has no type for the elements";
  if constexpr (std::is_same_v<T, bool>) {
    hdf5_handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose, text);
    for (bool truth : {false, true}) {
      auto const value = static_cast<std::int8_t>(truth);
      require_hdf5(H5Tenum_insert(type, truth ? "TRUE" : "FALSE", &value), text);
    }
    return type;
  } else if constexpr (is_complex<T>) {
    using real = typename T::value_type;
    auto const part = hdf5_type<real>();
    hdf5_handle type(H5Tcreate(H5T_COMPOUND, sizeof(T)), H5Tclose, text);
    require_hdf5(H5Tinsert(type, "r", 0, part), text);
    require_hdf5(H5Tinsert(type, "i", sizeof(real), part), text);
    return type;
  } else if constexpr (std::is_floating_point_v<T>) {
    hid_t const native = std::is_same_v<T, float>    ? H5T_NATIVE_FLOAT
                         : std::is_same_v<T, double> ? H5T_NATIVE_DOUBLE
                                                     : H5T_NATIVE_LDOUBLE;
    return {H5Tcopy(native), H5Tclose, text};
  } else {
    hdf5_handle type(H5Tcopy(H5T_NATIVE_INT), H5Tclose, text);
    require_hdf5(H5Tset_size(type, sizeof(T)), text);
    require_hdf5(H5Tset_sign(type, std::is_signed_v<T> ? H5T_SGN_2 : H5T_SGN_NONE), text);
    return type;
  }
}

/// An HDF5 type in words.
inline std::string hdf5_text(hid_t type) {
  std::string text = H5Tget_order(type) == H5T_ORDER_BE && H5Tget_size(type) > 1 ? "big-endian " : "";
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      text += H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned integers" : "integers";
      break;
    case H5T_FLOAT:
      text += "floating point numbers";
      break;
    case H5T_ENUM:
      text += "enumerators";
      break;
    case H5T_COMPOUND:
      text += "records";
      break;
    case H5T_STRING:
      text += "strings";
      break;
    default:
      text += "elements that are no numbers";
      break;
  }
  return text + " of " + std::to_string(H5Tget_size(type)) + " bytes";
}

/// Makes an empty file an HDF5 file with one contiguous dataset, whose elements are not yet written. Returns
/// the byte at which they begin. The file stores no times, so the same call makes the same bytes.
inline std::uint64_t make_hdf5(std::filesystem::path const& path, std::string const& dataset, hid_t type,
                               std::span<std::size_t const> extents) {
  std::string const text = "cannot get a dataset " + in_quotes(dataset);
  std::vector<hsize_t> const counts(extents.begin(), extents.end());
  hdf5_handle const file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
                         "cannot be opened to be written");
  hdf5_handle const space(H5Screate_simple(static_cast<int>(counts.size()), counts.data(), nullptr), H5Sclose,
                          text);
  hdf5_handle const how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, text);
  require_hdf5(H5Pset_layout(how, H5D_CONTIGUOUS), text);
  require_hdf5(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY), text);
  require_hdf5(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), text);
  require_hdf5(H5Pset_obj_track_times(how, false), text);
  hdf5_handle const where(H5Pcreate(H5P_LINK_CREATE), H5Pclose, text);
  require_hdf5(H5Pset_create_intermediate_group(where, 1), text);
  hdf5_handle const set(H5Dcreate2(file, dataset.c_str(), type, space, where, how, H5P_DEFAULT), H5Dclose,
                        text);
  haddr_t const first = H5Dget_offset(set);
  require_hdf5(H5Fflush(file, H5F_SCOPE_LOCAL), "cannot be written");
  return first == HADDR_UNDEF ? 0 : first;  // an empty dataset has no address
}

/// Writes what HDF5 stores beside the elements into the new file, and returns the byte at which they begin.
///
/// HDF5 opens files by name only. For a file without a name it makes the dataset in another file, for an
/// instant in which no signal but SIGKILL ends the process. That file is a hole where the elements belong.
/// The rest of it is copied, some kilobytes.
inline std::uint64_t begin_hdf5(file const& to, replacing_file const& made, std::string const& dataset,
                                hid_t type, std::span<std::size_t const> extents) {
  if (made.is_named()) return make_hdf5(made.part(), dataset, type, extents);
  uninterrupted const meanwhile;
  replacing_file beside(made.part(), 0);
  if (int const why = beside.make_named(); why != 0)
    throw file_failure("cannot be opened to be written", why);
  std::uint64_t const first = make_hdf5(beside.part(), dataset, type, extents);
  file const from(beside.part(), O_RDONLY, "to be written");
  std::uint64_t const all = from.size();
  std::vector<char> bytes;
  for (std::uint64_t at = 0; at < all;) {
    auto const [begin, end] = from.next_stored(at);
    at = end;
    bytes.resize(static_cast<std::size_t>(end - begin));
    if (bytes.empty()) continue;
    from.read(bytes.data(), bytes.size(), begin);
    to.write(bytes.data(), bytes.size(), begin);
  }
  to.reserve(all);
  return first;
}

/// A number of the file that holds an object. `get` is H5Oget_info2, which takes another struct in each
/// version of HDF5.
template <class Info>
unsigned long hdf5_file_number(herr_t (*get)(hid_t, Info*, unsigned), hid_t object, std::string const& text) {
  Info info{};
  require_hdf5(get(object, &info, H5O_INFO_BASIC), text);
  return info.fileno;
}

/// Returns the byte at which the elements of a dataset begin. The dataset must be contiguous and have this
/// type and shape. Throws file_failure otherwise.
inline std::uint64_t find_in_hdf5(std::filesystem::path const& path, std::string const& dataset, hid_t type,
                                  std::span<std::size_t const> extents, std::uint64_t bytes_of_file) {
  if (H5Fis_hdf5(path.c_str()) <= 0)
    throw file_failure(errc::bad_file, "is no HDF5 file, or not the beginning of one");
  hdf5_handle const file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
                         "cannot be read as HDF5");
  hdf5_handle const set(H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose,
                        "has no dataset " + in_quotes(dataset));
  std::string const text = "has a dataset " + in_quotes(dataset) + " that cannot be inspected";
  auto const refuse = [&](std::string const& what) {
    throw file_failure(errc::bad_file, "has a dataset " + in_quotes(dataset) + " " + what);
  };
  // The offset of a dataset counts from the beginning of its own file.
  if (hdf5_file_number(H5Oget_info2, file, text) != hdf5_file_number(H5Oget_info2, set, text))
    refuse("that is an external link to another file; name that file");
  hdf5_handle const found(H5Dget_type(set), H5Tclose, text);
  if (H5Tequal(found, type) <= 0) {
    bool const alike = hdf5_text(found) == hdf5_text(type);
    refuse("of " + hdf5_text(found) + ", but the array's are " +
           (alike ? "others of that size" : hdf5_text(type)));
  }
  hdf5_handle const space(H5Dget_space(set), H5Sclose, text);
  std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space), 0)));
  require_hdf5(H5Sget_simple_extent_dims(space, shape.data(), nullptr), text);
  if (!std::equal(shape.begin(), shape.end(), extents.begin(), extents.end())) {
    refuse("of " + (shape.empty() ? "no dimensions" : joined(shape, " x ")) + ", but " +
           joined(extents, " x ") + " cells are to be loaded; load a box of the dataset's shape");
  }
  std::uint64_t bytes = H5Tget_size(type);
  for (std::size_t e : extents) bytes *= e;
  if (bytes == 0) return 0;
  hdf5_handle const how(H5Dget_create_plist(set), H5Pclose, text);
  if (H5Pget_layout(how) != H5D_CONTIGUOUS || H5Pget_external_count(how) != 0) {
    refuse(
        "that is not contiguous in the file, but chunked, compressed or external; convert it with h5repack "
        "-l CONTI");
  }
  haddr_t const first = H5Dget_offset(set);
  if (first == HADDR_UNDEF) refuse("whose elements were never written");
  if (bytes_of_file < first || bytes_of_file - first < bytes) {
    throw file_failure(errc::bad_file, "is cut off: it has " + std::to_string(bytes_of_file) +
                                           " bytes, and needs " + std::to_string(first + bytes));
  }
  return first;
}

}  // namespace detail

/// Saves a box of cells as the one dataset of an HDF5 file, in the groups that its name states:
/// `save(a, {{0, 0}, {10, 10}}, hdf5{"run.h5", "corners/first"})`.
///
/// Otherwise like save to an NPY file. The elements are contiguous in the file, so here too all ranks write
/// their strips at once. Only rank 0 calls HDF5, which needs no MPI. Programs that include this header link
/// HDF5: pgas_hdf5_dep.
/// Throws also errc::bad_file if HDF5 refuses the name. MPI: H5Dwrite with H5FD_MPIO_COLLECTIVE.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
  requires npy_element<typename Array::value_type>
void save(Array const& a, std::type_identity_t<typename Array::box_type> const& cells, hdf5 const& where,
          Progress&& progress = {}) {
  using value_type = typename Array::value_type;
  detail::save_elements(a, cells, where.file, where.dataset, cells.size() * sizeof(value_type), progress,
                        [&](detail::file const& to, detail::replacing_file const& made) {
                          std::uint64_t first = 0;
                          {
                            detail::hdf5_session const alone;
                            first = detail::begin_hdf5(to, made, where.dataset,
                                                       detail::hdf5_type<value_type>(), cells.count);
                          }
                          to.reserve(std::max(to.size(), first + cells.size() * sizeof(value_type)));
                          return first;
                        });
}

/// Saves all cells. Otherwise like save of a box.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
  requires npy_element<typename Array::value_type>
void save(Array const& a, hdf5 const& where, Progress&& progress = {}) {
  save(a, typename Array::box_type{{}, a.extents()}, where, std::forward<Progress>(progress));
}

/// Loads a box of cells from a dataset of exactly these extents and this type.
///
/// Otherwise like load from an NPY file. Throws the same error on every rank: errc::bad_file if the file is
/// missing, cut off or no HDF5 file, or lacks the dataset. The same holds for a dataset of another type,
/// shape or byte order, for a chunked or compressed one, and for one that is in another file, by an external
/// link or external storage. h5repack makes such a dataset contiguous. No cell has changed then, unless
/// reading failed midway.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
  requires npy_element<typename Array::value_type>
void load(Array const& a, std::type_identity_t<typename Array::box_type> const& cells, hdf5 const& where,
          Progress&& progress = {}) {
  using value_type = typename Array::value_type;
  detail::load_elements(a, cells, where.file, where.dataset, progress, [&](detail::file const& from) {
    std::uint64_t const bytes = from.size();
    detail::hdf5_session const alone;
    return detail::find_in_hdf5(where.file, where.dataset, detail::hdf5_type<value_type>(), cells.count,
                                bytes);
  });
}

/// Loads all cells. Otherwise like load of a box.
template <any_global_array Array, std::invocable<std::uint64_t, std::uint64_t> Progress = detail::no_progress>
  requires npy_element<typename Array::value_type>
void load(Array const& a, hdf5 const& where, Progress&& progress = {}) {
  load(a, typename Array::box_type{{}, a.extents()}, where, std::forward<Progress>(progress));
}

}  // namespace PGAS_NAMESPACE
