// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/containers/ring_places.hpp>
#include <pgas/detail/containers/ticket_ring.hpp>
#include <pgas/detail/numbers/divisor.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// A bounded queue in memory that all ranks reach by loads and stores: a ring of cells, each of which has its
/// turn beside its element.
///
/// Words     of the home: `tail`, the tickets that were given to pushing ranks, and a bit that says that the
///           queue is closed; `head`, those given to taking ranks. In each cell: its `turn`, which is no
///           control word.
/// States    Ticket t belongs to cell t mod cells. The turn of a cell goes through
///
///             2 t             it is free for the rank that has ticket t of `tail`; that rank alone writes it
///             2 t + 1         it is full; the rank that has ticket t of `head` alone reads it
///             2 (t + cells)   it is free for ticket t + cells, the next one of the cell
///
/// push      find the turn of cell t free (acquire); move tail from t to t + 1 by a compare_exchange; write
///           the element; set the turn to full (release).
/// pop       find the turn full (acquire); move head from h to h + 1; read; set the turn to free (release).
/// One taker needs neither the second compare_exchange nor free turns: `head` is a word that the taker stores
///           after it has read an element (release). A pushing rank compares its ticket with it (acquire),
///           and remembers it: it loads `head` again only when the ring seems full.
/// Waits     A rank looks at the turn for a while. Then a taking rank waits until `tail` has passed its
///           ticket or is closed. A pushing rank waits until `head` has passed the ticket of the lap before,
///           or `tail` is closed. The rank then looks at the turn until the other rank has left the cell,
///           which takes as long as a copy of the elements. A rank that pushes to an inbox needs no look at
///           a turn, since `head` passes a ticket after the copy.
/// close     sets a bit in `tail` by a compare_exchange. The number of tickets beside it is final, since a
///           compare_exchange of a pushing rank fails from then on. A rank whose ticket of `head` is that
///           number or greater has nothing to wait for.
/// Source    the bounded queue of Vyukov 2010 (1024cores.net). Ours differs. Turns count by twos, so that a
///           ring of one cell works. A rank begins with the ticket that it remembers, since a
///           compare_exchange that fails tells the right one. A queue can be closed, ranks can sleep, and one
///           taker is cheaper. ticket_ring, for memory that is cached or far, has turns apart from elements
///           and lets ranks sleep on turns; here ranks sleep on tickets, so that a turn needs no bell.
/// Costs     push: a load, a compare_exchange and two stores, on the lines of `tail` and of the cell. pop: a
///           load, a compare_exchange, a load and a store, on those of `head` and of the cell. For one taker,
///           nothing is a read-modify-write.
/// Memory    a word a cell, and two control words.
template <class Control, class Cells, takers Takers>
class packed_ring {
  using cell_type = decltype(std::declval<Control&>().cell(rank_t{}, std::size_t{}));

 public:
  using value_type = typename Cells::value_type;

