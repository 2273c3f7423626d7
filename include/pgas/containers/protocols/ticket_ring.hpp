// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <pgas/support/divisor.hpp>
#include <span>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS {

/// The ranks that take elements out of a queue.
enum class takers {
  one,  ///< the rank that is the queue's home
  any,  ///< all ranks
};

namespace detail {

/// A step of ticket_ring that a mutant leaves out or moves, so that tests can show that it is needed.
enum class ring_fault {
  none,
  no_arrival,        ///< a cell is marked full while its element may be under way
  full_before_put,   ///< a cell is marked full before its element is put
  free_before_get,   ///< a cell is free before its element has been read
  no_look_for_room,  ///< an element is put into a cell whose last element may be there
  close_at_once,     ///< a closed queue has nothing for a rank that waits, though elements are in it
};

/// The place of the cells of a ring: all at the home, or dealt to the ranks in turn.
struct ring_places {
  rank_t home = 0;        ///< the rank of the two tickets, and of all cells if they are in one place
  std::size_t cells = 1;  ///< at least 1
  rank_t owners = 1;      ///< 1, or the number of ranks among which the cells are dealt

  /// The cells of each owner, rounded up.
  [[nodiscard]] constexpr std::size_t cells_each() const noexcept {
    auto const n = static_cast<std::size_t>(owners);
    return (cells + n - 1) / n;
  }
  /// The words of a ring: two tickets, and a turn for each cell.
  [[nodiscard]] constexpr control_words words() const noexcept {
    return {.slots = 0, .cells = first_turn + cells_each()};
  }
  static constexpr std::size_t first_turn = 2;
};

/// A bounded queue: a ring of cells, for each of which a ticket says whose turn it is.
///
/// Words     of the home: `tail`, the tickets that were given to pushing ranks, and a bit that says that the
///           queue is closed; `head`, those given to taking ranks. Beside each cell: its `turn`.
/// States    Ticket t belongs to cell t mod cells, in lap t / cells. A cell goes through
///
///             2 lap       it is free for the rank that has ticket t of `tail`; that rank alone puts
///             2 lap + 1   it is full; the rank that has ticket t of `head` alone gets
///             2 lap + 2   it is free for the next lap
///
/// push      find the turn of cell t free (acquire); move tail from t to t + 1 by a compare_exchange; put the
///           element; await its arrival; set the turn to full (release).
/// pop       find the turn full (acquire); move head from h to h + 1; get; set the turn to free (release).
/// One taker needs neither the second compare_exchange nor free turns: `head` is a word that the taker stores
///           after it has read an element (release). A pushing rank compares its ticket with it (acquire),
///           and remembers it: it loads `head` again only when the ring seems full.
/// Many      elements take one compare_exchange, for as many adjacent cells as are free, or full.
/// Waits     A taking rank waits until a ticket of `tail` is given or the queue is closed, which is one word.
///           Then the rank with that ticket is putting, and it waits for the turn. A pushing rank waits for
///           `head` or the closed bit, and then for the turn.
/// close     sets the bit in `tail`, so the number of tickets beside it is final: a compare_exchange of a
///           pushing rank fails from then on.
/// Source    the bounded queue of Vyukov 2010 (1024cores.net), whose cells have sequence numbers. Ours
/// differs.
///           Cells are in another rank's memory, apart from their turns: elements are payload, which may be
///           cached or under way, and turns are control words. Turns count laps by twos, so that a ring of
///           one cell works. A rank begins with the ticket that it remembers, since a compare_exchange that
///           fails tells the right one. A queue can be closed, ranks can sleep, and one taker is cheaper.
/// Costs     push: a load, a compare_exchange, a put and a store at the home. pop: the same with a get; for
///           one taker all is in its own memory, and nothing is a read-modify-write.
/// Memory    a word a cell, and two.
template <class Control, class Memory, takers Takers, ring_fault Fault = ring_fault::none>
class ticket_ring {
 public:
  using value_type = typename Memory::value_type;

