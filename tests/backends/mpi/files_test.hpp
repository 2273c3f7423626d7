// SPDX-License-Identifier: BSL-1.0
#pragma once

// Ranks on several nodes save and load one file, by MPI-IO; the tests of files on one node are save_test.cpp.
#include <pgas/backends/self.hpp>
#include <pgas/files/hdf5.hpp>
#include <pgas/files/save.hpp>
#include <pgas/layouts/cyclic_tiles.hpp>

#include "../../support/saved.hpp"
#include "one_backend.hpp"

namespace pgas_test {

/// Calls body(team, folder) on ranks that share a folder, which is removed afterwards.
template <class Body>
void in_a_folder(Body const& body) {
  everywhere(
      [&body](auto& team) {
        std::optional<temporary_folder> mine;
        std::array<char, 128> name{};
        if (team.rank() == 0) {
          mine.emplace();
          mine->path.string().copy(name.data(), name.size() - 1);
        }
        team.broadcast(name, 0);
        body(team, fs::path(name.data()));
        team.barrier();
      },
      {2, 3});
}

}  // namespace pgas_test

TEST_CASE("ranks on several nodes save the bytes that one rank would save, and load them to another layout") {
  pgas_test::in_a_folder([](auto& team, pgas_test::fs::path const& folder) {
    pgas_test::cell_index<2> const extents{37, 61};
    std::vector<double> serial(37 * 61);
    for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = static_cast<double>(k) / 7;
    auto const rows = pgas::make_array<double>(team, extents);
    auto const tiles = pgas::make_array<double>(team, extents, pgas::cyclic_tiles<5, 7>{});
    auto const is_saved = [&](auto const& a) {
      pgas_test::fill(a, serial);
      pgas::save(a, folder / "a.npy");
      if (team.rank() == 0) {
        std::string const content = pgas_test::content_of(folder / "a.npy");
        std::string const bytes(reinterpret_cast<char const*>(serial.data()), serial.size() * sizeof(double));
        pgas_test::require(content.size() > bytes.size() && content.ends_with(bytes), "the file's elements");
        pgas_test::require_equal(std::distance(pgas_test::fs::directory_iterator(folder), {}), 1L, "files");
      }
      team.barrier();
    };
    is_saved(rows);
    pgas::load(tiles, folder / "a.npy");
    pgas_test::check(tiles, serial);
    is_saved(tiles);
    pgas::load(rows, folder / "a.npy");
    pgas_test::check(rows, serial);
  });
}

TEST_CASE(
    "ranks on several nodes save the HDF5 file that one rank saves, and load its dataset to another layout") {
  pgas_test::in_a_folder([](auto& team, pgas_test::fs::path const& folder) {
    pgas_test::cell_index<2> const extents{37, 61};
    std::vector<double> serial(37 * 61);
    for (std::size_t k = 0; k < serial.size(); ++k) serial[k] = static_cast<double>(k) / 7;
    pgas::hdf5 const whole{folder / "a.h5"};
    pgas::hdf5 const alone{folder / "alone.h5"};
    auto const rows = pgas::make_array<double>(team, extents);
    auto const tiles = pgas::make_array<double>(team, extents, pgas::cyclic_tiles<5, 7>{});
    if (team.rank() == 0) {
      pgas::run<pgas::backends::self>(1, [&](auto& one) {
        auto const a = pgas::make_array<double>(one, extents);
        pgas_test::fill(a, serial);
        pgas::save(a, alone);
      });
    }
    auto const is_saved = [&](auto const& a) {
      pgas_test::fill(a, serial);
      pgas::save(a, whole);
      if (team.rank() == 0) {
        pgas_test::require(
            pgas_test::content_of(folder / "a.h5") == pgas_test::content_of(folder / "alone.h5"),
            "the file of all nodes has the bytes of the file of one rank");
      }
      team.barrier();
    };
    is_saved(rows);
    pgas::load(tiles, whole);
    pgas_test::check(tiles, serial);
    is_saved(tiles);
    pgas::load(rows, whole);
    pgas_test::check(rows, serial);
    pgas_test::require_error(pgas::errc::bad_file, {"load", "none.h5"},
                             [&] { pgas::load(rows, pgas::hdf5{folder / "none.h5"}); });
  });
}

TEST_CASE("a file that ranks on several nodes cannot use is an error on each of them") {
  pgas_test::in_a_folder([](auto& team, pgas_test::fs::path const& folder) {
    auto const a = pgas::make_array<double>(team, {10, 100});
    pgas_test::require_error(pgas::errc::bad_file, {"save", "none", "cannot be opened"},
                             [&] { pgas::save(a, folder / "none" / "a.npy"); });
    pgas_test::require_error(pgas::errc::bad_file, {"load", "a.npy", "cannot be opened"},
                             [&] { pgas::load(a, folder / "a.npy"); });
    pgas::save(a, folder / "a.npy");
    if (team.rank() == 0) pgas_test::fs::resize_file(folder / "a.npy", 4000);
    team.barrier();
    pgas_test::require_error(pgas::errc::bad_file, {"load", "a.npy"},
                             [&] { pgas::load(a, folder / "a.npy"); });
  });
}
