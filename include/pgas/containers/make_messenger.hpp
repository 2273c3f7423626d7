// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <numeric>
#include <pgas/concepts/backend.hpp>
#include <pgas/concepts/messenger.hpp>
#include <pgas/detail/messages/credits.hpp>
#include <pgas/detail/messages/flow.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/predictors/periodicity.hpp>
#include <pgas/predictors/transition_graph.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A messenger that a backend's mailbox carries, with Ferreras' flow control; see messages::flow.
///
/// Progress  A rank works in `poll`, in its waits for requests, and in each wait in the library: the mailbox
///           serves the messenger.
/// Memory    the budget of its options on each rank, in which everything is counted but the mailbox. A
///           mailbox holds a constant number of letters a sender, or in all.
template <mailbox_backend Backend, message_credits Credits, message_form Form = message_form::tagged>
class mailed_messenger {
  using control_type = typename Backend::control_type;
  using mailbox_type = typename Backend::mailbox_type;
  using flow_type = messages::flow<mailbox_type, Credits, Form>;
  using request = messages::request;
  struct state;

 public:
  static constexpr std::string_view name = Credits::name;

  /// The words that this messenger needs in its control.
  static constexpr control_words words() noexcept { return {.slots = 1, .cells = 0}; }

  /// The least budget that it accepts.
  static std::size_t least_budget(rank_t ranks, message_options const& o) noexcept {
    return flow_type::least_budget(ranks, o);
  }

  /// Throws errc::invalid_argument if the budget has no room for the state of all ranks and one envelope.
  mailed_messenger(Backend b, control_type words, mailbox_type mail, message_options const& o)
      : state_(std::make_unique<state>(std::move(b), std::move(words), std::move(mail), o)) {}

  [[nodiscard]] rank_t rank() const { return state_->backend.rank(); }
  [[nodiscard]] rank_t size() const { return state_->backend.size(); }
  [[nodiscard]] message_memory memory() const noexcept { return state_->flow.memory(); }
  [[nodiscard]] message_counts const& counts() const noexcept { return state_->flow.counts(); }

  message_request start_send(rank_t to, word tag, bytes_in message, caller by = here()) {
    state_->check_rank(to, {"start_send", by});
    state_->check_tag(tag, "start_send");
    return state_->start_send(to, tag, message, "start_send");
  }
  message_request start_receive(rank_t from, word tag, bytes_out into, caller by = here()) {
    if (from != any_sender) state_->check_rank(from, {"start_receive", by});
    return state_->start_receive(from, tag, into, "start_receive");
  }
  [[nodiscard]] bool is_done(message_request which) {
    request const& r = state_->find(which, "is_done");
    state_->flow.work();
    if (state::has_ended(r)) return true;
    state_->backend.check("is_done");  // a program may loop on this
    return false;
  }
  arrived_message wait(message_request which) { return state_->wait(state_->find(which, "wait"), "wait"); }

  void send(rank_t to, word tag, bytes_in message, caller by = here()) {
    state_->check_rank(to, {"send", by});
    state_->check_tag(tag, "send");
    auto const which = state_->start_send(to, tag, message, "send");
    state_->wait(state_->find(which, "send"), "send");
  }
  arrived_message receive(rank_t from, word tag, bytes_out into, caller by = here()) {
    if (from != any_sender) state_->check_rank(from, {"receive", by});
    auto const which = state_->start_receive(from, tag, into, "receive");
    return state_->wait(state_->find(which, "receive"), "receive");
  }
  void poll() {
    state_->flow.work();
    state_->backend.check("poll");
  }

 private:
  struct state {
    state(Backend b, control_type c, mailbox_type m, message_options const& o)
        : backend(std::move(b)),
          control(std::move(c)),
          flow((check_budget(backend, o), std::move(m)), backend.size(), o) {
      for (rank_t r = 0; r < backend.size(); ++r)
        if (r != backend.rank() || backend.size() == 1) others.push_back(r);
      flow.mail().serve([this] { flow.work(); });
    }
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    ~state() { flow.mail().serve({}); }

    [[nodiscard]] rank_t world_rank() const { return backend.world_rank(backend.rank()); }

    static void check_budget(Backend const& b, message_options const& o) {
      rank_t const self = b.world_rank(b.rank());
      if (o.requests == 0 || o.requests > 65535) {
        throw error(errc::invalid_argument, self, "make_messenger",
                    text_of({"a rank cannot have ", o.requests, " requests; choose 1 to 65535"}));
      }
      std::size_t const least = flow_type::least_budget(b.size(), o);
      if (!Credits::is_unlimited && o.budget < least) {
        throw error(errc::invalid_argument, self, "make_messenger",
                    text_of({o.budget, " bytes are too few for the messages of ", b.size(), " ranks with ",
                             o.requests, " requests; give ", least, " or more, or take fewer requests"}));
      }
    }
    void check_rank(rank_t r, called operation) const {
      if (r < 0 || r >= backend.size()) throw_bad_rank(world_rank(), operation, r, backend.size());
    }
    void check_tag(word tag, std::string_view operation) const {
      if (tag == any_tag) {
        throw error(errc::invalid_argument, world_rank(), operation,
                    "a message cannot have the tag any_tag; give it another one");
      }
    }
    request& find(message_request which, std::string_view operation) {
      request* const found = flow.pool().find(which);
      if (found == nullptr) {
        throw error(errc::gone, world_rank(), operation,
                    "the request has ended already; wait for each request once");
      }
      return *found;
    }

    static bool has_ended(request const& r) noexcept {
      return r.state == request::done || r.state == request::too_long;
    }
    void take_record(std::string_view operation) {
      flow.work();
      until([this] { return flow.pool().has_free(); }, operation, others);
    }
    message_request start_send(rank_t to, word tag, bytes_in message, std::string_view operation) {
      take_record(operation);
      request const& r = flow.start_send(to, tag, message);
      flow.work();
      return flow.pool().name_of(r);
    }
    message_request start_receive(rank_t from, word tag, bytes_out into, std::string_view operation) {
      take_record(operation);
      request const& r = flow.start_receive(from, tag, into);
      flow.work();
      return flow.pool().name_of(r);
    }
    arrived_message wait(request& r, std::string_view operation) {
      if (!has_ended(r)) flow.work();
      rank_t const peer = r.peer;
      until([&r] { return has_ended(r); }, operation, peer == any_sender ? group(others) : group(&peer, 1));
      arrived_message const envelope = r.envelope;
      std::size_t const room = r.room;
      bool const fits = r.state == request::done;
      flow.end(r);
      if (!fits) {
        throw error(errc::invalid_argument, world_rank(), operation,
                    text_of({"the message of ", envelope.bytes, " bytes from rank ", envelope.from,
                             " does not fit into ", room, "; give room for all of it"}));
      }
      return envelope;
    }
    /// Waits until a condition holds that letters, or room for one, make true. Each letter restarts the wait,
    /// so that a search for deadlocks finds no rank that still makes progress.
    template <std::predicate Condition>
    void until(Condition&& condition, std::string_view operation, group awaited) {
      while (!condition()) {
        std::uint64_t const before = flow.news();
        control.wait_until(control.slot(backend.rank(), 0, backend.rank()),
                           [&](word) { return condition() || flow.news() != before; },
                           {.operation = operation, .awaited = awaited});
      }
    }

    Backend backend;
    control_type control;
    flow_type flow;
    std::vector<rank_t> others;  ///< the ranks that may send; a rank alone sends to itself
  };

  std::unique_ptr<state> state_;
};

}  // namespace PGAS_NAMESPACE::detail

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