  ticket_ring(Control words, Memory memory, ring_places const& places)
      : words_(std::move(words)),
        memory_(std::move(memory)),
        home_(places.home),
        is_dealt_(places.owners > 1),
        cells_(places.cells),
        owners_(static_cast<std::size_t>(places.owners)) {
    // relaxed: the container is made by all ranks together, and they learn of it by their handshake. `head`
    // is told from `tail` by its lowest bit.
    if (words_.rank() == home_) head().reset_unshared(head_word(0), std::memory_order_relaxed);
    for (rank_t rank = 0; rank < words_.size(); ++rank) {
      if (rank != words_.rank()) others_.push_back(rank);
    }
    if (others_.empty()) others_.push_back(words_.rank());  // nobody can end a wait, and the wait says so
  }

  [[nodiscard]] rank_t home() const noexcept { return home_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return cells_.value(); }
  [[nodiscard]] rank_t rank() const noexcept { return words_.rank(); }

  /// Pushes the first of the values, as many as there is room for, and returns their number.
  std::size_t try_push(std::span<value_type const> values) {
    if (values.empty()) return 0;
    for (;;) {
      auto const [room, is_old] = room_from(next_push_, values.size());
      if (is_old) {
        // relaxed: a ticket is a number, and turns order the elements.
        word const found = tail().load(std::memory_order_relaxed);
        if (is_closed(found) || count(found) == next_push_) return 0;
        next_push_ = count(found);
        continue;
      }
      if (room == 0) return 0;
      word expected = tail_word(next_push_);
      if (tail().compare_exchange(expected, tail_word(next_push_ + room),
                                  std::memory_order_relaxed)) {  // relaxed: as above
        fill(std::exchange(next_push_, next_push_ + room), values.first(room));
        return room;
      }
      if (is_closed(expected)) return 0;
      next_push_ = count(expected);
    }
  }

  /// Takes elements that are ready, as many as fit, and returns their number.
  std::size_t try_pop(std::span<value_type> into) {
    if (into.empty()) return 0;
    for (;;) {
      auto const [ready, is_old] = ready_from(next_pop_, into.size());
      if (is_old) {
        word const found = count(head().load(std::memory_order_relaxed));  // relaxed: as in try_push
        if (found == next_pop_) return 0;
        next_pop_ = found;
        continue;
      }
      if (ready == 0) return 0;
      if constexpr (Takers == takers::any) {
        word expected = head_word(next_pop_);
        if (!head().compare_exchange(expected, head_word(next_pop_ + ready),
                                     std::memory_order_relaxed)) {  // relaxed: as in try_push
          next_pop_ = count(expected);
          continue;
        }
      }
      take(std::exchange(next_pop_, next_pop_ + ready), into.first(ready));
      return ready;
    }
  }

  /// Returns true when there may be room, and false if the queue is closed.
  bool wait_for_room(time_point deadline) {
    word const found = tail().load(std::memory_order_relaxed);  // relaxed: as in try_push
    if (is_closed(found)) return false;
    word const ticket = next_push_ = count(found);
    waiting_for const why{.operation = "push",
                          .awaited = Takers == takers::one ? group(&home_, 1) : group(others_),
                          .deadline = deadline};
    std::array both{head(), tail()};
    words_.wait_any(
        std::span<typename decltype(both)::value_type>(both),
        [ticket, capacity = this->capacity()](word seen) {
          return is_of_head(seen) ? count(seen) + capacity > ticket : is_closed(seen);
        },
        why);
    if (is_closed(tail().load(std::memory_order_relaxed))) return false;
    if constexpr (Takers == takers::any)
      words_.wait_until(
          turn(ticket), [least = free_turn(ticket)](word seen) { return seen >= least; }, why);
    return true;
  }

