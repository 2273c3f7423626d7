// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <pgas/concepts/control.hpp>
#include <pgas/machines/simulated/network.hpp>
#include <pgas/vocabulary/rank.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail::simulated {

using pgas::simulated::distance;

/// A change of a word, a put or a get on its way.
struct message {
  enum class kind : std::uint8_t { store, add, flip, put, get };
  kind what;
  distance d;
  rank_t origin, target;
  word* at;    ///< null: a letter
  word value;  ///< of a transfer: its bytes; of a letter: its number

  /// Changes a word as a message of this kind does.
  static void change(kind what, word& at, word value) noexcept {
    switch (what) {
      case kind::add:
        at += value;
        return;
      case kind::flip:
        at ^= value;
        return;
      default:
        at = value;
    }
  }
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::simulated
