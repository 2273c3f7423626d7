// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <pgas/async/call_site.hpp>
#include <pgas/detail/async/calls_state.hpp>
#include <pgas/detail/team/handshake.hpp>
#include <pgas/vocabulary/error.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <string>
#include <utility>

namespace PGAS_NAMESPACE::detail {

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

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// Calls of functions at ranks of a team: work that is sent to data. One rank's handle; make one with
/// make_calls.
///
/// A function has no state: it is a lambda that captures nothing, `constant_function<&f>{}`, or an object
/// that all ranks have shared. Its arguments are transportable values, texts, and memory with transportable
/// elements, which the function sees as std::string_view and std::span during the call. A function that takes
/// a site before its arguments can call further ones: `[](auto& site, int i) { site.send(...); }`.
/// Functions run one after the other in waits of their rank in the library, and in `progress`. They must not
/// wait: a function whose result depends on other calls returns their request.
/// Memory is bounded: see call_options. A caller whose share is used waits, and serves others meanwhile. A
/// function does not wait; beyond the functions' share its call throws errc::no_space.
/// The object neither moves between threads nor is destroyed before `finish`, or its calls are lost.
/// UPC++: rpc and rpc_ff; HPX: async of an action; Charm++: entry methods; GASNet: active messages, which are
/// the source of the idea (von Eicken et al. 1992, "Active messages").
template <mailbox_backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
class calls {
  using state_type = detail::calls_state<Backend>;

 public:
  using team_type = team<Backend, Coherence, Protocols>;
  using site_type = call_site<state_type>;

  /// For make_calls.
  calls(team_type t, std::unique_ptr<state_type> state) noexcept
      : team_(std::move(t)), state_(std::move(state)) {}

