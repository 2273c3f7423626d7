// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/messenger.hpp>
#include <pgas/detail/messages/credits.hpp>
#include <pgas/detail/messages/mailed_messenger.hpp>
#include <pgas/predictors/periodicity.hpp>
#include <pgas/predictors/transition_graph.hpp>
#include <pgas/team.hpp>
#include <string>

namespace PGAS_NAMESPACE {

/// Credit policies of a messenger, see message_credits.
namespace credits {
/// No message leaves at once, but short ones travel in their questions.
using none = detail::no_credits;
/// Each sender has an equal share of half of the budget.
using fixed = detail::static_credits;
/// Every message leaves at once, and nothing bounds the memory.
using unlimited = detail::unlimited_credits;
/// A sender has credit for the messages that its receiver foresees by the period of its stream.
using by_period = detail::predicted_credits<prediction::periodicity<>>;
/// The same by a graph of transitions.
using by_graph = detail::predicted_credits<prediction::transition_graph<>>;
}  // namespace credits

/// The messenger of a team's ranks on a backend.
template <mailbox_backend Backend, message_credits Credits = credits::fixed,
          message_form Form = message_form::tagged>
using messenger_on = detail::mailed_messenger<Backend, Credits, Form>;

/// Makes a messenger between the ranks of a team. `Credits` lets messages come without a question.
///
/// Collective over the team. All ranks give the same options, and each keeps within their budget. A message
/// that nobody has received is lost with the messenger, so the ranks meet in a barrier before they destroy
/// it. Throws, on every rank, errc::no_space when there is too little memory, and errc::invalid_argument when
/// the budget has no room for the state of all ranks. MPI_Comm_dup with MPI_Isend and MPI_Irecv. Source:
/// Ferreras 2008, sections 3.4 and 4.3.
template <message_credits Credits = credits::fixed, message_form Form = message_form::tagged,
          mailbox_backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] messenger_on<Backend, Credits, Form> make_messenger(
    team<Backend, Coherence, Protocols> const& team,
    message_options const& options = message_options::from_environment()) {
  using made_type = messenger_on<Backend, Credits, Form>;
  static_assert(messenger<made_type>);
  using handle = typename Backend::handle;
  auto& state = *team.state();
  Backend& b = state.backend;
  std::string const label = detail::text_of({"messenger ", state.windows});
  detail::handshake shake(state, "make_messenger");
  constexpr control_words words = made_type::words();
  auto control = shake.attach([&] { return b.reserve_control(words); },
                              [&](handle h) ->
                              typename Backend::control_type { return b.attach_control(h, words, label); });
  auto mail = shake.attach([&] { return b.reserve_mailbox(); },
                           [&](handle h) -> typename Backend::mailbox_type { return b.attach_mailbox(h); });
  shake.conclude();
  ++state.windows;
  return made_type(b, std::move(*control), std::move(*mail), options);
}

}  // namespace PGAS_NAMESPACE
