// SPDX-License-Identifier: BSL-1.0
// HDF5's own functions read saved arrays, and arrays load datasets written by those functions, on any layout.
// Every rank reports a failure, and no partial file stays.
// test: unit algorithm
#include <complex>
#include <pgas/distributions/block_cyclic.hpp>
#include <pgas/files/hdf5.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>

#include "support/ranks.hpp"
#include "support/saved.hpp"

using namespace pgas_test;
using namespace pgas;

namespace {

/// Requires that a call of HDF5 succeeded.
hid_t good(hid_t result) {
  require(result >= 0, "the call of HDF5 succeeds");
  return result;
}

/// A dataset as HDF5's own functions read it: its extents, and its elements converted to T.
template <class T>
std::pair<std::vector<hsize_t>, std::vector<T>> read_by_hdf5(fs::path const& path, char const* name,
                                                             hid_t type) {
  hid_t const file = good(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  hid_t const set = good(H5Dopen2(file, name, H5P_DEFAULT));
  hid_t const space = good(H5Dget_space(set));
  std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  good(H5Sget_simple_extent_dims(space, extents.data(), nullptr));
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  good(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  H5Sclose(space);
  H5Dclose(set);
  H5Fclose(file);
  return {extents, values};
}

/// Writes a dataset by HDF5's own functions; `how` holds its creation properties.
template <class T>
void write_by_hdf5(
    fs::path const& path, char const* name, hid_t type, std::vector<hsize_t> const& extents,
    std::vector<T> const& values, void (*how)(hid_t) = [](hid_t) {}) {
  hid_t const file = good(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  hid_t const space = good(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
  hid_t const made = good(H5Pcreate(H5P_DATASET_CREATE));
  how(made);
  hid_t const set = good(H5Dcreate2(file, name, type, space, H5P_DEFAULT, made, H5P_DEFAULT));
  if (!values.empty()) good(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  H5Dclose(set);
  H5Pclose(made);
  H5Sclose(space);
  H5Fclose(file);
}

/// Saves and loads an array, whole and in a box, inside a group and outside.
template <std::size_t N, class Team, class Rule>
void save_and_load(Team& team, fs::path const& folder, cell_index<N> const& extents, Rule const& rule,
                   std::uint64_t seed) {
  random_source same(seed);
  auto const a = make_array<int>(team, extents, rule);
  std::vector<int> serial(a.size());
  for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = static_cast<int>(k * 7 + seed);
  fill(a, serial);
  auto const is_there = [&](hdf5 const& where, cell_index<N> const& counts,
                            std::vector<int> const& expected) {
    if (team.rank() == 0) {
      auto const [found, values] = read_by_hdf5<int>(where.file, where.dataset.c_str(), H5T_NATIVE_INT);
      require(std::equal(found.begin(), found.end(), counts.begin(), counts.end()),
              "HDF5 reads the extents that were saved");
      require(values == expected, "HDF5 reads the elements that were saved");
    }
    team.barrier();
  };
  hdf5 const whole{folder / "a.h5"};
  pgas::save(a, whole);
  is_there(whole, extents, serial);
  auto const b = some_box(same, extents);
  std::vector<int> of_box(b.size());
  for_each_cell(extents, b, [&](std::size_t in_all, std::size_t k) { of_box[k] = serial[in_all]; });
  hdf5 const part{folder / "a.h5", "some/group/part"};
  pgas::save(a, b, part);
  is_there(part, b.count, of_box);

  for (int& v : of_box) v = -v;
  if (team.rank() == 0)
    write_by_hdf5(part.file, "part", H5T_NATIVE_INT, {b.count.begin(), b.count.end()}, of_box);
  team.barrier();
  for_each_cell(extents, b, [&](std::size_t in_all, std::size_t k) { serial[in_all] = of_box[k]; });
  pgas::load(a, b, hdf5{part.file, "part"});
  pgas_test::check(a, serial);
  team.barrier();
}

template <class T, class Team>
void save_type(Team& team, fs::path const& folder) {
  hdf5 const where{folder / "type.h5", "t"};
  auto const a = make_array<T>(team, 11);
  auto const b = make_array<T>(team, 11);
  std::vector<T> serial;
  for (int i = 0; i < 11; ++i) serial.push_back(static_cast<T>(i % 2));
  fill(a, serial);
  pgas::save(a, where);
  pgas::load(b, where);
  pgas_test::check(b, serial);
  if (team.rank() == 0) {
    // HDF5 converts the types that it knows as numbers. For all others it must know the name.
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      std::vector<double> const numbers(serial.begin(), serial.end());
      require(read_by_hdf5<double>(where.file, "t", H5T_NATIVE_DOUBLE).second == numbers,
              "HDF5 converts the saved type to double");
    }
  }
  team.barrier();
}

}  // namespace

TEST_CASE("hdf5: HDF5 reads every saved array, and arrays load HDF5's datasets, on every memory and layout") {
  temporary_folder const folder;
  everywhere<few_models>([&](auto& team) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      save_and_load<2>(team, folder.path, {9 * seed, 70}, by_rows<2>{}, seed);
      save_and_load<2>(team, folder.path, {9, 4 + seed}, cyclic_tiles<2, 3>{}, seed);
    }
  });
  everywhere<std::tuple<process_model>>([&](auto& team) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      save_and_load<1>(team, folder.path, {40 * seed - 40}, block{}, seed);
    save_and_load<3>(team, folder.path, {5, 6, 7}, tiled{block{}, block_cyclic<2>{}, block{}}, 5);
  });
  CHECK(folder.names() == std::set<std::string>{"a.h5"});
}

TEST_CASE(
    "hdf5: integers, floating point, complex numbers and bool have HDF5 types, the last two as in h5py") {
  temporary_folder const folder;
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        save_type<std::int8_t>(team, folder.path);
        save_type<std::uint16_t>(team, folder.path);
        save_type<std::int64_t>(team, folder.path);
        save_type<float>(team, folder.path);
        save_type<std::complex<double>>(team, folder.path);
        save_type<bool>(team, folder.path);
        if (team.rank() != 0) return;
        hid_t const file = good(H5Fopen((folder.path / "type.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
        hid_t const set = good(H5Dopen2(file, "t", H5P_DEFAULT));
        hid_t const type = good(H5Dget_type(set));
        char name[8] = {};
        std::int8_t const truth = 1;
        good(H5Tenum_nameof(type, &truth, name, sizeof name));
        require_equal(std::string(name), std::string("TRUE"), "name of 1");
        H5Tclose(type);
        H5Dclose(set);
        H5Fclose(file);
      },
      {3});
}

TEST_CASE("hdf5: a file has the same bytes in each run, those that HDF5 writes without times") {
  temporary_folder const folder;
  std::vector<double> const numbers(30, 0.5);
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {6, 5}, tiled{block{}, block{}});
        fill(a, numbers);
        pgas::save(a, hdf5{folder.path / "a.h5", "x"});
      },
      {4});
  write_by_hdf5(folder.path / "b.h5", "x", H5T_NATIVE_DOUBLE, {6, 5}, numbers, [](hid_t how) {
    good(H5Pset_alloc_time(how, H5D_ALLOC_TIME_EARLY));
    good(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER));
    good(H5Pset_obj_track_times(how, false));
  });
  CHECK(content_of(folder.path / "a.h5") == content_of(folder.path / "b.h5"));
}

