// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/containers/container_words.hpp>
#include <pgas/detail/containers/packed_ring.hpp>
#include <pgas/detail/containers/ring_places.hpp>
#include <pgas/detail/containers/ticket_ring.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <pgas/vocabulary/transportable.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// All parts of such a window are arrays of this process, and one instruction changes a word of them.
template <class Window>
inline constexpr bool packs_cells =
    Window::state_type::is_direct && Window::state_type::has_native_elements &&
    std::is_same_v<typename Window::value_type, std::uint64_t>;

/// The cells of a ring in a window of words: each has a turn and, on the next bytes, its element.
///
/// Four cells of 8-byte elements share a line. A line that comes from another core thus brings four turns and
/// four elements. Elements are plain memory: the turns order all accesses to them.
template <transportable T, class Window>
class packed_cells {
 public:
  using value_type = T;
  /// The words of a cell.
  static constexpr std::size_t cell_words =
      1 + (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);

  /// How often a waiting rank polls a turn before it awaits a control word: for about a microsecond, in which
  /// a line moves several times from core to core.
  static constexpr int looks = 1000;

  packed_cells(Window const& memory, ring_places const& places)
      : owners_(static_cast<std::size_t>(places.owners)) {
    if (places.owners == 1) {
      parts_.push_back(memory.state().part_if_near(places.home));
    } else {
      for (rank_t r = 0; r < places.owners; ++r) parts_.push_back(memory.state().part_if_near(r));
    }
    first_ = parts_[0];
  }

  /// One cell.
  class cell_type {
   public:
    explicit cell_type(std::uint64_t* at) noexcept : at_(at) {}
    [[nodiscard]] word load_turn(std::memory_order order) const noexcept {
      return std::atomic_ref(*at_).load(order);
    }
    void store_turn(word turn, std::memory_order order) const noexcept {
      std::atomic_ref(*at_).store(turn, order);
    }
    void write(T const& value) const noexcept {
      std::memcpy(at_ + 1, static_cast<void const*>(&value), sizeof(T));
    }
    void read(T& value) const noexcept { std::memcpy(static_cast<void*>(&value), at_ + 1, sizeof(T)); }

   private:
    std::uint64_t* at_;
  };
  [[nodiscard]] cell_type cell(std::size_t i) const noexcept {
    if (owners_.value() == 1) [[likely]]
      return cell_type(first_ + i * cell_words);
    return cell_type(parts_[owners_.remainder(i)] + owners_.quotient(i) * cell_words);
  }

 private:
  divisor owners_;
  std::uint64_t* first_ = nullptr;
  std::vector<std::uint64_t*> parts_;
};

}  // namespace PGAS_NAMESPACE::detail

namespace PGAS_NAMESPACE {

/// The ranks in whose memory the cells of a queue are.
enum class cells_at {
  home,       ///< one rank: a bulk transfer is one access
  all_ranks,  ///< all, in turn: no rank's memory serves all transfers
};

/// The place and size of a queue.
struct queue_options {
  std::size_t capacity = 1024;      ///< the most elements that it can hold, at least 1
  rank_t home = 0;                  ///< the rank that has the words for tickets
  cells_at cells = cells_at::home;  ///< the place of the elements
};

namespace detail {

/// The memory of a ring's elements: packed with their turns where all parts are near, else apart from them.
template <class T, class Window, bool packs = packs_cells<Window>>
struct cells_of {
  using type = packed_cells<T, Window>;
  static type make(Window const& memory, ring_places const& places) { return type(memory, places); }
};
template <class T, class Window>
struct cells_of<T, Window, false> {
  using type = element_store<Window>;
  static type make(Window const& memory, ring_places const&) { return type(memory); }
};

/// The ring of a queue.
template <class T, class Control, class Window, takers Takers>
using ring_of = std::conditional_t<packs_cells<Window>, packed_ring<Control, packed_cells<T, Window>, Takers>,
                                   ticket_ring<Control, typename cells_of<T, Window>::type, Takers>>;

}  // namespace detail

/// A bounded first-in-first-out queue of a team. All ranks push. All ranks pop, or, if it is an inbox, its
/// home alone. Make one with make_queue or make_inbox.
///
/// Members are one-sided: no rank serves the others. The elements that one rank pushes are popped in their
/// order. An operation takes effect when its rank gets its ticket. A rank that waits sleeps. If all ranks
/// wait, each gets errc::deadlock. The object is one rank's handle; it moves. Its destructor is local.
///
/// A rank that pops an element finds what the rank that pushed it had flushed before.
/// `pop` waits for a push that is under way, also past its deadline. `try_pop` does not: it finds nothing
/// while the push of the oldest element has not ended, also if a later push has. `try_push` finds no room in
/// the same way.
///
/// Costs a push is a load, an atomic operation, a put with its arrival, and a store at the home; a pop is the
/// same with a get. An inbox's home pops from its own memory and without atomic operations, and a push to it
/// needs no load while there is room. Many elements take one atomic operation and one transfer, and a load
/// and a store for each cell. Memory at the home: sizeof(T) and a control word a cell. If all ranks reach the
/// home's memory by loads and stores, an element and its turn lie side by side, and a put and a get are
/// copies. A cell then takes sizeof(T) and 8 bytes. Source: detail::packed_ring there, else
/// detail::ticket_ring. BCL: FastQueue and CircularQueue; UPC++ and MPI have no queue.
template <transportable T, class Control, class Window, takers Takers>
class distributed_queue {
  using ring_type = detail::ring_of<T, Control, Window, Takers>;

