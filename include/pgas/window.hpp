// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <optional>
#include <pgas/detail/team/handshake.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/detail/types/anything.hpp>
#include <pgas/detail/types/plain_list.hpp>
#include <pgas/detail/window/state.hpp>
#include <pgas/epoch/local_view.hpp>
#include <pgas/team.hpp>
#include <pgas/vocabulary/global_ptr.hpp>
#include <span>

namespace PGAS_NAMESPACE {

/// Typed memory to which every rank of a team contributes a part. Every rank can access all parts
/// one-sidedly, through an open epoch and in no other way.
///
/// It joins four choices: *how* (Backend), *which copy* (Coherence), *when* (Protocols), and *where*: the
/// index of a rank, and of an element in its part. The object is one rank's handle. It moves, also while an
/// epoch is open. Its destructor is local and never blocks; the memory is freed when the last rank's handle
/// is destroyed. Make one with make_window.
/// MPI: a window made by MPI_Win_allocate; by MPI_Win_create where `Segment` is memory that the ranks had
/// before.
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols,
          segment Segment = typename Backend::segment_type>
class window {
 public:
  using value_type = T;
  using protocols_type = Protocols;
  using state_type = detail::window_state<T, Backend, Coherence, Protocols, Segment>;

  /// True if local() is a std::span.
  static constexpr bool is_contiguous = local_segment<Segment> && !cache_controlled<Segment>;
  /// True if part(rank) returns any rank's part.
  static constexpr bool has_parts = state_type::is_direct;

  static_assert(Coherence::template fits<Segment>,
                "window: this coherence policy does not make copies agree on this backend's memory; take "
                "Backend::default_coherence, or see the table in coherence/README.md");
  static_assert(
      bundle_fits<Protocols, typename Backend::control_type>,
      "window: a protocol of this bundle needs a read-modify-write that this backend's control words do not "
      "have; take protocols on slots only: dissemination for a fence, stamped for post, bakery for locks");
  static_assert(!has_mailed<Protocols> || mailbox_backend<Backend>,
                "window: a mailed protocol of this bundle needs a mailbox, and this backend has none; take "
                "post_messages and lock_messages, whose messages are control words");

  /// For make_window.
  explicit window(detail::local_shared_ptr<state_type> state) noexcept : state_(std::move(state)) {}

  /// This rank's number in the window's team.
  [[nodiscard]] rank_t rank() const noexcept { return state_->rank(); }
  /// The number of ranks that have a part.
  [[nodiscard]] rank_t ranks() const noexcept { return state_->ranks(); }
  /// The number of elements in this rank's part.
  [[nodiscard]] std::size_t size() const noexcept { return state_->size; }
  /// The number of elements in a rank's part. Where parts differ in size, the first call may ask that rank.
  [[nodiscard]] std::size_t size(rank_t rank, detail::caller by = detail::here()) const {
    state_->check_rank(rank, {"size", by});
    return state_->part_size(rank);
  }

  /// This rank's own part: a std::span<T> if it is plain memory, else a random access range of references
  /// that go through this rank's cache. Do not store to it while it is exposed to ranks that put.
  [[nodiscard]] auto local() const noexcept {
    if constexpr (is_contiguous) {
      return std::span<T>(reinterpret_cast<T*>(state_->segment.local().data()), size());
    } else {
      return local_view<state_type>(*state_, 0, size());
    }
  }

  /// Any rank's part as a span: for code that synchronizes by itself, on coherent shared memory.
  [[nodiscard]] std::span<T> part(rank_t rank, detail::caller by = detail::here()) const
    requires has_parts
  {
    state_->check_rank(rank, {"part", by});
    return {reinterpret_cast<T*>(state_->segment.part(rank)), size(rank)};
  }
  /// Any rank's part as a span if this rank reaches it by load and store, else nothing: for code that
  /// synchronizes by itself. Where ranks of a node share memory, their parts are spans. OpenSHMEM: shmem_ptr.
  [[nodiscard]] std::optional<std::span<T>> part_if_near(rank_t rank,
                                                         detail::caller by = detail::here()) const {
    state_->check_rank(rank, {"part_if_near", by});
    if constexpr (state_type::parts == part_is::far) {
      return std::nullopt;
    } else {
      T* const first = state_->part_if_near(rank);
      return first == nullptr ? std::nullopt : std::optional(std::span<T>(first, size(rank)));
    }
  }
  /// Does not compile: says where parts are spans.
  template <std::integral Rank>
    requires(!has_parts)
  auto part(Rank) const {
    static_assert(detail::always_false<Rank>,
                  "part: this rank cannot load from and store to other ranks' parts of this window; call "
                  "local() for its own part and epoch.get or epoch.put for others, or make the window with "
                  "make_window on shared memory, for example on process_map");
    return std::span<T>();
  }