  /// Returns true when there may be an element, and false if the queue is closed and has none.
  bool wait_for_element(time_point deadline) {
    if constexpr (Takers == takers::any) next_pop_ = count(head().load(std::memory_order_relaxed));
    word const ticket = next_pop_;
    waiting_for const why{.operation = "pop", .awaited = others_, .deadline = deadline};
    // acquire, of the wait: pairs with the release in close(), whose rank may have written what is read next.
    word const found = words_.wait_until(
        tail(), [ticket](word seen) { return count(seen) > ticket || is_closed(seen); }, why);
    if (count(found) <= ticket || (Fault == ring_fault::close_at_once && is_closed(found))) return false;
    words_.wait_until(
        turn(ticket), [least = full_turn(ticket)](word seen) { return seen >= least; }, why);
    return true;
  }

  void close() {
    word found = tail().load(std::memory_order_relaxed);
    // release: pairs with the acquire of a wait_for_element that returns false.
    while (!is_closed(found) &&
           !tail().compare_exchange(found, found | closed_bit, std::memory_order_release)) {}
  }
  [[nodiscard]] bool is_closed() {
    return is_closed(tail().load(std::memory_order_acquire));  // acquire: as in wait_for_element
  }
  /// The tickets that were given for `tail` and not for `head`.
  [[nodiscard]] std::size_t size() {
    word const first = count(head().load(std::memory_order_relaxed));  // relaxed: a number, as in try_push
    word const last = count(tail().load(std::memory_order_relaxed));
    return std::min<std::size_t>(last < first ? 0 : last - first, capacity());
  }

 private:
  static constexpr word closed_bit = 2;

  /// The adjacent cells that were found free, or full. `is_old`: the first ticket belongs to another rank.
  struct found_cells {
    std::size_t number = 0;
    bool is_old = false;
  };

  static constexpr word tail_word(word tickets) noexcept { return tickets << 2U; }
  static constexpr word head_word(word tickets) noexcept { return tickets << 2U | 1U; }
  static constexpr bool is_of_head(word w) noexcept { return (w & 1U) != 0; }
  static constexpr bool is_closed(word w) noexcept { return (w & closed_bit) != 0; }
  static constexpr word count(word w) noexcept { return w >> 2U; }

  [[nodiscard]] word free_turn(word ticket) const noexcept { return 2 * cells_.quotient(ticket); }
  [[nodiscard]] word full_turn(word ticket) const noexcept { return free_turn(ticket) + 1; }
  [[nodiscard]] auto tail() { return words_.cell(home_, 0); }
  [[nodiscard]] auto head() { return words_.cell(home_, 1); }
  [[nodiscard]] auto turn(word ticket) {
    std::size_t const cell = cells_.remainder(ticket);
    return words_.cell(owner_of(cell), ring_places::first_turn + owners_.quotient(cell));
  }
  [[nodiscard]] rank_t owner_of(std::size_t cell) const noexcept {
    return is_dealt_ ? static_cast<rank_t>(owners_.remainder(cell)) : home_;
  }

  [[nodiscard]] found_cells room_from(word ticket, std::size_t most) {
    most = std::min(most, capacity());
    if constexpr (Fault == ring_fault::no_look_for_room) return {most};
    if constexpr (Takers == takers::one) {
      if (ticket < known_head_) return {.is_old = true};
      if (ticket + most - known_head_ > capacity()) {
        // acquire: pairs with the release in take(), after which the taker reads the cells no more.
        known_head_ = count(head().load(std::memory_order_acquire));
        if (ticket < known_head_) return {.is_old = true};
      }
      return {std::min(most, capacity() - std::min<std::size_t>(capacity(), ticket - known_head_))};
    } else {
      return turns_from(ticket, most, 0);
    }
  }
  [[nodiscard]] found_cells ready_from(word ticket, std::size_t most) {
    return turns_from(ticket, std::min(most, capacity()), 1);
  }
  /// Looks for cells whose turn is that of their ticket, or one more.
  [[nodiscard]] found_cells turns_from(word ticket, std::size_t most, word more) {
    std::size_t n = 0;
    for (; n < most; ++n) {
      // acquire: pairs with the release in take(), whose rank has read the cell, or in fill(), whose rank has
      // put the element.
      word const seen = turn(ticket + n).load(std::memory_order_acquire);
      if (seen == free_turn(ticket + n) + more) continue;
      if (n == 0 && seen > free_turn(ticket) + more) return {.is_old = true};
      break;
    }
    return {n};
  }

