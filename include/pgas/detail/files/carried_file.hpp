// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <memory>
#include <pgas/array/any_global_array.hpp>
#include <pgas/concepts/backend.hpp>
#include <pgas/detail/files/file.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A file as the backend of an array carries it, where the ranks are on several nodes and see the file
/// through a network. Its functions are those of `file`. Other backends carry no files.
template <any_global_array Array>
class carried_file {
  using backend_type = typename Array::state_type::backend_type;

 public:
  static constexpr bool is_possible = file_backend<backend_type>;

  explicit carried_file(Array const& a) {
    if constexpr (is_possible) is_wanted_ = a.state().team->backend.spans_nodes();
  }

  /// Returns whether the backend carries files. All ranks get the same answer.
  [[nodiscard]] bool is_wanted() const noexcept { return is_wanted_; }

  /// Opens a file that exists, to be written or to be read.
  void open(std::filesystem::path const& path, bool writes) {
    if constexpr (is_possible)
      named([&] { file_ = std::make_unique<typename backend_type::file_type>(path.string(), writes); });
  }
  void write(std::span<iovec> pieces, std::uint64_t first) const {
    if constexpr (is_possible) named([&] { file_->write(pieces, first); });
  }
  void read(std::span<iovec> pieces, std::uint64_t first) const {
    if constexpr (is_possible) named([&] { file_->read(pieces, first); });
  }
  void write(void const* from, std::size_t bytes, std::uint64_t first) const {
    iovec piece{const_cast<void*>(from), bytes};  // only read: iovec has one kind of pointer
    write({&piece, 1}, first);
  }
  void read(void* to, std::size_t bytes, std::uint64_t first) const {
    iovec piece{to, bytes};
    read({&piece, 1}, first);
  }
  void sync() const {
    if constexpr (is_possible) named([&] { file_->sync(); });
  }

 private:
  struct nothing {};
  template <class B>
  struct file_of {
    using type = nothing;
  };
  template <file_backend B>
  struct file_of<B> {
    using type = typename B::file_type;
  };

  /// An error of the backend is a failure of the file, whose name the caller says.
  template <class Act>
  static void named(Act const& act) {
    try {
      act();
    } catch (error const& failure) {
      throw file_failure(static_cast<errc>(failure.code().value()),
                         "cannot be used by ranks of several nodes: " + failure.description());
    }
  }

  bool is_wanted_ = false;
  std::unique_ptr<typename file_of<backend_type>::type> file_;
};

/// Calls use(file) with the file that the backend carries, if it wants to, else with `plain`.
template <class Array, class Use>
void with_file(carried_file<Array> const& carried, file const& plain, Use const& use) {
  if constexpr (carried_file<Array>::is_possible) {
    if (carried.is_wanted()) return use(carried);
  }
  use(plain);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
