// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <pgas/detail/machines/control.hpp>
#include <pgas/detail/machines/tile/machine.hpp>
#include <vector>

namespace PGAS_NAMESPACE::detail {

/// Control words in memory that the machine keeps coherent. An access is an instruction of costs::word
/// cycles; a wait sleeps until another core changes its word, and handles messages meanwhile.
class tile_control
    : public emulation::control_on<tile_control, tile_machine::machine, tile_machine::home_words> {
  friend control_on;

  /// The orders need nothing: the cores run one at a time, in order.
  class word_at : public emulation::accessed_word<tile_machine::machine, emulation::shared_word> {
   public:
    using accessed_word::accessed_word;

    [[nodiscard]] word load(std::memory_order) const {
      machine_->access(self_);
      return at_->value;
    }

   protected:
    void put(word value, std::memory_order) const {
      machine_->access(self_);
      set(value);
    }
    void set(word value) const noexcept {
      at_->value = value;
      machine_->turns().wake(std::exchange(at_->waiting, 0));
    }
  };

 public:
  using slot_type = emulation::slot_at<word_at>;
  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order order) const { put(value, order); }
    template <class Change>
    word update(Change const& change, std::memory_order) const {
      machine_->access(self_);
      word const old = at_->value;
      if (word const changed = change(old); changed != old) set(changed);
      return old;
    }
  };

  using control_on::control_on;

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    emulation::waiters* const waiting = &w.home().waiting;
    word seen = w.load(std::memory_order_acquire);
    machine_->wait(
        self(), std::span(&waiting, 1), [&] { return predicate(seen = w.home().value); }, why, label_,
        ranks_);
    return seen;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    std::vector<emulation::waiters*> waiting;
    for (Word const& w : words) {
      static_cast<void>(w.load(std::memory_order_acquire));
      waiting.push_back(&w.home().waiting);
    }
    std::size_t found = 0;
    auto const look = [&] {
      for (found = 0; found < words.size(); ++found) {
        if (predicate(words[found].home().value)) return true;
      }
      return false;
    };
    machine_->wait(self(), waiting, look, why, label_, ranks_);
    return found;
  }

  void pause(unsigned attempt, waiting_for const& why) const {
    machine_->begin(self());
    machine_->serve(self());
    machine_->turns().pause(attempt, why);
  }
};
static_assert(control<tile_control>);

}  // namespace PGAS_NAMESPACE::detail
