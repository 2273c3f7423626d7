// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>

namespace PGAS_NAMESPACE::sync {

/// This lock protocol offers lock_all alone: no rank can hold an exclusive lock, so all ranks may always hold
/// it together.
///
/// Source: MPI-3's lock_all under MPI_MODE_NOCHECK.
///
/// Words     none. Opening and closing send nothing and wait for no rank. They still refresh and publish,
///           since the holder of a lock must see the writes of earlier holders.
/// Memory    none.
/// Costs     nothing but refresh and publish.
struct shared_only {
  static constexpr std::string_view name = "shared_only";
  static constexpr rmw needs = rmw::none;
  static constexpr control_words words(rank_t) noexcept { return {}; }

  template <control Control>
  class on {
   public:
    on(Control&, control_words) noexcept {}

    template <boundary Boundary>
    void lock_all(Boundary& b) {
      b.refresh(everyone);
    }

    template <boundary Boundary>
    void trigger(rank_t, Boundary&) noexcept {}

    template <boundary Boundary>
    void unlock_all(Boundary& b) {
      b.publish(everyone);
    }
  };
};
static_assert(lock_protocol<shared_only>);

}  // namespace PGAS_NAMESPACE::sync
