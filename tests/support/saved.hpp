// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "serial_array.hpp"

/// Folders for files that ranks save, and the expected contents.
namespace pgas_test {

namespace fs = std::filesystem;

/// A folder that is removed with its contents at the end: the ranks share it.
struct temporary_folder {
  temporary_folder() {
    std::string name = (fs::temp_directory_path() / "pgas-save-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() { fs::remove_all(path); }

  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (auto const& entry : fs::directory_iterator(path)) all.insert(entry.path().filename().string());
    return all;
  }
  fs::path path;
};

inline std::string content_of(fs::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_to(fs::path const& path, std::string const& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// Sets each own cell to the serial array's value, or requires that it has that value.
template <class Array, class T>
void fill(Array const& a, std::vector<T> const& serial) {
  for (auto const tile : tiles(a)) {
    for_each_cell(a.extents(), tile.cells(), [&](std::size_t in_all, std::size_t k) {
      cell_index<Array::dimensions> i{};
      for (std::size_t d = Array::dimensions; d-- > 0; k /= tile.cells().count[d])
        i[d] = k % tile.cells().count[d];
      at(tile.view(), i) = serial[in_all];
    });
  }
}
template <class Array, class T>
void check(Array const& a, std::vector<T> const& serial) {
  for (auto const tile : tiles(a)) {
    for_each_cell(a.extents(), tile.cells(), [&](std::size_t in_all, std::size_t k) {
      cell_index<Array::dimensions> i{};
      for (std::size_t d = Array::dimensions; d-- > 0; k /= tile.cells().count[d])
        i[d] = k % tile.cells().count[d];
      require_equal(static_cast<T>(at(tile.view(), i)), serial[in_all], "cell loaded");
    });
  }
}

}  // namespace pgas_test
