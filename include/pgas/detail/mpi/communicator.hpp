// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <pgas/detail/mpi/call.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// A window of MPI that a communicator keeps. The objects of the library on this rank share it; when the last
/// of them is gone, the window is unused.
struct kept_window {
  MPI_Win window = MPI_WIN_NULL;
  std::shared_ptr<void> memory = {};  ///< of the library, if MPI has not allocated it
};

/// A communicator of MPI for the ranks of a team, and the windows that were made on it.
///
/// MPI_Win_free is collective, while the destructor of a window must not wait for other ranks. An unused
/// window therefore stays until the next creation on the same communicator. There the ranks agree on the
/// windows that none of them uses, by one reduction of a bit for each window, and free those.
class communicator {
 public:
  /// Takes the communicator over.
  explicit communicator(MPI_Comm given) : ranks_(given) {
    check_call(MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int size = 0;
    MPI_Comm_size(ranks_, &size);
    is_alone_ = size == 1;
  }
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  [[nodiscard]] MPI_Comm get() const noexcept { return ranks_; }

  /// Returns whether this process is its only one.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }

  /// A communicator of the same ranks, for the program.
  [[nodiscard]] MPI_Comm duplicate() const {
    MPI_Comm made = MPI_COMM_NULL;
    check_call(MPI_Comm_dup(ranks_, &made), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(made, MPI_ERRORS_ARE_FATAL);  // MPI's default, which programs expect
    return made;
  }

  /// Keeps a window that all ranks of the team have just made; MPI_WIN_NULL where memory does without.
  std::shared_ptr<kept_window> keep(MPI_Win made) {
    return windows_.emplace_back(std::make_shared<kept_window>(kept_window{made}));
  }

  /// A bit for each window, in the order in which all ranks have made them: 1 if this rank does not use it.
  [[nodiscard]] std::vector<std::uint64_t> unused() const {
    std::vector<std::uint64_t> bits((windows_.size() + 63) / 64);
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i].use_count() == 1) bits[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    return bits;
  }
  /// Frees the windows with a bit. All ranks call it with the same bits.
  void free(std::vector<std::uint64_t> const& bits) {
    std::vector<std::shared_ptr<kept_window>> left;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if ((bits[i / 64] >> (i % 64) & 1U) != 0) {
        free(*windows_[i]);
      } else {
        left.push_back(std::move(windows_[i]));
      }
    }
    windows_.swap(left);
  }
  /// Frees all windows, then the communicator. All ranks of the team call it.
  void free_all() {
    for (auto const& each : windows_) free(*each);
    windows_.clear();
    MPI_Comm_free(&ranks_);
  }
  [[nodiscard]] std::size_t windows() const noexcept { return windows_.size(); }

 private:
  static void free(kept_window& w) {
    if (w.window == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(w.window);
    MPI_Win_free(&w.window);
  }

  MPI_Comm ranks_;
  bool is_alone_ = false;
  std::vector<std::shared_ptr<kept_window>> windows_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
