// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/detail/elements/native_element.hpp>
#include <pgas/epoch/target_view.hpp>
#include <span>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The words of one rank's part of a map.
///
/// Single words are read and changed by atomic operations. A slot is several words, which another rank may
/// change meanwhile; a reader then reads again. In near memory each word of a slot is an atomic load or
/// store, so that no access is a data race: an instruction like any other. Elsewhere a slot is one get, or
/// one put that has arrived when `write` returns.
///
/// `near` is the part that `view` opens, where it is plain memory, else null. Its words are modified one by
/// one and never many at a time, so no mode of elements is announced, and an access is one instruction.
template <class State, class View, bool flushes = true>
class map_words {
 public:
  map_words(State& state, View const& view, std::uint64_t* near) noexcept
      : state_(&state), view_(&view), near_(near) {}

  static constexpr bool by_single_words = View::where == part_is::near && State::has_native_elements;

  // acquire and release, here and in target_view: the load of a state pairs with the store that unlocks it.
  [[nodiscard]] std::uint64_t load(std::size_t at) const {
    if constexpr (by_single_words) {
      return element(at).load();
    } else {
      return view_->atomic_load(at);
    }
  }
  void store(std::size_t at, std::uint64_t value) const {
    if constexpr (by_single_words) {
      element(at).store(value);
    } else {
      view_->atomic_store(at, value);
    }
  }
  /// Replaces a word that is `expected`, and returns whether it was.
  [[nodiscard]] bool replace(std::size_t at, std::uint64_t expected, std::uint64_t desired) const {
    if constexpr (by_single_words) {
      return element(at).compare_exchange(expected, desired) == expected;
    } else {
      return view_->compare_exchange(at, expected, desired);
    }
  }
  [[nodiscard]] std::uint64_t fetch_add(std::size_t at, std::uint64_t value) const {
    if constexpr (by_single_words) {
      return element(at).fetch_op(value, op::sum{});
    } else {
      return view_->fetch_add(at, value);
    }
  }
  /// Has happened at return, unlike target_view::accumulate between nodes.
  template <class Op>
  void accumulate(std::size_t at, std::uint64_t value, Op op) const {
    if constexpr (by_single_words && requires { Op::kind; }) {
      element(at).fetch_op(value, op);
    } else if constexpr (by_single_words) {
      for (std::uint64_t old = load(at);;) {
        std::uint64_t const found = element(at).compare_exchange(old, op(old, value));
        if (found == old) return;
        old = found;
      }
    } else {
      static_cast<void>(view_->get_accumulate(at, value, op));
    }
  }

  template <std::size_t N>
  [[nodiscard]] std::array<std::uint64_t, N> read(std::size_t first) const {
    std::array<std::uint64_t, N> words;
    if constexpr (by_single_words) {
      // acquire: pairs with the release of each word in write(). A reader that finds a word of a later
      // change then finds that the state has changed, too.
      for (std::size_t i = 0; i < N; ++i) words[i] = load(first + i);
    } else {
      [[maybe_unused]] auto const unread = copying();
      view_->get(first, std::span<std::uint64_t>(words));
      view_->flush_local();
    }
    return words;
  }
  void write(std::size_t first, std::span<std::uint64_t const> words) const {
    if constexpr (by_single_words) {
      // release: pairs with the acquire in read().
      for (std::size_t i = 0; i < words.size(); ++i) store(first + i, words[i]);
    } else {
      view_->put(first, words);
      if constexpr (flushes) view_->flush();  // before the state of the bucket tells of it
    }
  }

 private:
  struct nothing {
    ~nothing() {}  // NOLINT(modernize-use-equals-default): not trivial, so that a guard is no unused variable
  };
  /// The program never looks at a slot that changed while it was read, so a checker of races leaves it out.
  [[nodiscard]] auto copying() const noexcept {
    if constexpr (race_checked_segment<typename State::segment_type>) {
      return state_->segment.copying();
    } else {
      return nothing{};
    }
  }
  [[nodiscard]] native_element<std::uint64_t> element(std::size_t at) const noexcept {
    return native_element<std::uint64_t>(near_[at]);
  }

  State* state_;
  View const* view_;
  std::uint64_t* near_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