  packed_ring(Control words, Cells memory, ring_places const& places)
      : words_(std::move(words)),
        memory_(std::move(memory)),
        home_(places.home),
        cells_(places.cells),
        tail_(words_.cell(home_, 0)),
        head_(words_.cell(home_, 1)) {
    if (words_.rank() == home_) {
      // relaxed: the container is made by all ranks together, and they learn of it by their handshake. `head`
      // is told from `tail` by its lowest bit.
      head_.reset_unshared(head_word(0), std::memory_order_relaxed);
      for (std::size_t i = 1; i < capacity(); ++i)
        memory_.cell(i).store_turn(free_turn(i), std::memory_order_relaxed);
    }
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
  template <std::size_t Extent>
  std::size_t try_push(std::span<value_type const, Extent> values) {
    if (values.empty()) return 0;
    for (;;) {
      place const first = next_push_;
      auto const cell = memory_.cell(first.cell);
      auto const [room, is_old] = room_from(first, cell, values.size());
      if (is_old) [[unlikely]] {
        // relaxed: a ticket is a number, and turns order the elements.
        word const found = tail_.load(std::memory_order_relaxed);
        if (is_closed(found) || count(found) == first.ticket) return 0;
        next_push_ = place_of(count(found));
        continue;
      }
      if (room == 0) return 0;
      word expected = tail_word(first.ticket);
      if (tail_.compare_exchange(expected, tail_word(first.ticket + room),
                                 std::memory_order_relaxed)) {  // relaxed: as above
        next_push_ = for_each_cell(first, cell, room, [&](auto const& at, word ticket, std::size_t i) {
          at.write(values[i]);
          // release: pairs with the acquire in turn_of() of the rank that takes.
          at.store_turn(full_turn(ticket), std::memory_order_release);
        });
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
      place const first = next_pop_;
      auto const cell = memory_.cell(first.cell);
      auto const [ready, is_old] = turns_from(first, cell, into.size(), 1);
      if (is_old) [[unlikely]] {
        word const found = count(head_.load(std::memory_order_relaxed));  // relaxed: as in try_push
        if (found == first.ticket) return 0;
        next_pop_ = place_of(found);
        continue;
      }
      if (ready == 0) return 0;
      if constexpr (Takers == takers::any) {
        word expected = head_word(first.ticket);
        if (!head_.compare_exchange(expected, head_word(first.ticket + ready),
                                    std::memory_order_relaxed)) {  // relaxed: as in try_push
          next_pop_ = place_of(count(expected));
          continue;
        }
      }
      next_pop_ = for_each_cell(first, cell, ready, [&](auto const& at, word ticket, std::size_t i) {
        at.read(into[i]);
        // release: pairs with the acquire in turn_of() of the rank that pushes into the cell next.
        if constexpr (Takers == takers::any)
          at.store_turn(free_turn(ticket + capacity()), std::memory_order_release);
      });
      if constexpr (Takers == takers::one) mark_free(next_pop_.ticket);
      return ready;
    }
  }

  /// Returns true when there may be room, and false if the queue is closed. Waits are not inlined, so that
  /// the operations that need none save no registers for them.
  [[gnu::noinline]] bool wait_for_room(time_point deadline) {
    word const found = tail_.load(std::memory_order_relaxed);  // relaxed: as in try_push
    if (is_closed(found)) return false;
    next_push_ = place_of(count(found));
    if (Takers == takers::any && has_come(next_push_, free_turn(next_push_.ticket))) return true;
    std::array both{head_, tail_};
    words_.wait_any(std::span<cell_type>(both),
                    [ticket = next_push_.ticket, capacity = this->capacity()](word seen) {
                      return is_of_head(seen) ? count(seen) + capacity > ticket : is_closed(seen);
                    },
                    {.operation = "push",
                     .awaited = Takers == takers::one ? group(&home_, 1) : group(others_),
                     .deadline = deadline});
    if (is_closed(tail_.load(std::memory_order_relaxed))) return false;
    if constexpr (Takers == takers::any) look_until(next_push_, free_turn(next_push_.ticket), "push");
    return true;
  }

  /// Returns true when there may be an element, and false if the queue is closed and has none.
  [[gnu::noinline]] bool wait_for_element(time_point deadline) {
    if constexpr (Takers == takers::any) next_pop_ = place_of(count(head_.load(std::memory_order_relaxed)));
    if (has_come(next_pop_, full_turn(next_pop_.ticket))) return true;
    // The wait acquires by its contract, which pairs with the release in close(): the rank that closed the
    // queue may have written what is read next.
    word const seen = words_.wait_until(
        tail_, [ticket = next_pop_.ticket](word now) { return is_closed(now) || count(now) > ticket; },
        {.operation = "pop", .awaited = others_, .deadline = deadline});
    if (count(seen) <= next_pop_.ticket) return false;
    look_until(next_pop_, full_turn(next_pop_.ticket), "pop");
    return true;
  }

  void close() {
    word found = tail_.load(std::memory_order_relaxed);
    // release: pairs with the acquire in is_closed() and of the wait in wait_for_element().
    do {
      if (is_closed(found)) return;
    } while (!tail_.compare_exchange(found, found | closed_bit, std::memory_order_release));
  }
  [[nodiscard]] bool is_closed() {
    return is_closed(tail_.load(std::memory_order_acquire));  // acquire: pairs with the release in close()
  }
  /// The tickets that were given for `tail` and not for `head`.
  [[nodiscard]] std::size_t size() {
    word const first = count(head_.load(std::memory_order_relaxed));  // relaxed: a number, as in try_push
    word const last = count(tail_.load(std::memory_order_relaxed));
    return std::min<std::size_t>(last < first ? 0 : last - first, capacity());
  }

 private:
  static constexpr word closed_bit = 2;

  /// A ticket with its cell, so that a step to the next one needs no division.
  struct place {
    word ticket = 0;
    std::size_t cell = 0;
  };
  /// The adjacent cells that were found free, or full. `is_old`: the first ticket belongs to another rank.
  struct found_cells {
    std::size_t number = 0;
    bool is_old = false;
  };

  static constexpr word free_turn(word ticket) noexcept { return 2 * ticket; }
  static constexpr word full_turn(word ticket) noexcept { return 2 * ticket + 1; }
  static constexpr word tail_word(word tickets) noexcept { return tickets << 2U; }
  static constexpr word head_word(word tickets) noexcept { return tickets << 2U | 1U; }
  static constexpr bool is_of_head(word w) noexcept { return (w & 1U) != 0; }
  static constexpr bool is_closed(word w) noexcept { return (w & closed_bit) != 0; }
  static constexpr word count(word w) noexcept { return w >> 2U; }

  [[nodiscard]] place place_of(word ticket) const noexcept { return {ticket, cells_.remainder(ticket)}; }
  [[nodiscard]] place behind(place const& p) const noexcept {
    return {p.ticket + 1, p.cell + 1 == capacity() ? 0 : p.cell + 1};
  }
  /// Calls use(cell, ticket, i) for the cells from p on, of which `cell` is the first, and returns the place
  /// after them.
  template <class Cell, class Use>
  place for_each_cell(place p, Cell const& cell, std::size_t number, Use const& use) const {
    use(cell, p.ticket, 0);
    p = behind(p);
    for (std::size_t i = 1; i < number; ++i, p = behind(p)) use(memory_.cell(p.cell), p.ticket, i);
    return p;
  }

  template <class Cell>
  [[nodiscard]] found_cells room_from(place const& first, Cell const& cell, std::size_t most) {
    if constexpr (Takers == takers::one) {
      if (first.ticket < known_head_) return {.is_old = true};
      if (first.ticket + most - known_head_ > capacity()) {
        // acquire: pairs with the release in mark_free(), after which the taker reads the cells no more.
        known_head_ = count(head_.load(std::memory_order_acquire));
        if (first.ticket < known_head_) return {.is_old = true};
      }
      return {std::min(most, capacity() - std::min<std::size_t>(capacity(), first.ticket - known_head_))};
    } else {
      return turns_from(first, cell, most, 0);
    }
  }
  /// Looks for cells whose turn is that of their ticket, or one more: at most once round the ring, since a
  /// cell never has the turns of two tickets.
  template <class Cell>
  [[nodiscard]] found_cells turns_from(place p, Cell const& cell, std::size_t most, word more) const {
    word const wanted = free_turn(p.ticket) + more;
    if (word const first = turn_of(cell); first != wanted) return {.is_old = first > wanted};
    std::size_t n = 1;
    for (; n < most; ++n) {
      p = behind(p);
      if (turn_of(memory_.cell(p.cell)) != free_turn(p.ticket) + more) break;
    }
    return {n};
  }
  template <class Cell>
  [[nodiscard]] static word turn_of(Cell const& cell) {
    // acquire: pairs with the release in try_pop(), whose rank has read the cell, or in try_push(), whose
    // rank has written the element.
    return cell.load_turn(std::memory_order_acquire);
  }
  /// Polls for a while whether a cell has a turn. Other ranks need the lines of `tail` and `head` for each
  /// element, so a rank that waits in a stream of elements polls a cell.
  [[nodiscard]] bool has_come(place const& p, word least) const {
    auto const cell = memory_.cell(p.cell);
    for (int look = 0; look < Cells::looks; ++look) {
      if (turn_of(cell) >= least) return true;
    }
    return false;
  }
  /// Returns when a cell has a turn. Another rank has the ticket for the previous turn, and is about to set
  /// it.
  void look_until(place const& p, word least, std::string_view operation) {
    for (unsigned attempt = 0; turn_of(memory_.cell(p.cell)) < least; ++attempt)
      words_.pause(attempt, {.operation = operation, .awaited = others_});
  }
  void mark_free(word tickets) {
    // release: pairs with the acquire in room_from(), and of the wait in wait_for_room().
    head_.reset_unshared(head_word(tickets), std::memory_order_release);
  }

  Control words_;
  Cells memory_;
  rank_t home_;
  divisor cells_;
  cell_type tail_;
  cell_type head_;
  std::vector<rank_t> others_;
  place next_push_;      ///< the ticket with which this rank begins: right, or of another rank
  place next_pop_;       ///< the same for `head`; exact at the one taker
  word known_head_ = 0;  ///< `head` at most, as this rank has last seen it
};

}  // namespace PGAS_NAMESPACE::detail