 public:
  using value_type = T;
  static constexpr takers taken_by = Takers;  ///< the ranks that may pop

  /// For make_queue and make_inbox.
  distributed_queue(Control words, Window memory, detail::ring_places const& places)
      : memory_(std::move(memory)),
        ring_(std::move(words), detail::cells_of<T, Window>::make(memory_, places), places) {}

  /// The most elements that the queue can hold.
  [[nodiscard]] std::size_t capacity() const noexcept { return ring_.capacity(); }
  /// The rank whose memory has the queue's words. It alone pops from an inbox.
  [[nodiscard]] rank_t home() const noexcept { return ring_.home(); }

  /// Pushes a value, and waits while the queue is full. Returns false if the queue is closed, and true when
  /// the value can be popped. Throws errc::timed_out at the deadline.
  bool push(T const& value, time_point deadline = no_deadline) {
    while (ring_.try_push(one(value)) == 0) {
      if (!ring_.wait_for_room(deadline)) return false;
    }
    return true;
  }
  /// Pushes values in their order, and waits while the queue is full. Returns their number, which is smaller
  /// if the queue is closed. Values of other ranks come between them only where this rank waited. Throws
  /// errc::timed_out at the deadline; then some values may have been pushed.
  std::size_t push(std::span<T const> values, time_point deadline = no_deadline) {
    std::size_t done = 0;
    while (done < values.size()) {
      std::size_t const more = ring_.try_push(values.subspan(done));
      done += more;
      if (more == 0 && !ring_.wait_for_room(deadline)) break;
    }
    return done;
  }
  /// Pushes a value if there is room. Never waits. Returns false if the queue is full or closed.
  [[nodiscard]] bool try_push(T const& value) { return ring_.try_push(one(value)) == 1; }
  /// Pushes the first of the values, as many as there is room for, and returns their number. Never waits. No
  /// other rank's values come between them.
  [[nodiscard]] std::size_t try_push(std::span<T const> values) { return ring_.try_push(values); }

  /// Takes the oldest element, and waits while there is none. Returns nothing if the queue is closed and
  /// empty. Throws errc::timed_out at the deadline, and errc::wrong_order on a rank that is not the home of
  /// an inbox.
  [[nodiscard]] std::optional<T> pop(time_point deadline = no_deadline) {
    check_taker("pop");
    T value{};
    while (ring_.try_pop(std::span<T, 1>(&value, 1)) == 0) {
      if (!ring_.wait_for_element(deadline)) return std::nullopt;
    }
    return value;
  }
  /// Takes the oldest elements, as many as are ready and fit, and waits while there is none. Returns their
  /// number: 0 if the queue is closed and empty, or if none fits.
  std::size_t pop(std::span<T> into, time_point deadline = no_deadline) {
    check_taker("pop");
    std::size_t taken = 0;
    while (!into.empty() && (taken = ring_.try_pop(into)) == 0) {
      if (!ring_.wait_for_element(deadline)) break;
    }
    return taken;
  }
  /// Takes the oldest element if one is ready. Never waits.
  [[nodiscard]] std::optional<T> try_pop() {
    check_taker("try_pop");
    T value{};
    if (ring_.try_pop(std::span<T, 1>(&value, 1)) == 0) return std::nullopt;
    return value;
  }
  /// Takes the oldest elements, as many as are ready and fit, and returns their number. Never waits.
  [[nodiscard]] std::size_t try_pop(std::span<T> into) {
    check_taker("try_pop");
    return ring_.try_pop(into);
  }

