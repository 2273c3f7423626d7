// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/control.hpp>
#include <pgas/detail/team/handshake.hpp>
#include <pgas/team.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS {

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
/// `agree(handshake)` compares what else the ranks must give alike, and refuses what has no meaning.
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
}  // namespace pgas::inline PGAS_ASSERTIONS
