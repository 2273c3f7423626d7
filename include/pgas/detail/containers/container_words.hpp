// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/team/handshake.hpp>
#include <pgas/lock_all.hpp>
#include <pgas/team.hpp>
#include <pgas/window.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace PGAS_NAMESPACE::detail {

/// The elements of a container on all ranks: a window, in an epoch that is open while the container lives.
///
/// Control words say which rank may access an element when. A rank that has put elements calls `arrive`
/// before the release of the word that announces them. A rank that has acquired the word gets the elements
/// past all copies, since no boundary of an epoch tells that they have changed.
template <class Window>
class element_store {
 public:
  using value_type = typename Window::value_type;
  using state_type = typename Window::state_type;

  explicit element_store(Window const& memory) : epoch_(memory) {}

  /// Puts elements into a rank's part, from index `first` on. The values may be reused at return.
  template <std::size_t Extent = std::dynamic_extent>
  void put(rank_t rank, std::size_t first, std::span<value_type const, Extent> values) {
    view_type const& there = to(rank);
    if (values.size() == 1) return there.put(first, values[0]);
    there.put(first, values);
    there.flush_local();
  }
  /// Gets elements of a rank's part as they are in its memory now.
  template <std::size_t Extent = std::dynamic_extent>
  void get(rank_t rank, std::size_t first, std::span<value_type, Extent> into) {
    view_type const& there = to(rank);
    if (into.size() == 1) return static_cast<void>(into[0] = there.get(first));
    there.get(first, into);
    there.flush_local();
  }
  /// Returns when the puts of this rank to the part have arrived, for any rank that may learn of them.
  void arrive(rank_t rank) {
    typename state_type::template boundary_type<boundary_of::remote,
                                                hints{.write_only = true, .passive = true}>
        b(epoch_.state().segment);
    b.publish(group(&rank, 1));
  }

 private:
  using epoch_type = lock_all<state_type>;
  using view_type = decltype(std::declval<epoch_type&>().to(rank_t{}));

  /// The part of a rank; most containers access one part many times.
  [[nodiscard]] view_type const& to(rank_t rank) {
    if (!last_ || last_->rank() != rank) last_.emplace(epoch_.to(rank));
    return *last_;
  }

  epoch_type epoch_;
  std::optional<view_type> last_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// The control words of such a control have read-modify-writes, which most containers need. Those of all
/// backends do, except `pool_map`, whose hosts share no atomic operation.
template <class C>
concept control_with_cells = control<C> && (C::read_modify_write != rmw::none);

/// The control words of such a backend have read-modify-writes.
template <class B>
concept backend_with_cells = backend<B> && control_with_cells<typename B::control_type>;

namespace detail {

/// Control words of a container. All ranks of the team call it together, with the same arguments.
///
/// `agree(handshake)` compares what else must be the same on all ranks, and refuses invalid arguments.
/// Throws on every rank: errc::no_space, errc::mismatch, and the errors of `agree`.
template <class Backend, class Agree>
[[nodiscard]] typename Backend::control_type make_container_words(team_state<Backend>& members,
                                                                  control_words words,
                                                                  std::string_view operation,
                                                                  Agree const& agree) {
  std::string const label(operation.substr(operation.find('_') + 1));  // "make_inbox": inbox
  handshake shake(members, operation);
  agree(shake);
  auto made = shake.attach([&] { return members.backend.reserve_control(words); },
                           [&](typename Backend::handle reserved) {
                             return members.backend.attach_control(reserved, words, label);
                           });
  shake.conclude();
  return std::move(*made);
}

/// Refuses a home that is no rank of the team.
template <class Backend>
void agree_on_home(handshake<Backend>& shake, rank_t home, rank_t ranks) {
  shake.require_same(static_cast<std::uint64_t>(home), "as the home rank");
  if (home < 0 || home >= ranks) {
    shake.refuse(errc::out_of_range, text_of({"the home is rank ", home, ", but the team has ", ranks,
                                              " ranks; name one of them"}));
  }
}

}  // namespace detail
}  // namespace PGAS_NAMESPACE
