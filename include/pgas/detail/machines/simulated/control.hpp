// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/machines/simulated/machine.hpp>
#include <string>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Control words in their owners' memory. A store to another rank's word is a message; a load and a
/// read-modify-write are a way there and back.
///
/// All ranks are fibers of one thread, so words are plain integers. The machine keeps a rank's stores in
/// order, and any other operation takes place before its rank proceeds. So only relaxed order differs from
/// the others. Memory: eight bytes a word.
class simulated_control : public control_of_locks {
  class word_at {
   public:
    word_at(simulated::machine& m, rank_t self, rank_t owner, word* at) noexcept
        : machine_(&m), self_(self), owner_(owner), at_(at) {}

    [[nodiscard]] word load(std::memory_order order) const {
      return machine_->load(self_, owner_, at_, order);
    }
    [[nodiscard]] simulated::watch watched() const noexcept { return {.at = at_, .owner = owner_}; }

   protected:
    void set(word value, std::memory_order order) const {
      machine_->store(self_, owner_, at_, value, order != std::memory_order_relaxed);
    }

    simulated::machine* machine_;
    rank_t self_;  ///< numbers in the job
    rank_t owner_;
    word* at_;
  };

 public:
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = true;

  class slot_type : public word_at {
   public:
    slot_type(word_at w, rank_t writer) noexcept : word_at(w), writer_(writer) {}
    void store(word value, std::memory_order order) const {
      if (self_ != writer_) {
        throw error(errc::wrong_order, self_, "store",
                    text_of({"only rank ", writer_, " may store to this slot of rank ", owner_}));
      }
      set(value, order);
    }

   private:
    rank_t writer_;
  };

  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order order) const { set(value, order); }
    /// A change that need not be confirmed is a message. Any other one returns when it has taken place:
    /// otherwise locks without a pause between attempts would collide forever, in step.
    [[nodiscard]] cell_type unconfirmed() const noexcept {
      cell_type same = *this;
      same.is_confirmed_ = false;
      return same;
    }
    void add(word value, std::memory_order order) const {
      is_confirmed_ ? static_cast<void>(fetch_add(value, order)) : send(simulated::message::kind::add, value);
    }
    void flip(word value, std::memory_order order) const {
      is_confirmed_ ? static_cast<void>(fetch_xor(value, order))
                    : send(simulated::message::kind::flip, value);
    }
    template <class Change>
    word update(Change const& change, std::memory_order) const {
      word old = 0;
      machine_->modify(self_, owner_, at_, [&] {
        old = *at_;
        *at_ = change(old);
        return *at_ != old;
      });
      return old;
    }

   private:
    void send(simulated::message::kind what, word value) const {
      machine_->change(self_, owner_, at_, value, what);
    }

    bool is_confirmed_ = true;
  };

  simulated_control(std::shared_ptr<simulated::machine> m, std::shared_ptr<simulated::home_words> home,
                    team_ranks ranks, std::string_view label)
      : machine_(std::move(m)), home_(std::move(home)), ranks_(std::move(ranks)), label_(label) {
    machine_->of(self()).hold(&pgas::simulated::held::control, bytes());
  }
  simulated_control(simulated_control&&) noexcept = default;
  simulated_control& operator=(simulated_control&&) noexcept = default;
  ~simulated_control() {
    if (!home_) return;
    machine_->of(self()).give_up(&pgas::simulated::held::control, bytes());
    machine_->leave(self(), std::move(home_));
  }

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
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    std::array<simulated::watch, 1> watches{w.watched()};
    return await(watches, predicate, why).seen;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::vector<simulated::watch> watches;
    watches.reserve(words.size());
    for (Word const& w : words) watches.push_back(w.watched());
    return await(watches, predicate, why).found;
  }
  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return machine_->turns().locks_of(self()); }
  void pause(unsigned attempt, waiting_for const& why) const {
    machine_->turns().failed().check(self(), why.operation);
    machine_->pause(self(), attempt);
    machine_->turns().failed().check(self(), why.operation);
  }

 private:
  struct seen_word {
    word seen;
    std::size_t found;
  };

  [[nodiscard]] rank_t self() const noexcept { return ranks_.to_world(ranks_.self()); }
  [[nodiscard]] std::size_t bytes() const noexcept { return home_->each() * sizeof(word); }
  [[nodiscard]] word_at at(rank_t owner, std::size_t i) const noexcept {
    rank_t const there = ranks_.to_world(owner);
    return {*machine_, self(), there, home_->at(owner, i)};
  }
  void check(called operation, rank_t owner, std::size_t i, std::size_t count) const {
    check_word(self(), operation, owner, size(), i, count, label_);
  }
  template <class Predicate>
  seen_word await(std::span<simulated::watch> watches, Predicate& predicate,
                  waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    simulated::wait w{.self = self(),
                      .why = &why,
                      .label = label_,
                      .ranks = &ranks_,
                      .predicate = predicate,
                      .watches = watches};
    machine_->await(w);
    return {w.seen, w.found};
  }

  std::shared_ptr<simulated::machine> machine_;
  std::shared_ptr<simulated::home_words> home_;
  team_ranks ranks_;
  std::string label_;
};
static_assert(control<simulated_control> && one_way_cell<simulated_control::cell_type> &&
              confirmed_word<simulated_control::cell_type>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
