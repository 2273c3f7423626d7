// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/channel.hpp>
#include <pgas/detail/mail/mailed_channel.hpp>
#include <pgas/team.hpp>
#include <string>

namespace PGAS_NAMESPACE {

namespace detail {

template <backend Backend>
struct channel_for;
template <mailbox_backend Backend>
  requires(!channel_backend<Backend>)
struct channel_for<Backend> {
  using type = mailed_channel<Backend>;
};
template <channel_backend Backend>
struct channel_for<Backend> {
  using type = typename Backend::channel_type;
};

/// A backend on which a team can make a channel.
template <class Backend>
concept has_channel = mailbox_backend<Backend> || channel_backend<Backend>;

/// Makes a channel of this type by all ranks of a team together.
template <class Channel, class Team>
Channel join_channel(Team const& team) {
  using backend_type = typename Team::backend_type;
  using handle = typename backend_type::handle;
  auto& state = *team.state();
  backend_type& b = state.backend;
  std::string const label = text_of({"channel ", state.windows});
  handshake shake(state, "make_channel");
  if constexpr (channel_backend<backend_type>) {
    auto made = shake.attach([&] { return b.reserve_channel(); },
                             [&](handle h) -> Channel { return b.attach_channel(h, label); });
    shake.conclude();
    ++state.windows;
    return std::move(*made);
  } else {
    constexpr control_words words = Channel::words();
    auto control = shake.attach(
        [&] { return b.reserve_control(words); },
        [&](handle h) -> typename backend_type::control_type { return b.attach_control(h, words, label); });
    auto mail =
        shake.attach([&] { return b.reserve_mailbox(); },
                     [&](handle h) -> typename backend_type::mailbox_type { return b.attach_mailbox(h); });
    shake.conclude();
    ++state.windows;
    return Channel(b, std::move(*control), std::move(*mail));
  }
}

}  // namespace detail

/// The channel of a team's ranks on a backend: that of its machine, or one in its mailbox.
template <backend Backend>
using channel_on = typename detail::channel_for<Backend>::type;

/// Makes a channel between the ranks of a team, with four queues a rank.
///
/// Collective over the team. On `tile` it is the channel of the machine; elsewhere the backend's mailbox
/// carries it, and each sender has 118 words at each queue of each rank. A message that nobody has received
/// is lost with the channel, so the ranks meet in a barrier before they destroy it.
/// Throws, on every rank, errc::no_space when there is too little memory. MPI_Comm_dup with MPI_Send and
/// MPI_Recv; active messages of GASNet for `handle`. Source: Shahmirzadi 2014, section 3.2.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires detail::has_channel<Backend>
[[nodiscard]] channel_on<Backend> make_channel(team<Backend, Coherence, Protocols> const& team) {
  return detail::join_channel<channel_on<Backend>>(team);
}

}  // namespace PGAS_NAMESPACE
