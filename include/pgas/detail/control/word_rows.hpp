// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The shares of such a control's ranks are equally far apart, and a word is no more than its address.
/// `share(rank)` is the first word of a rank's share. Words of a share are `stride` bytes apart.
template <class C>
concept control_in_rows =
    control<C> && sizeof(typename C::slot_type) == sizeof(word*) &&
    sizeof(typename C::cell_type) == sizeof(word*) && std::constructible_from<typename C::slot_type, word*> &&
    std::constructible_from<typename C::cell_type, word*> && requires(C const& c, rank_t rank) {
      { c.share(rank) } -> std::same_as<std::byte*>;
      { C::stride } -> std::convertible_to<std::size_t>;
    };

/// The words of one protocol, which begin at `first` of each rank's share: word i of a rank.
///
/// A protocol asks for the same words again and again, so it knows where the first ones lie. The words of a
/// rank are then a multiplication and an addition away, and no loads that wait for each other.
template <control Control>
class word_rows {
 public:
  word_rows(Control& control, control_words first) noexcept : control_(&control), first_(first) {}

  [[nodiscard]] auto slot(rank_t owner, std::size_t i, rank_t writer) const {
    return control_->slot(owner, first_.slots + i, writer);
  }
  [[nodiscard]] auto cell(rank_t owner, std::size_t i) const {
    return control_->cell(owner, first_.cells + i);
  }

 private:
  Control* control_;
  control_words first_;
};

template <control_in_rows Control>
class word_rows<Control> {
 public:
  word_rows(Control const& control, control_words first) noexcept
      : slots_(control.share(0) + first.slots * Control::stride),
        cells_(reinterpret_cast<std::byte*>(control.cell(0, first.cells).address())),
        share_(control.share(1) - control.share(0)) {}

  [[nodiscard]] typename Control::slot_type slot(rank_t owner, std::size_t i,
                                                 rank_t /*writer*/) const noexcept {
    return typename Control::slot_type(at(slots_, owner, i));
  }
  [[nodiscard]] typename Control::cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return typename Control::cell_type(at(cells_, owner, i));
  }

 private:
  [[nodiscard]] word* at(std::byte* first, rank_t owner, std::size_t i) const noexcept {
    return reinterpret_cast<word*>(first + owner * share_ + i * Control::stride);
  }

  std::byte* slots_;      ///< the protocol's first slot of rank 0
  std::byte* cells_;      ///< its first cell of rank 0
  std::ptrdiff_t share_;  ///< of one rank, in bytes
};

}  // namespace PGAS_NAMESPACE::detail