  /// This rank's number in the team.
  [[nodiscard]] rank_t rank() const noexcept { return state_->rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_t size() const noexcept { return state_->size(); }

  /// Runs a function at a rank, and returns a request of its value.
  ///
  /// One-sided; the arguments may change when it returns. It is sent at once if this rank awaits no answer of
  /// that rank, otherwise when a message is full or this rank waits.
  /// Throws errc::out_of_range for no rank, and errc::invalid_argument for a call or a value that is longer
  /// than its share of the memory. The request throws what the function has thrown, with its rank and text.
  /// Costs two messages. UPC++: rpc.
  template <class F, class... Arguments>
    requires detail::called_with<F, site_type, Arguments...>
  auto call(detail::with_caller<rank_t> to, F const& function, Arguments const&... arguments) {
    return detail::start_call(*state_, to, function, arguments...);
  }
  template <auto Function, class... Arguments>
    requires detail::called_with<constant_function<Function>, site_type, Arguments...>
  auto call(detail::with_caller<rank_t> to, Arguments const&... arguments) {
    return detail::start_call(*state_, to, constant_function<Function>{}, arguments...);
  }

  /// Runs a function at a rank, without an answer.
  ///
  /// One-sided; the arguments may change when it returns. It is sent when a message is full, and in the next
  /// wait, `progress` or `finish` of this rank. Throws as `call` does; `finish` throws what the function has
  /// thrown. Costs a part of a message. UPC++: rpc_ff.
  template <class F, class... Arguments>
    requires detail::called_with<F, site_type, Arguments...>
  void send(detail::with_caller<rank_t> to, F const& function, Arguments const&... arguments) {
    detail::start_send(*state_, to, function, arguments...);
  }
  template <auto Function, class... Arguments>
    requires detail::called_with<constant_function<Function>, site_type, Arguments...>
  void send(detail::with_caller<rank_t> to, Arguments const&... arguments) {
    detail::start_send(*state_, to, constant_function<Function>{}, arguments...);
  }

  /// Does not compile: says which functions have a name on all ranks.
  template <class F, class... Arguments>
    requires(!detail::named_function<F> && !std::is_pointer_v<F> && std::is_class_v<F>)
  void call(rank_t, F const&, Arguments const&...) {
    refuse_function<F>();
  }
  template <class F, class... Arguments>
    requires(!detail::named_function<F> && !std::is_pointer_v<F> && std::is_class_v<F>)
  void send(rank_t, F const&, Arguments const&...) {
    refuse_function<F>();
  }

  /// Lets functions use an object of their own rank: `auto const table = calls.share(mine);`. The result is
  /// an argument of calls, and the function takes a reference. It is also a function of calls, if the object
  /// is one. Elements of a shared window or array are updated.
  ///
  /// Collective: all ranks share objects of one type in the same order. Requires that the object is neither
  /// moved nor destroyed before `finish`. Costs a barrier. UPC++: dist_object.
  template <class T>
  [[nodiscard]] shared_object<T> share(T& object) {
    state_->refuse_in_function("share");
    shared_object<T> const made(state_->add_object(std::addressof(object)), object);
    team_.barrier();
    return made;
  }

  /// Changes an element of a shared window or array: element = function(element, arguments...).
  ///
  /// One-sided. If this rank reaches an element by load and store, and the machine can change it atomically,
  /// it is changed in place before the return. Otherwise its owner changes it, at the latest before `finish`
  /// returns. Updates of an element are indivisible. An owner that accesses it meanwhile does so by an
  /// update, too. The function may be called several times for a change in place.
  /// Throws errc::out_of_range. Costs an atomic change, or a part of a message. MPI_Accumulate with an
  /// operation of one's own; UPC++: rpc to the owner.
  template <class Elements, stateless_function F, class... Arguments>
    requires detail::has_elements<Elements>
  void update(shared_object<Elements> const& elements, detail::index_of_element<Elements> const& index,
              F const& function, Arguments const&... arguments) {
    detail::update_element(*state_, elements, index, function, arguments...);
  }
  /// The same for many elements. Those of one owner are sent together.
  template <class Elements, stateless_function F, class... Arguments>
    requires detail::has_elements<Elements>
  void update(shared_object<Elements> const& elements,
              std::span<detail::index_of_element<Elements> const> indices, F const& function,
              Arguments const&... arguments) {
    for (auto const& index : indices)
      detail::update_element(*state_, elements, index, function, arguments...);
  }

  /// Receives calls and answers, runs functions, and sends what is queued here. Returns the number of
  /// messages.
  /// Never waits; throws errc::rank_failed if a rank has failed. UPC++: progress.
  std::size_t progress() { return state_->progress(); }

  /// Returns when all calls of all ranks have ended, and those that functions have started.
  ///
  /// Collective. Throws, on all ranks, what a function of `send` has thrown first on the first such rank;
  /// errc::wrong_order in a function. Costs two reductions at least. Source: Mattern 1987, "Algorithms for
  /// distributed termination detection". Charm++: quiescence detection; UPC++ leaves it to the program.
  void finish() { state_->finish(team_); }

  /// The most bytes of messages and calls that this rank has held at one time.
  [[nodiscard]] std::size_t most_bytes() const noexcept { return state_->post().most() * sizeof(word); }
  /// The bytes of messages and calls that this rank may hold.
  [[nodiscard]] std::size_t message_bytes() const noexcept {
    return state_->post().shares().all * sizeof(word);
  }

 private:
  template <class F>
  static void refuse_function() {
    static_assert(detail::always_false<F>,
                  "calls: this function has state, and its captures have no meaning on another rank; give "
                  "them as arguments, or share the function on all ranks with calls.share");
  }

  team_type team_;
  std::unique_ptr<state_type> state_;
};

/// Makes the calls of a team's ranks.
///
/// Collective over the team. Throws, on every rank: errc::mismatch if ranks run different executables or give
/// different options; errc::invalid_argument if the memory is too small for so many ranks; errc::no_space.
/// Costs a mailbox and some barriers.
template <mailbox_backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] calls<Backend, Coherence, Protocols> make_calls(team<Backend, Coherence, Protocols> const& team,
                                                              call_options const& options = {}) {
  using state_type = detail::calls_state<Backend>;
  using handle = typename Backend::handle;
  auto& members = *team.state();
  Backend& b = members.backend;
  std::string const label = detail::text_of({"calls ", members.windows});
  detail::handshake shake(members, "make_calls");
  detail::call_shares const shares(options, team.size());
  word const choices = shares.all << 26U ^ shares.eager << 1U ^ word { options.ordered ? 1U : 0U };
  auto const [is_same_program, is_same_choice] = shake.are_same(state_type::key_of_functions(), choices);
  if (!is_same_program) {
    shake.refuse(errc::mismatch,
                 "the ranks run different executables, so their functions have different numbers; start one "
                 "executable on all ranks");
  } else if (!is_same_choice) {
    shake.refuse(errc::mismatch,
                 "the ranks give different options or have different PGAS_MESSAGE_BYTES; give all the same");
  } else if (shares.room < detail::call_shares::least_room) {
    shake.refuse(errc::invalid_argument,
                 detail::text_of({shares.all * sizeof(word), " bytes are too few for messages of ",
                                  team.size(), " ranks; give ", detail::call_shares::least_bytes(team.size()),
                                  " or more by PGAS_MESSAGE_BYTES or the options"}));
  }
  constexpr control_words words = state_type::words();
  auto control = shake.attach([&] { return b.reserve_control(words); },
                              [&](handle h) ->
                              typename Backend::control_type { return b.attach_control(h, words, label); });
  auto mail = shake.attach([&] { return b.reserve_mailbox(); },
                           [&](handle h) -> typename Backend::mailbox_type { return b.attach_mailbox(h); });
  shake.conclude();
  ++members.windows;
  return {team, std::make_unique<state_type>(team.state(), std::move(*control), std::move(*mail), options)};
}

/// The type of the calls of a team's ranks, as make_calls returns it.
template <class Team>
using calls_on = calls<typename std::remove_cvref_t<Team>::backend_type,
                       typename std::remove_cvref_t<Team>::coherence_type,
                       typename std::remove_cvref_t<Team>::protocols_type>;

}  // namespace PGAS_NAMESPACE
