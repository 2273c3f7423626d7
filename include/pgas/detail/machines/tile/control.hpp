// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <memory>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/machines/tile/machine.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Control words in memory that the machine keeps coherent. An access is an instruction of costs::word
/// cycles; a wait sleeps until another core changes its word, and handles messages meanwhile.
class tile_control : public control_of_locks {
  /// One word, as one core accesses it. The orders need nothing: the cores run one at a time, in order.
  class word_at {
   public:
    word_at(tile_machine::machine& m, rank_t self, rank_t owner, tile_machine::shared_word& at) noexcept
        : machine_(&m), self_(self), owner_(owner), at_(&at) {}

    [[nodiscard]] word load(std::memory_order) const {
      access();
      return at_->value;
    }
    [[nodiscard]] tile_machine::shared_word& home() const noexcept { return *at_; }

   protected:
    void access() const { machine_->access(self_); }
    void set(word value) const noexcept {
      at_->value = value;
      machine_->turns().wake(std::exchange(at_->waiting, 0));
    }

    tile_machine::machine* machine_;
    rank_t self_;  ///< numbers in the job
    rank_t owner_;
    tile_machine::shared_word* at_;
  };

 public:
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = true;

  class slot_type : public word_at {
   public:
    slot_type(word_at w, rank_t writer) noexcept : word_at(w), writer_(writer) {}
    void store(word value, std::memory_order) const {
      if (self_ != writer_ || (at_->writer != -1 && at_->writer != writer_)) {
        throw error(errc::wrong_order, self_, "store",
                    "only rank " + std::to_string(at_->writer == -1 ? writer_ : at_->writer) +
                        " may store to this slot of rank " + std::to_string(owner_));
      }
      access();
      at_->writer = writer_;
      set(value);
    }

   private:
    rank_t writer_;
  };

  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order) const {
      access();
      set(value);
    }
    template <class Change>
    word update(Change const& change, std::memory_order) const {
      access();
      word const old = at_->value;
      if (word const changed = change(old); changed != old) set(changed);
      return old;
    }
  };

  tile_control(std::shared_ptr<tile_machine::machine> m, std::shared_ptr<tile_machine::home_words> home,
               team_ranks ranks, std::string_view label)
      : machine_(std::move(m)), home_(std::move(home)), ranks_(std::move(ranks)), label_(label) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t writer) const {
    check("slot", owner, i, home_->words.slots);
    return {at(owner, i), ranks_.to_world(writer)};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const {
    check("cell", owner, i, home_->words.cells);
    return cell_type(at(owner, home_->words.slots + i));
  }

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

  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return machine_->turns().locks_of(self()); }
  void pause(unsigned attempt, waiting_for const& why) const {
    machine_->begin(self());
    machine_->serve(self());
    machine_->turns().pause(attempt, why);
  }

 private:
  [[nodiscard]] rank_t self() const noexcept { return ranks_.to_world(ranks_.self()); }
  [[nodiscard]] word_at at(rank_t owner, std::size_t i) const noexcept {
    return {*machine_, self(), ranks_.to_world(owner), home_->at(owner, i)};
  }
  void check(called operation, rank_t owner, std::size_t i, std::size_t count) const {
    check_word(self(), operation, owner, size(), i, count, label_);
  }

  std::shared_ptr<tile_machine::machine> machine_;
  std::shared_ptr<tile_machine::home_words> home_;
  team_ranks ranks_;
  std::string label_;
};
static_assert(control<tile_control>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
