// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/array/matrix_view.hpp>
#include <pgas/detail/copy/bulk_copy.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/transportable.hpp>

namespace PGAS_NAMESPACE {

/// Copies pieces of a result that is stored once and read much later. The copy bypasses the caches if they
/// cannot hold the whole result. An ordinary store first reads the line that it overwrites, and evicts lines
/// that are needed next.
///
/// Local; to plain memory. The destructor orders the copied cells before all that this rank signals
/// afterwards, so the object must end before the epoch does. Costs a store fence of the processor in the
/// destructor.
/// MPI, OpenSHMEM: none; processors: non-temporal stores.
class streamed_copy {
 public:
  /// `bytes` is the size of everything that this rank will copy.
  explicit streamed_copy(std::size_t bytes) : streams_(bytes > detail::longest_cached_copy()) {}
  streamed_copy(streamed_copy const&) = delete;
  streamed_copy& operator=(streamed_copy const&) = delete;
  ~streamed_copy() {
    if (streams_) detail::end_streaming();
  }

  /// Copies cells to a view of the same extents, which must not overlap. Whole lines of `to` are fastest.
  /// Throws errc::invalid_argument if the extents differ.
  template <class T>
    requires transportable<std::remove_const_t<T>>
  void operator()(matrix_view<T> from, matrix_view<std::remove_const_t<T>> to) const {
    PGAS_EXPECTS(
        light, from.extent(0) == to.extent(0) && from.extent(1) == to.extent(1),
        throw error(errc::invalid_argument, -1,
                    "streamed_copy: " + std::to_string(from.extent(0)) + " x " +
                        std::to_string(from.extent(1)) + " cells do not fit " + std::to_string(to.extent(0)) +
                        " x " + std::to_string(to.extent(1)) + "; give two views of the same extents"));
    auto const bytes = [](std::ptrdiff_t cells) { return static_cast<std::size_t>(cells) * sizeof(T); };
    detail::copy_rows(reinterpret_cast<std::byte*>(to.data_handle()), bytes(to.stride(0)),
                      reinterpret_cast<std::byte const*>(from.data_handle()), bytes(from.stride(0)),
                      from.extent(0), from.extent(1) * sizeof(T), streams_);
  }

 private:
  bool streams_;
};

}  // namespace PGAS_NAMESPACE