TEST_CASE("hdf5: every rank refuses an unsuitable dataset, and says what it is and what was expected") {
  temporary_folder const folder;
  std::vector<hsize_t> const shape{3, 4};
  std::vector<double> const numbers(12, 1);
  auto const path = [&](char const* name) { return folder.path / name; };
  write_by_hdf5(path("good"), "x", H5T_NATIVE_DOUBLE, shape, numbers);
  write_by_hdf5(path("float"), "x", H5T_NATIVE_FLOAT, shape, std::vector<float>(12));
  write_by_hdf5(path("unsigned"), "x", H5T_NATIVE_UINT64, shape, std::vector<std::uint64_t>(12));
  write_by_hdf5(path("big"), "x", H5T_IEEE_F64BE, shape, numbers);
  write_by_hdf5(path("turned"), "x", H5T_NATIVE_DOUBLE, {4, 3}, numbers);
  write_by_hdf5(path("line"), "x", H5T_NATIVE_DOUBLE, {12}, numbers);
  write_by_hdf5(path("chunks"), "x", H5T_NATIVE_DOUBLE, shape, numbers, [](hid_t how) {
    std::array<hsize_t, 2> const chunk{2, 2};
    good(H5Pset_chunk(how, 2, chunk.data()));
  });
  write_by_hdf5(path("empty"), "x", H5T_NATIVE_DOUBLE, shape, std::vector<double>());
  {
    // The link leads to equal numbers at another offset; "external" has its elements in a file beside.
    write_by_hdf5(path("far"), "before", H5T_NATIVE_DOUBLE, shape, numbers);
    hid_t const file = good(H5Fcreate(path("linked").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    good(H5Lcreate_external("good", "x", file, "x", H5P_DEFAULT, H5P_DEFAULT));
    good(H5Lcreate_soft("x", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    write_to(path("linked"), content_of(path("linked")) + std::string(4096, '\0'));
    fs::current_path(folder.path);
    write_by_hdf5(path("external"), "x", H5T_NATIVE_DOUBLE, shape, numbers,
                  [](hid_t how) { good(H5Pset_external(how, "elements", 0, 96)); });
    fs::current_path("/");
  }
  std::string const whole = content_of(path("good"));
  write_to(path("half"), whole.substr(0, whole.size() - 1));
  write_to(path("head"), whole.substr(0, 4));
  write_to(path("text"), "no HDF5");
  std::vector<std::array<std::string, 3>> const cases{
      {"float", "x",
       "a dataset 'x' of floating point numbers of 4 bytes, but the array's are floating point numbers of 8"},
      {"unsigned", "x", "of unsigned integers of 8 bytes, but the array's are floating point"},
      {"big", "x", "of big-endian floating point numbers of 8 bytes"},
      {"turned", "x", "a dataset 'x' of 4 x 3, but 3 x 4 cells are to be loaded"},
      {"line", "x", "a dataset 'x' of 12, but 3 x 4 cells"},
      {"chunks", "x", "not contiguous in the file"},
      {"empty", "x", "whose elements were never written"},
      {"linked", "x", "a dataset 'x' that is an external link to another file; name that file"},
      {"linked", "soft", "a dataset 'soft' that is an external link to another file"},
      {"external", "x", "not contiguous in the file"},
      {"half", "x", "truncated file"},
      {"head", "x", "is no HDF5 file"},
      {"text", "x", "is no HDF5 file"},
      {"good", "y", "has no dataset 'y': "},
      {"none", "x", "cannot be opened to be read: No such file"},
      {".", "x", "is a folder or device"},
  };
  everywhere<std::tuple<self_model, process_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {3, 4});
        for (auto const& [file, dataset, piece] : cases) {
          require_error(errc::bad_file, {"rank 0: load: '" + (folder.path / file).string() + "' ", piece},
                        [&] {
                          pgas::load(a, hdf5{folder.path / file, dataset});
                        });
        }
        pgas_test::check(a, std::vector<double>(12));
        pgas::load(a, hdf5{path("good"), "x"});
        pgas_test::check(a, numbers);
      },
      {1, 3});
}

TEST_CASE("hdf5: every rank reports an array that cannot be saved, and the old file stays, without another") {
  temporary_folder const folder;
  write_to(folder.path / "a.h5", "old");
  everywhere<std::tuple<process_model>>(
      [&](auto& team) {
        auto const a = make_array<double>(team, {3, 4});
        auto const refused = [&](hdf5 const& where, std::string const& piece) {
          require_error(errc::bad_file, {"rank 0: save: '" + where.file.string() + "' ", piece},
                        [&] { pgas::save(a, where); });
        };
        refused({folder.path / "a.h5", ""}, "cannot get a dataset ''");
        refused({folder.path / "none" / "a.h5"}, "cannot be opened to be written");
        refused({folder.path}, "is a folder or device");
        require_error(errc::mismatch, {"save: rank 1 names another file"}, [&] {
          pgas::save(a, hdf5{folder.path / "a.h5", team.rank() == 1 ? "x" : "y"});
        });
        if (team.rank() == team.size() - 1) {
          rlimit const small{.rlim_cur = 90, .rlim_max = RLIM_INFINITY};
          require_equal(::setrlimit(RLIMIT_FSIZE, &small), 0, "setrlimit");
        }
        require_error(errc::no_space,
                      {"rank " + std::to_string(team.size() - 1), "more than 90 are not allowed"},
                      [&] { pgas::save(a, hdf5{folder.path / "a.h5"}); });
      },
      {3});
  CHECK(content_of(folder.path / "a.h5") == "old");
  CHECK(folder.names() == std::set<std::string>{"a.h5"});
}
