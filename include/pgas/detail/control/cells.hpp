// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <cstddef>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/processor/prefetch_to_write.hpp>
#include <pgas/detail/text/text.hpp>
#include <pgas/vocabulary/error.hpp>
#include <string>
#include <string_view>

namespace PGAS_NAMESPACE::detail {

/// Throws errc::out_of_range unless `owner` is one of `ranks` ranks and has a control word `i` of `count`.
/// `self` is this rank's number in the job, and `label` names the words' window or team.
inline void check_word(rank_t self, called operation, rank_t owner, rank_t ranks, std::size_t i,
                       std::size_t count, std::string const& label) {
  if (owner < 0 || owner >= ranks) throw_bad_rank(self, operation, owner, ranks);
  if (i >= count) {
    throw error(
        errc::out_of_range, self, operation,
        text_of({"word ", i, " of rank ", owner, " (", label, ") does not exist, there are ", count}));
  }
}

/// One look of a wait for any of these words. Returns whether the predicate holds for one; `found` is the
/// first.
///
/// acquire: pairs with the release of the rank that changes the word.
template <class Word, class Predicate>
bool look_at_all(std::span<Word> words, Predicate& predicate, std::size_t& found) {
  for (found = 0; found < words.size(); ++found) {
    if (predicate(words[found].load(std::memory_order_acquire))) return true;
  }
  return false;
}

/// The read-modify-writes of a control cell whose memory has only one: Cell's update(change, order).
///
/// `update` replaces the value by change(value) in one step, and returns the old value. It stores nothing if
/// the value stays the same, so a compare_exchange that fails disturbs no rank that waits for the word.
template <class Cell>
struct updated_cell : refuses_store {
  word fetch_add(word value, std::memory_order order) const {
    return this_cell().update([value](word old) { return old + value; }, order);
  }
  word fetch_xor(word value, std::memory_order order) const {
    return this_cell().update([value](word old) { return old ^ value; }, order);
  }
  word exchange(word value, std::memory_order order) const {
    return this_cell().update([value](word) { return value; }, order);
  }
  bool compare_exchange(word& expected, word desired, std::memory_order order) const {
    word const wanted = expected;
    expected = this_cell().update([=](word old) { return old == wanted ? desired : old; }, order);
    return expected == wanted;
  }

 private:
  [[nodiscard]] Cell const& this_cell() const noexcept { return static_cast<Cell const&>(*this); }
};

/// Asks for the line of a control word that this rank will change when its next wait ends.
///
/// A change of a word takes its line from the rank that looked at it last, and then that rank fetches it
/// again. Both ways follow each other. A rank that asks while it waits has gone the first way when the wait
/// ends. Do not ask for a word at which its owner looks all the time: the owner takes the line back.
/// Does nothing for words that are not in shared memory.
template <class Word>
[[gnu::always_inline]] inline void will_change([[maybe_unused]] Word const& w) noexcept {
  if constexpr (requires {
                  { w.address() } -> std::same_as<word*>;
                }) {
    prefetch_to_write(w.address());
  }
}

/// Asks for the line of a word that this rank changes after the wait that comes now. Not where ranks share
/// cores: others run before the wait ends, and take the line back.
template <control Control, class Word>
[[gnu::always_inline]] inline void will_change_after_wait(Control const& c, Word const& w) noexcept {
  if (most_at_once(c) == c.size()) will_change(w);
}

/// Stores to a slot, and asks for its line at once to write it. The store itself asks for the line only when
/// all before it has ended.
template <control_slot Slot>
[[gnu::always_inline]] inline void store_now(Slot const& slot, word value, std::memory_order order) {
  will_change(slot);
  slot.store(value, order);
}

}  // namespace PGAS_NAMESPACE::detail