  /// Names element i of a rank's part.
  [[nodiscard]] global_ptr<T> pointer(rank_t rank, std::size_t i, detail::caller by = detail::here()) const {
    state_->check_rank(rank, {"pointer", by});
    return {rank, static_cast<std::int64_t>(i)};
  }
  /// The address of the element that `p` names, if this rank can reach it by load and store.
  [[nodiscard]] T* local(global_ptr<T> p, detail::caller by = detail::here()) const
    requires is_contiguous
  {
    auto const all = [&] {
      if constexpr (state_type::is_direct) {
        return part(p.rank, by);
      } else {
        if (auto const near = part_if_near(p.rank, by)) return *near;
        PGAS_EXPECTS(
            light, p.rank == rank(),
            detail::throw_error_at(errc::out_of_range, state_->job_rank(), {"local", by},
                                   {"this rank does not reach the pointer's part by load and store"}));
        return local();
      }
    }();
    PGAS_EXPECTS(normal, p.index >= 0 && static_cast<std::size_t>(p.index) < all.size(),
                 detail::throw_out_of_range(state_->job_rank(), {"local", by}, p.rank,
                                            static_cast<std::size_t>(p.index), 1, all.size()));
    return all.data() + p.index;
  }

  /// Does not compile: says why an element has no address.
  template <std::same_as<global_ptr<T>> Pointer>
    requires(!is_contiguous)
  T* local(Pointer) const {
    static_assert(detail::always_false<Pointer>,
                  "local: this rank's part is not plain memory, so its elements have no addresses; take "
                  "local()[i] for its own elements and epoch[pointer] for any");
    return nullptr;
  }

  /// For epochs and containers.
  [[nodiscard]] state_type& state() const noexcept { return *state_; }
  /// For epochs: the state, shared.
  [[nodiscard]] detail::local_shared_ptr<state_type> const& shared_state() const noexcept { return state_; }

  /// Do not compile: say how elements are reached.
  template <class Index>
  auto operator[](Index const&) const {
    static_assert(detail::always_false<Index>,
                  "window: write `window.local()[i]` for own elements, and `epoch.get(rank, i)` or "
                  "`epoch.put(rank, i, value)` in an epoch for those of any rank");
  }
  template <class First, class... More>
    requires(sizeof...(More) != 0 || !std::is_same_v<First, global_ptr<T>>)
  auto local(First const&, More const&...) const {
    static_assert(
        detail::always_false<First>,
        "window: write `window.local()[i]` for own elements, and `epoch.get(rank, i)` in an epoch for "
        "those of other ranks");
  }
  /// Does not compile: put is a member of an open epoch.
  template <class... Arguments>
  void put(Arguments&&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "window: put needs an open epoch; open one, `pgas::fence epoch{window};` "
                  "(or access, lock_all), and call epoch.put");
  }
  /// Does not compile: get is a member of an open epoch.
  template <class... Arguments>
  void get(Arguments&&...) const {
    static_assert(detail::always_false<Arguments...>,
                  "window: get needs an open epoch; open one, `pgas::fence epoch{window};` "
                  "(or access, lock_all), and call epoch.get");
  }

 private:
  detail::local_shared_ptr<state_type> state_;
};

namespace detail {

/// A rank's description of the window that it helps to make. All ranks must give the same, except for the
/// size.
struct window_offer {
  std::uint64_t bytes;
  std::uint32_t element_bytes;
  std::array<char, 64> policies;
  std::uint64_t policy_types;  ///< their type_hash: policies of one name may differ by their parameters

