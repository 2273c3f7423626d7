// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/containers/ring_places.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <span>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

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
/// Waits     A taking rank that finds nothing looks at `tail` by a fetch_add of 0, and then waits for the
///           turn. A pushing rank waits for `head` or the closed bit, and then for the turn.
/// close     sets a bit in `tail` by a compare_exchange. The number of tickets beside it, e, is final: a
///           compare_exchange of a pushing rank fails from then on. So ticket e is the closer's. If its cell
///           is free, or is being read, the closer gives the cell a turn that ends the waits for it. If an
///           element lies there that no rank has taken, no rank waits for ticket e: a rank that will do so
///           looks at `tail` after that element was taken. Had it looked before the closer's change, the
///           closer would have seen the element taken, since both are read-modify-writes of one word.
/// Source    the bounded queue of Vyukov 2010 (1024cores.net), whose cells have sequence numbers. Ours
///           differs. Cells are in another rank's memory, apart from their turns: elements are payload, which
///           may be cached or under way, and turns are control words. Turns count laps by twos, so that a
///           ring of one cell works. A rank begins with the ticket that it remembers, since a
///           compare_exchange that fails tells the right one. A queue can be closed, ranks can sleep, and one
///           taker is cheaper.
/// Costs     push: a load, a compare_exchange, a put and a store at the home. pop: the same with a get; for
///           one taker all is in its own memory, and nothing is a read-modify-write.
/// Memory    a word a cell, and two.
template <class Control, class Memory, takers Takers>
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
    if (others_.empty())
      others_.push_back(words_.rank());  // no rank can end the wait, and the wait reports that
  }

  [[nodiscard]] rank_t home() const noexcept { return home_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return cells_.value(); }
  [[nodiscard]] rank_t rank() const noexcept { return words_.rank(); }

  /// Pushes the first of the values, as many as there is room for, and returns their number.
  /// The number may be known at compile time: one value then takes no loop.
  template <std::size_t Extent>
  std::size_t try_push(std::span<value_type const, Extent> values) {
    if (values.empty()) return 0;
    for (;;) {
      auto const [room, is_old] = room_from(next_push_, values.size());
      if (is_old) {
        // relaxed: a ticket is a number, and turns order the elements.
        word const found = tail().load(std::memory_order_relaxed);
        if (is_closed(found) || count(found) == next_push_.ticket) return 0;
        next_push_ = place_of(count(found));
        continue;
      }
      if (room == 0) return 0;
      word expected = tail_word(next_push_.ticket);
      if (tail().compare_exchange(expected, tail_word(next_push_.ticket + room),
                                  std::memory_order_relaxed)) {  // relaxed: as above
        place const first = next_push_;
        next_push_ = behind(next_push_, room);
        if constexpr (Extent == 1) {
          fill(first, values);
        } else {
          fill(first, values.first(room));
        }
        return room;
      }
      if (is_closed(expected)) return 0;
      next_push_ = place_of(count(expected));
    }
  }

  /// Takes elements that are ready, as many as fit, and returns their number.
  template <std::size_t Extent>
  std::size_t try_pop(std::span<value_type, Extent> into) {
    if (into.empty()) return 0;
    for (;;) {
      auto const [ready, is_old] = ready_from(next_pop_, into.size());
      if (is_old) {
        word const found = count(head().load(std::memory_order_relaxed));  // relaxed: as in try_push
        if (found == next_pop_.ticket) return 0;
        next_pop_ = place_of(found);
        continue;
      }
      if (ready == 0) return 0;
      if constexpr (Takers == takers::any) {
        word expected = head_word(next_pop_.ticket);
        if (!head().compare_exchange(expected, head_word(next_pop_.ticket + ready),
                                     std::memory_order_relaxed)) {  // relaxed: as in try_push
          next_pop_ = place_of(count(expected));
          continue;
        }
      }
      place const first = next_pop_;
      next_pop_ = behind(next_pop_, ready);
      if constexpr (Extent == 1) {
        take(first, into);
      } else {
        take(first, into.first(ready));
      }
      return ready;
    }
  }

  /// Returns true when there may be room, and false if the queue is closed.
  bool wait_for_room(time_point deadline) {
    word const found = tail().load(std::memory_order_relaxed);  // relaxed: as in try_push
    if (is_closed(found)) return false;
    next_push_ = place_of(count(found));
    waiting_for const why{.operation = "push",
                          .awaited = Takers == takers::one ? group(&home_, 1) : group(others_),
                          .deadline = deadline};
    std::array both{head(), tail()};
    words_.wait_any(
        std::span<typename decltype(both)::value_type>(both),
        [ticket = next_push_.ticket, capacity = this->capacity()](word seen) {
          return is_of_head(seen) ? count(seen) + capacity > ticket : is_closed(seen);
        },
        why);
    if (is_closed(tail().load(std::memory_order_relaxed))) return false;
    if constexpr (Takers == takers::any)
      words_.wait_until(
          turn(next_push_), [least = next_push_.free_turn()](word seen) { return seen >= least; }, why);
    return true;
  }

  /// Returns true when there may be an element, and false if the queue is closed and has none.
  bool wait_for_element(time_point deadline) {
    if constexpr (Takers == takers::any) next_pop_ = place_of(count(head().load(std::memory_order_relaxed)));
    // acquire: pairs with the release in close(), whose rank may have written what is read next. release:
    // pairs with the acquire in close(), whose rank then finds the elements before this ticket taken.
    word const found = tail().fetch_add(0, std::memory_order_acq_rel);
    if (is_closed(found) && count(found) <= next_pop_.ticket) return false;
    word const seen =
        words_.wait_until(turn(next_pop_), [least = next_pop_.full_turn()](word now) { return now >= least; },
                          {.operation = "pop", .awaited = others_, .deadline = deadline});
    return (seen & last_turn) == 0;
  }

  void close() {
    word found = tail().load(std::memory_order_relaxed);
    // release: pairs with the acquire in wait_for_element(), also by way of the turn below. acquire: pairs
    // with the release there.
    do {
      if (is_closed(found)) return;
    } while (!tail().compare_exchange(found, found | closed_bit, std::memory_order_acq_rel));
    place const end = place_of(count(found));
    // acquire: pairs with the release in mark_free(); the cell of the one taker has then been read. Else the
    // turn says that.
    word const taken =
        count(head().load(Takers == takers::one ? std::memory_order_acquire : std::memory_order_relaxed));
    if (taken + capacity() <= end.ticket) return;
    if constexpr (Takers == takers::any) {
      words_.wait_until(turn(end), [free = end.free_turn()](word seen) { return seen == free; },
                        {.operation = "close", .awaited = others_});
    }
    // release: pairs with the acquire of the wait in wait_for_element().
    turn(end).reset_unshared(end.full_turn() | last_turn, std::memory_order_release);
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
  static constexpr word last_turn = word{1} << 63U;  ///< in the turn of a ticket that nobody will get

  /// A ticket with its cell, so that a step to the next one needs no division.
  struct place {
    word ticket = 0;
    std::size_t cell = 0;
    word lap = 0;

    [[nodiscard]] word free_turn() const noexcept { return 2 * lap; }
    [[nodiscard]] word full_turn() const noexcept { return 2 * lap + 1; }
  };
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

  [[nodiscard]] place place_of(word ticket) const noexcept {
    return {ticket, cells_.remainder(ticket), cells_.quotient(ticket)};
  }
  /// The place n tickets further, at most one lap.
  [[nodiscard]] place behind(place p, std::size_t n) const noexcept {
    p.ticket += n;
    p.cell += n;
    if (p.cell >= capacity()) {
      p.cell -= capacity();
      ++p.lap;
    }
    return p;
  }
  [[nodiscard]] auto tail() { return words_.cell(home_, 0); }
  [[nodiscard]] auto head() { return words_.cell(home_, 1); }
  [[nodiscard]] auto turn(place const& p) {
    return words_.cell(owner_of(p.cell), ring_places::first_turn + index_of(p.cell));
  }
  [[nodiscard]] rank_t owner_of(std::size_t cell) const noexcept {
    return is_dealt_ ? static_cast<rank_t>(owners_.remainder(cell)) : home_;
  }
  [[nodiscard]] std::size_t index_of(std::size_t cell) const noexcept {
    return is_dealt_ ? owners_.quotient(cell) : cell;
  }

  [[nodiscard]] found_cells room_from(place const& first, std::size_t most) {
    most = std::min(most, capacity());
    if constexpr (Takers == takers::one) {
      if (first.ticket < known_head_) return {.is_old = true};
      if (first.ticket + most - known_head_ > capacity()) {
        // acquire: pairs with the release in mark_free(), after which the taker reads the cells no more.
        known_head_ = count(head().load(std::memory_order_acquire));
        if (first.ticket < known_head_) return {.is_old = true};
      }
      return {std::min(most, capacity() - std::min<std::size_t>(capacity(), first.ticket - known_head_))};
    } else {
      return turns_from(first, most, 0);
    }
  }
  [[nodiscard]] found_cells ready_from(place const& first, std::size_t most) {
    return turns_from(first, std::min(most, capacity()), 1);
  }
  /// Looks for cells whose turn is that of their ticket, or one more.
  [[nodiscard]] found_cells turns_from(place p, std::size_t most, word more) {
    word const first = turn_of(p);
    if (first != p.free_turn() + more) return {.is_old = first > p.free_turn() + more};
    std::size_t n = 1;
    for (; n < most; ++n) {
      p = behind(p, 1);
      if (turn_of(p) != p.free_turn() + more) break;
    }
    return {n};
  }
  [[nodiscard]] word turn_of(place const& p) {
    // acquire: pairs with the release in mark_free(), whose rank has read the cell, or in mark_full(), whose
    // rank has put the element.
    return turn(p).load(std::memory_order_acquire);
  }

  /// Calls use(rank, index in its part, first value, number) for each run of adjacent cells.
  template <class Use>
  void for_each_run(place const& first, std::size_t number, Use const& use) {
    std::size_t cell = first.cell;
    for (std::size_t done = 0; done < number;) {
      std::size_t const run = is_dealt_ ? 1 : std::min(number - done, capacity() - cell);
      use(owner_of(cell), index_of(cell), done, run);
      done += run;
      cell = cell + run == capacity() ? 0 : cell + run;
    }
  }

  template <std::size_t Extent>
  void fill(place const& first, std::span<value_type const, Extent> values) {
    if constexpr (Extent == 1) {
      memory_.put(owner_of(first.cell), index_of(first.cell), values);
    } else {
      for_each_run(first, values.size(), [&](rank_t rank, std::size_t at, std::size_t from, std::size_t n) {
        memory_.put(rank, at, values.subspan(from, n));
      });
    }
    arrive(first, values.size());
    mark_full(first, values.size());
  }
  void arrive(place p, std::size_t number) {
    if (!is_dealt_) return memory_.arrive(home_);
    if (number < owners_.value()) {
      for (std::size_t i = 0; i < number; ++i, p = behind(p, 1)) memory_.arrive(owner_of(p.cell));
    } else {
      for (std::size_t rank = 0; rank < owners_.value(); ++rank) memory_.arrive(static_cast<rank_t>(rank));
    }
  }
  void mark_full(place p, std::size_t number) {
    for (std::size_t i = 0; i < number; ++i, p = behind(p, 1)) {
      // release: pairs with the acquire in turn_of() and in wait_for_element() of the rank that takes. No
      // other rank may modify the word, since this one has the ticket.
      turn(p).reset_unshared(p.full_turn(), std::memory_order_release);
    }
  }

  template <std::size_t Extent>
  void take(place const& first, std::span<value_type, Extent> into) {
    if constexpr (Extent == 1) {
      memory_.get(owner_of(first.cell), index_of(first.cell), into);
    } else {
      for_each_run(first, into.size(), [&](rank_t rank, std::size_t at, std::size_t from, std::size_t n) {
        memory_.get(rank, at, into.subspan(from, n));
      });
    }
    mark_free(first, into.size());
  }
  void mark_free(place p, std::size_t number) {
    if constexpr (Takers == takers::one) {
      // release: pairs with the acquire in room_from() and close(), and of the wait in wait_for_room().
      head().reset_unshared(head_word(p.ticket + number), std::memory_order_release);
    } else {
      for (std::size_t i = 0; i < number; ++i, p = behind(p, 1)) {
        // release: pairs with the acquire in turn_of() and in wait_for_room() of the rank that pushes into
        // the next lap, and in close().
        turn(p).reset_unshared(p.free_turn() + 2, std::memory_order_release);
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
  place next_push_;      ///< the ticket with which this rank begins: right, or of another rank
  place next_pop_;       ///< the same for `head`; exact at the one taker
  word known_head_ = 0;  ///< `head` at most, as this rank has last seen it
};

}  // namespace PGAS_NAMESPACE::detail
