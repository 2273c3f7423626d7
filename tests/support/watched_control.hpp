// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/concepts/protocol.hpp>
#include <vector>

namespace pgas_test {

/// The word of an access, and the rank that makes it.
struct word_access {
  pgas::rank_t by;
  pgas::rank_t owner;
  std::size_t index;  ///< among the owner's slots, or among its cells
};

/// Performs each access as asked. A watcher derives from it and overrides the accesses that it observes or
/// falsifies.
struct watcher {
  template <class Word>
  pgas::word load(Word const& w, word_access, std::memory_order order) {
    return w.load(order);
  }
  template <class Slot>
  void store(Slot const& s, word_access, pgas::word value, std::memory_order order) {
    s.store(value, order);
  }
  template <class Cell>
  pgas::word fetch_add(Cell const& c, word_access, pgas::word value, std::memory_order order) {
    return c.fetch_add(value, order);
  }
  template <class Cell>
  pgas::word fetch_xor(Cell const& c, word_access, pgas::word value, std::memory_order order) {
    return c.fetch_xor(value, order);
  }
  template <class Cell>
  pgas::word exchange(Cell const& c, word_access, pgas::word value, std::memory_order order) {
    return c.exchange(value, order);
  }
  template <class Cell>
  bool compare_exchange(Cell const& c, word_access, pgas::word& expected, pgas::word desired,
                        std::memory_order order) {
    return c.compare_exchange(expected, desired, order);
  }
  template <class Cell>
  void reset_unshared(Cell const& c, word_access, pgas::word value, std::memory_order order) {
    c.reset_unshared(value, order);
  }
};

/// A control with the words of another one, whose accesses go through a watcher. The watcher counts them,
/// times them, or makes a wrong protocol of a right one. Waiting stays that of the other control.
template <pgas::control Control, class Watcher>
class watched_control {
  using inner_slot = decltype(std::declval<Control&>().slot(0, 0, 0));
  using inner_cell = decltype(std::declval<Control&>().cell(0, 0));

 public:
  static constexpr pgas::rmw read_modify_write = Control::read_modify_write;
  static constexpr bool can_park = Control::can_park;

  struct slot_type {
    inner_slot inner;
    Watcher* watches;
    word_access at;
    [[nodiscard]] pgas::word load(std::memory_order order) const { return watches->load(inner, at, order); }
    void store(pgas::word value, std::memory_order order) const { watches->store(inner, at, value, order); }
  };
  struct cell_type : pgas::detail::refuses_store {
    cell_type(inner_cell c, Watcher* w, word_access a) : inner(c), watches(w), at(a) {}
    inner_cell inner;
    Watcher* watches;
    word_access at;
    [[nodiscard]] pgas::word load(std::memory_order order) const { return watches->load(inner, at, order); }
    pgas::word fetch_add(pgas::word v, std::memory_order o) const {
      return watches->fetch_add(inner, at, v, o);
    }
    pgas::word fetch_xor(pgas::word v, std::memory_order o) const {
      return watches->fetch_xor(inner, at, v, o);
    }
    pgas::word exchange(pgas::word v, std::memory_order o) const {
      return watches->exchange(inner, at, v, o);
    }
    bool compare_exchange(pgas::word& expected, pgas::word desired, std::memory_order o) const {
      return watches->compare_exchange(inner, at, expected, desired, o);
    }
    void reset_unshared(pgas::word v, std::memory_order o) const { watches->reset_unshared(inner, at, v, o); }
  };

  watched_control(Control& inner, Watcher& watches) : inner_(&inner), watches_(&watches) {}

  [[nodiscard]] pgas::rank_t rank() const noexcept { return inner_->rank(); }
  [[nodiscard]] pgas::rank_t size() const noexcept { return inner_->size(); }
  slot_type slot(pgas::rank_t owner, std::size_t i, pgas::rank_t writer) {
    return {inner_->slot(owner, i, writer), watches_, {rank(), owner, i}};
  }
  cell_type cell(pgas::rank_t owner, std::size_t i) {
    return {inner_->cell(owner, i), watches_, {rank(), owner, i}};
  }

  template <class Word, std::predicate<pgas::word> Predicate>
  pgas::word wait_until(Word w, Predicate&& predicate, pgas::waiting_for const& why) {
    return inner_->wait_until(w.inner, predicate, why);
  }
  template <class Word, std::predicate<pgas::word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, pgas::waiting_for const& why) {
    std::vector<decltype(words[0].inner)> inner;
    for (auto const& w : words) inner.push_back(w.inner);
    return inner_->wait_any(std::span(inner), predicate, why);
  }
  void pause(unsigned attempt, pgas::waiting_for const& why) { inner_->pause(attempt, why); }

 private:
  Control* inner_;
  Watcher* watches_;
};
static_assert(pgas::control<watched_control<pgas::detail::control_archetype, watcher>>);

}  // namespace pgas_test
