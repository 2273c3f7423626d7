// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/support/expects.hpp>

namespace pgas::inline PGAS_ASSERTIONS {

/// A started operation: made by a segment, moved, tested and waited for by its caller.
///
/// `test()` says whether the operation is complete at the origin (a put's source may be reused, a
/// get's destination holds the data) and never blocks; `wait()` returns once it is. Both may be
/// called again afterwards. A request must end before the epoch that made it. MPI: MPI_Rput's
/// request; completion at the target still needs a flush or the epoch's end.
template <class R>
concept request = std::movable<R> && requires(R& r) {
  { r.test() } -> std::same_as<bool>;
  r.wait();
};

/// The request of an operation that was complete when it returned: costs nothing.
struct done {
  [[nodiscard]] static constexpr bool test() noexcept { return true; }
  static constexpr void wait() noexcept {}
};
static_assert(request<done>);

}  // namespace pgas::inline PGAS_ASSERTIONS