  /// Lets no rank push any more. Elements that are in the queue can still be popped; then `pop` returns
  /// nothing. Any rank may call it, also twice. Ranks that wait for room or for an element return.
  void close() { ring_.close(); }
  /// Returns whether a rank has closed the queue.
  [[nodiscard]] bool is_closed() { return ring_.is_closed(); }
  /// The number of elements, those included whose push is under way. Other ranks may change it meanwhile.
  [[nodiscard]] std::size_t size() { return ring_.size(); }

 private:
  static std::span<T const, 1> one(T const& value) noexcept { return std::span<T const, 1>(&value, 1); }
  void check_taker(std::string_view operation) const {
    if constexpr (Takers == takers::one) {
      PGAS_EXPECTS(light, ring_.rank() == ring_.home(),
                   throw error(errc::wrong_order, memory_.state().job_rank(), operation,
                               "only rank " + std::to_string(ring_.home()) +
                                   " takes elements out of this inbox; make the queue with make_queue"));
    }
  }

  Window memory_;
  ring_type ring_;
};

namespace detail {

/// Makes a queue by all ranks of a team together.
template <transportable T, takers Takers, class Team>
auto join_queue(Team const& team, queue_options const& options, std::string_view operation) {
  using control_type = typename Team::backend_type::control_type;
  auto& members = *team.state();
  ring_places const places{options.home, options.capacity == 0 ? 1 : options.capacity,
                           options.cells == cells_at::home ? rank_t{1} : team.size()};
  using word_window = window_on<Team, std::uint64_t>;
  constexpr bool packs = packs_cells<word_window>;
  auto words =
      make_container_words(members, packs ? places.tickets() : places.words(), operation, [&](auto& shake) {
        shake.require_natural(options.capacity, "cells");
        shake.require_same(options.capacity, "as the capacity");
        shake.require_same(static_cast<std::uint64_t>(options.cells), "as the place of the cells");
        agree_on_home(shake, options.home, team.size());
        if (options.capacity == 0)
          shake.refuse(errc::invalid_argument,
                       "a queue without cells can take no element; make at least one");
      });
  bool const has_cells = options.cells == cells_at::all_ranks || team.rank() == options.home;
  std::size_t const cells = has_cells ? places.cells_each() : 0;
  auto memory = [&] {
    if constexpr (packs) {
      return make_window<std::uint64_t>(team, cells * packed_cells<T, word_window>::cell_words);
    } else {
      return make_window<T>(team, cells);
    }
  }();
  using queue_type = distributed_queue<T, control_type, decltype(memory), Takers>;
  queue_type made(std::move(words), std::move(memory), places);
  team.barrier();  // the home has set its words
  return made;
}

}  // namespace detail

/// Makes an empty queue that all ranks push to and pop from. Collective; all ranks give the same options.
/// Throws on every rank: errc::invalid_argument for no capacity, errc::out_of_range for a home outside the
/// team, errc::mismatch, errc::no_space.
template <transportable T, backend_with_cells Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_queue(team<Backend, Coherence, Protocols> const& team, queue_options options = {}) {
  return detail::join_queue<T, takers::any>(team, options, "make_queue");
}

/// Makes an empty queue that all ranks push to, and rank `owner` pops from. Collective; all ranks give the
/// same capacity and owner. Throws like make_queue.
template <transportable T, backend_with_cells Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_inbox(team<Backend, Coherence, Protocols> const& team, std::size_t capacity = 1024,
                              rank_t owner = 0) {
  return detail::join_queue<T, takers::one>(
      team, queue_options{.capacity = capacity, .home = owner, .cells = cells_at::home}, "make_inbox");
}

/// Do not compile: they say what a queue needs.
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(!backend_with_cells<Backend> || !transportable<T>)
auto make_queue(team<Backend, Coherence, Protocols> const&, queue_options = {}) {
  detail::refuse_type<T>();
  static_assert(backend_with_cells<Backend>,
                "make_queue: this backend's control words have no read-modify-write, with which ranks take "
                "tickets; send elements by put and signals.hpp, or take another backend");
}
template <class T, backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(!backend_with_cells<Backend> || !transportable<T>)
auto make_inbox(team<Backend, Coherence, Protocols> const&, std::size_t = 1024, rank_t = 0) {
  detail::refuse_type<T>();
  static_assert(backend_with_cells<Backend>,
                "make_inbox: this backend's control words have no read-modify-write, with which ranks take "
                "tickets; send elements by put and signals.hpp, or take another backend");
}

/// The type of a queue of T on a team, as make_queue returns it.
template <class Team, transportable T>
using queue_on = decltype(make_queue<T>(std::declval<Team const&>()));
/// The type of an inbox of T on a team, as make_inbox returns it.
template <class Team, transportable T>
using inbox_on = decltype(make_inbox<T>(std::declval<Team const&>()));

}  // namespace PGAS_NAMESPACE
