// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <pgas/window/target_view.hpp>
#include <span>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The words of one rank's part of a map, through a target view.
///
/// Single words are read and changed by atomic operations. A slot is several words, which another rank may
/// change meanwhile; a reader then reads again. In near memory each word of a slot is an atomic load or
/// store, so that no access is a data race: an instruction like any other. Elsewhere a slot is one get, or
/// one put that has arrived when `write` returns.
template <class State, class View, bool flushes = true>
class map_words {
 public:
  map_words(State& state, View const& part) noexcept : state_(&state), part_(&part) {}

  static constexpr bool by_single_words = View::where == part_is::near && State::has_native_elements;

  // acquire and release, as those of target_view: the load of a state pairs with the store that unlocks it.
  [[nodiscard]] std::uint64_t load(std::size_t at) const { return part_->atomic_load(at); }
  void store(std::size_t at, std::uint64_t value) const { part_->atomic_store(at, value); }
  [[nodiscard]] bool compare_exchange(std::size_t at, std::uint64_t& expected, std::uint64_t desired) const {
    return part_->compare_exchange(at, expected, desired);
  }
  [[nodiscard]] std::uint64_t fetch_add(std::size_t at, std::uint64_t value) const {
    return part_->fetch_add(at, value);
  }
  /// Has happened at return, unlike target_view::accumulate between nodes.
  template <class Op>
  void accumulate(std::size_t at, std::uint64_t value, Op op) const {
    static_cast<void>(part_->get_accumulate(at, value, op));
  }

  template <std::size_t N>
  [[nodiscard]] std::array<std::uint64_t, N> read(std::size_t first) const {
    std::array<std::uint64_t, N> words;
    if constexpr (by_single_words) {
      // acquire: pairs with the release of each word in write(). A reader that finds a word of a later
      // change then finds that the state has changed, too.
      for (std::size_t i = 0; i < N; ++i) words[i] = part_->atomic_load(first + i);
    } else {
      [[maybe_unused]] auto const unread = copying();
      part_->get(first, std::span<std::uint64_t>(words));
      part_->flush_local();
    }
    return words;
  }
  void write(std::size_t first, std::span<std::uint64_t const> words) const {
    if constexpr (by_single_words) {
      // release: pairs with the acquire in read().
      for (std::size_t i = 0; i < words.size(); ++i) part_->atomic_store(first + i, words[i]);
    } else {
      part_->put(first, words);
      if constexpr (flushes) part_->flush();  // before the state of the bucket tells of it
    }
  }

  [[nodiscard]] rank_t rank() const noexcept { return part_->rank(); }

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

  State* state_;
  View const* part_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
