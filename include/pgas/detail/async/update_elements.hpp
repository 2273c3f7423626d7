// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <pgas/async/call_site.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// A window: its elements have places.
template <class E>
concept window_of_elements = requires(E const& e, rank_t r) {
  typename E::value_type;
  e.part_if_near(r);
  e.local();
  e.shared_state();
};
/// An array: its indices have places in a window.
template <class E>
concept array_of_elements = requires(E const& e, typename E::index_type i) {
  requires window_of_elements<std::remove_cvref_t<decltype(e.window())>>;
  e.at(i);
};
template <class E>
concept has_elements = window_of_elements<E> || array_of_elements<E>;

template <class E>
struct places_of {
  using index = global_ptr<typename E::value_type>;
  static E const& window(E const& e) noexcept { return e; }
  static index at(E const&, index const& i) noexcept { return i; }
};
template <array_of_elements E>
struct places_of<E> {
  using index =
      std::conditional_t<std::tuple_size_v<typename E::index_type> == 1, std::size_t, typename E::index_type>;
  static auto const& window(E const& e) noexcept { return e.window(); }
  static auto at(E const& e, index const& i) {
    if constexpr (std::same_as<index, std::size_t>) {
      return e.at(typename E::index_type{i});
    } else {
      return e.at(i);
    }
  }
};
template <class E>
using index_of_element = typename places_of<E>::index;

/// True if several ranks can change such an element in memory that they share.
template <class T>
inline constexpr bool changes_in_place = false;
template <class T>
  requires(sizeof(T) <= sizeof(std::uint64_t) && has_no_padding<T>)
inline constexpr bool changes_in_place<T> = std::atomic_ref<T>::is_always_lock_free;

template <class T, class F, class... Seen>
void change_in_place(T& element, F& function, Seen const&... arguments) {
  std::atomic_ref<T> const shared(element);
  T before = shared.load(std::memory_order_relaxed);
  // acq_rel: pairs with the changes of other ranks, as fetch_add of an epoch does. relaxed: tries again.
  while (!shared.compare_exchange_weak(before, static_cast<T>(function(std::as_const(before), arguments...)),
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {}
}

/// Changes an element of the rank where it runs.
template <class F>
struct change_own {
  template <class Elements, class... Seen>
  void operator()(Elements& elements, std::int64_t index, Seen... arguments) const {
    using value_type = typename Elements::value_type;
    auto const& window = places_of<Elements>::window(elements);
    auto const i = static_cast<std::size_t>(index);
    if (i >= window.size())
      throw_out_of_range(window.state().job_rank(), "update", window.rank(), i, 1, window.size());
    F function{};
    auto const own = window.local();
    if constexpr (changes_in_place<value_type> && std::remove_cvref_t<decltype(window)>::is_contiguous) {
      change_in_place(own[i], function, arguments...);
    } else {
      value_type const before = own[i];
      own[i] = static_cast<value_type>(function(before, arguments...));
    }
  }
};

template <class State, class Elements, class F, class... A>
void update_element(State& state, shared_object<Elements> const& elements,
                    index_of_element<Elements> const& index, F const& function, A const&... arguments) {
  using value_type = typename Elements::value_type;
  auto const& window = places_of<Elements>::window(elements.mine());
  auto const place = places_of<Elements>::at(elements.mine(), index);
  if constexpr (changes_in_place<value_type> && std::invocable<F const&, value_type const&, A const&...>) {
    if (auto const near = window.part_if_near(place.rank)) {
      auto const i = static_cast<std::size_t>(place.index);
      if (i >= near->size())
        throw_out_of_range(window.state().job_rank(), "update", place.rank, i, 1, near->size());
      return change_in_place((*near)[i], function, arguments...);
    }
  }
  auto const& team = window.state().team;
  if (team.get() != state.team().get() &&
      team->backend.world_rank(place.rank) != state.team()->backend.world_rank(place.rank)) {
    throw_error(errc::invalid_argument, window.state().job_rank(), "update",
                {"rank ", place.rank,
                 " of the elements' team is another one in the team of the calls; make "
                 "the calls on the team of the window or array"});
  }
  send_named<State, change_own<F>>(state, place.rank, elements, std::int64_t{place.index}, arguments...);
}

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
