// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <string_view>

namespace pgas::inline PGAS_ASSERTIONS::detail::checking {

/// The rules of the checker beside "control words order the ranks", all of them on.
///
/// A test takes a type of its own in place of this one, and switches rules off to show that each is needed.
/// The values are constants here, so a program has no test of a rule at run time.
struct every_rule {
  static constexpr bool earliest() noexcept { return true; }    ///< a wait takes the earliest ending value
  static constexpr bool holders() noexcept { return true; }     ///< shared holders are in no order
  static constexpr bool elements() noexcept { return true; }    ///< the lock of elements orders elements only
  static constexpr bool atomics() noexcept { return true; }     ///< atomic operations race not with another
  static constexpr bool locations() noexcept { return true; }   ///< an atomic store releases, a load acquires
  static constexpr bool messages() noexcept { return true; }    ///< a message carries its sender's knowledge
  static constexpr bool roots() noexcept { return true; }       ///< a collective with a root orders one way
  static constexpr bool completion() noexcept { return true; }  ///< a transfer lasts until its flush
  static constexpr bool targets() noexcept { return true; }     ///< a flush is of one target
  static constexpr bool flush() noexcept { return true; }       ///< a flush completes puts and gets
  static constexpr bool flush_local() noexcept { return true; }  ///< flush_local completes gets
  static constexpr bool puts_last() noexcept { return true; }    ///< flush_local completes no put
  static constexpr bool publication() noexcept { return true; }  ///< a boundary publishes own stores
  static constexpr bool stages() noexcept { return true; }       ///< stage reads the elements it hands out
  static constexpr bool calls() noexcept { return true; }        ///< ranks call the same collectives
  static constexpr bool buffers() noexcept { return true; }      ///< a transfer owns its buffer

  /// The words of a control that order the ranks: all of them.
  class control_rule {
   public:
    constexpr control_rule(std::string_view, control_words) noexcept {}
    /// The rule of one word, a slot or a cell with this number.
    class word_rule {
     public:
      static constexpr bool orders() noexcept { return true; }
    };
    [[nodiscard]] static constexpr word_rule of_slot(std::size_t) noexcept { return {}; }
    [[nodiscard]] static constexpr word_rule of_cell(std::size_t) noexcept { return {}; }
  };
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::checking