  /// Calls use(rank, index in its part, first value, number) for each run of adjacent cells.
  template <class Use>
  void for_each_run(word ticket, std::size_t number, Use const& use) {
    for (std::size_t done = 0; done < number;) {
      std::size_t const cell = cells_.remainder(ticket + done);
      std::size_t const run = is_dealt_ ? 1 : std::min(number - done, capacity() - cell);
      use(owner_of(cell), owners_.quotient(cell), done, run);
      done += run;
    }
  }

  void fill(word ticket, std::span<value_type const> values) {
    if constexpr (Fault == ring_fault::full_before_put) mark_full(ticket, values.size());
    for_each_run(ticket, values.size(), [&](rank_t rank, std::size_t at, std::size_t first, std::size_t n) {
      memory_.put(rank, at, values.subspan(first, n));
    });
    if constexpr (Fault != ring_fault::no_arrival) {
      if (!is_dealt_) {
        memory_.arrive(home_);
      } else if (values.size() >= owners_.value()) {
        for (std::size_t i = 0; i < owners_.value(); ++i) memory_.arrive(static_cast<rank_t>(i));
      } else {
        for (std::size_t i = 0; i < values.size(); ++i)
          memory_.arrive(owner_of(cells_.remainder(ticket + i)));
      }
    }
    if constexpr (Fault != ring_fault::full_before_put) mark_full(ticket, values.size());
  }
  void mark_full(word ticket, std::size_t number) {
    for (std::size_t i = 0; i < number; ++i) {
      // release: pairs with the acquire in turns_from() and in wait_for_element() of the rank that takes. No
      // other rank may modify the word, since this one has the ticket.
      turn(ticket + i).reset_unshared(full_turn(ticket + i), std::memory_order_release);
    }
  }

  void take(word ticket, std::span<value_type> into) {
    if constexpr (Fault == ring_fault::free_before_get) mark_free(ticket, into.size());
    for_each_run(ticket, into.size(), [&](rank_t rank, std::size_t at, std::size_t first, std::size_t n) {
      memory_.get(rank, at, into.subspan(first, n));
    });
    if constexpr (Fault != ring_fault::free_before_get) mark_free(ticket, into.size());
  }
  void mark_free(word ticket, std::size_t number) {
    if constexpr (Takers == takers::one) {
      // release: pairs with the acquire in room_from() and of the wait in wait_for_room().
      head().reset_unshared(head_word(ticket + number), std::memory_order_release);
    } else {
      for (std::size_t i = 0; i < number; ++i) {
        // release: pairs with the acquire in turns_from() and in wait_for_room() of the rank that pushes into
        // the next lap.
        turn(ticket + i).reset_unshared(free_turn(ticket + i) + 2, std::memory_order_release);
      }
    }
  }

  Control words_;
  Memory memory_;
  rank_t home_;
  bool is_dealt_;
  divisor cells_;
  divisor owners_;
  std::vector<rank_t> others_;
  word next_push_ = 0;   ///< the ticket with which this rank begins: right, or of another rank
  word next_pop_ = 0;    ///< the same for `head`; exact at the one taker
  word known_head_ = 0;  ///< `head` at most, as this rank has last seen it
};

}  // namespace detail
}  // namespace pgas::inline PGAS_ASSERTIONS