  [[nodiscard]] bool agrees(window_offer const& other) const noexcept {
    return reads_like(other) && policy_types == other.policy_types;
  }
  /// True if the two offers have one text.
  [[nodiscard]] bool reads_like(window_offer const& other) const noexcept {
    return element_bytes == other.element_bytes && policies == other.policies;
  }
  /// Everything but the size, in a word.
  [[nodiscard]] word digest() const noexcept {
    word all = policy_types ^ element_bytes;
    for (char const letter : policies)
      all = (all ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;  // Fowler, Noll and Vo: FNV-1a
    return all;
  }
  [[nodiscard]] std::string text() const {
    return detail::text_of({element_bytes, "-byte elements with ", policies.data()});
  }
};

/// The names of a window's policies, joined, and shortened if they are long. `memory` is a prefix that marks
/// memory of the program's own.
template <class Coherence, class Protocols>
std::array<char, 64> policy_names(std::string_view memory) noexcept {
  std::string const all = text_of({memory, Coherence::name, "+", Protocols::fence::name, "+",
                                   Protocols::post::name, "+", Protocols::lock::name});
  std::array<char, 64> text{};
  copy_text(text, all.size() < text.size() ? all
                                           : text_of({std::string_view(all).substr(0, 52), "#",
                                                      std::hash<std::string>{}(all) % 1000000}));
  return text;
}

/// The bytes of all parts of the window that the ranks are about to make; empty if each rank offers as many
/// as this one. If ranks offer different windows, the handshake refuses all. Compiled once for all windows.
template <class Backend>
plain_list<std::size_t> sizes_of_parts(handshake<Backend>& shake, window_offer const& mine) {
  plain_list<std::size_t> sizes;
  auto const [is_same_window, is_same_size] = shake.are_same(mine.digest(), mine.bytes);
  if (!is_same_size) shake.gather(mine.bytes, [&](rank_t, std::uint64_t theirs) { sizes.push_back(theirs); });
  if (!is_same_window) {
    shake.gather(mine, [&](rank_t rank, window_offer const& offer) {
      if (offer.agrees(mine)) return;
      shake.refuse(errc::mismatch,
                   text_of({"rank ", rank, " makes a window of ", offer.text(), ", rank 0 one of ",
                            mine.text(), (offer.reads_like(mine) ? ", which differ in their parameters" : ""),
                            "; all must make the same"}));
    });
  }
  return sizes;
}

/// Refuses elements that would lie at wrong places, wherever a backend allocates a window's memory.
template <class T>
consteval void check_alignment() {
  static_assert(
      alignof(T) <= part_alignment,
      "pgas: this type is aligned to more than 128 bytes (pgas::part_alignment), at which the parts "
      "of windows and arrays begin; align it to at most 128 bytes, or give make_window a span of "
      "memory that the program has allocated");
}

/// Makes a window together with all ranks of a team. One rank reserves the memory: reserve(backend, bytes of
/// each part) returns a handle. Each rank attaches to it: attach(backend, handle, own bytes) returns a
/// segment. `more` goes to the constructor of the window's state.
template <class Window, class Team, class Reserve, class Attach, class... More>
Window join_window(Team const& team, std::size_t size, std::string_view memory, Reserve&& reserve,
                   Attach&& attach, More const&... more) {
  using value_type = typename Window::value_type;
  using state_type = typename Window::state_type;
  using control_type = typename Team::backend_type::control_type;
  using handle = typename Team::backend_type::handle;
  auto& members = *team.state();
  auto& backend = members.backend;
  handshake shake(members, "make_window");

  // A rank with an impossible size refuses, and offers nothing, so that the others go on to the end.
  bool const has_addresses = size <= std::numeric_limits<std::uint64_t>::max() / sizeof(value_type);
  std::uint64_t const bytes = is_negative(size) || !has_addresses ? 0 : size * sizeof(value_type);
  shake.require_natural(size, "elements");
  if (!has_addresses) {
    shake.refuse(errc::no_space, text_of({"rank ", team.rank(), " asks for ", size, " elements of ",
                                          sizeof(value_type), " bytes, more than there are addresses"}));
  }
  using coherence_type = typename state_type::coherence_type;
  using bundle = typename Window::protocols_type;
  window_offer const mine{
      bytes, sizeof(value_type), policy_names<coherence_type, bundle>(memory),
      type_hash<coherence_type, typename bundle::fence, typename bundle::post, typename bundle::lock>()};
  plain_list<std::size_t> sizes = sizes_of_parts(shake, mine);
  auto segment = shake.attach(
      [&] {
        if (sizes.empty()) {
          for (rank_t rank = 0; rank < team.size(); ++rank) sizes.push_back(bytes);
        }
        return reserve(backend, std::span<std::size_t const>(sizes.begin(), sizes.size()));
      },
      [&](handle made) { return attach(backend, made, bytes); });
  control_words const words = state_type::words(team.size());
  std::string const label = detail::text_of({"window ", members.windows});
  auto control =
      shake.attach([&] { return backend.reserve_control(words); },
                   [&](handle made) -> control_type { return backend.attach_control(made, words, label); });
  if constexpr (state_type::is_mailed) {
    using mailbox_type = typename Team::backend_type::mailbox_type;
    auto mail = shake.attach([&] { return backend.reserve_mailbox(); },
                             [&](handle made) -> mailbox_type { return backend.attach_mailbox(made); });
    shake.conclude();
    ++members.windows;
    return Window(local_shared_ptr<state_type>(
        std::in_place, team.state(), std::move(*segment),
        typename state_type::control_type(std::move(*control), std::move(*mail)), label, more...));
  } else {
    shake.conclude();
    ++members.windows;
    return Window(local_shared_ptr<state_type>(std::in_place, team.state(), std::move(*segment),
                                               std::move(*control), label, more...));
  }
}

}  // namespace detail

/// Makes a window to which this rank contributes `size` elements, zero allowed, all bytes zero.
///
/// T is aligned to part_alignment at most. Collective over the team. The window has the team's policies
/// unless it is given others: `make_window<double>(team.with<uncached>(), n)`. Throws, on every rank,
/// errc::no_space when there is too little memory, and errc::mismatch when ranks ask for different element
/// types or policies. Costs a few barriers, and the first touch of the memory by its owner. MPI_Win_allocate.
template <transportable T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols,
          std::integral Size>
[[nodiscard]] auto make_window(team<Backend, Coherence, Protocols> const& team, Size size) {
  detail::check_alignment<T>();
  return detail::join_window<window<T, Backend, Coherence, Protocols>>(
      team, static_cast<std::size_t>(size), "",
      [](Backend& b, std::span<std::size_t const> sizes) { return b.reserve_segment(sizes); },
      [](Backend& b, typename Backend::handle handle, std::size_t bytes) {
        return b.attach_segment(handle, bytes);
      });
}

/// Does not compile: says why T cannot be the type of elements.
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols, std::integral Size>
  requires(!transportable<T>)
auto make_window(team<Backend, Coherence, Protocols> const&, Size) {
  detail::refuse_type<T>();
}

/// The type of a window of T on a team, as make_window returns it: for the members of a class whose
/// constructor takes the team. `Team` may be a reference, such as `decltype(team)`.
///
///     template <class Team>
///     class histogram {
///       pgas::window_on<Team, long> counts_;
template <class Team, transportable T>
using window_on = window<T, typename std::remove_cvref_t<Team>::backend_type,
                         typename std::remove_cvref_t<Team>::coherence_type,
                         typename std::remove_cvref_t<Team>::protocols_type>;

/// Does not compile: says how a window is made.
template <class T = void>
auto make_window(detail::anything = {}, detail::anything = {}, detail::anything = {}, detail::anything = {}) {
  static_assert(detail::always_false<T>,
                "make_window: write `pgas::make_window<double>(team, n)` with the type of the elements, the "
                "team, and the whole number of elements of this rank, which all begin as zero; memory of the "
                "program's own goes in as a std::span");
}

}  // namespace PGAS_NAMESPACE
