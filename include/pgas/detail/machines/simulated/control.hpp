// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <concepts>
#include <pgas/detail/machines/control.hpp>
#include <pgas/detail/machines/simulated/machine.hpp>

namespace PGAS_NAMESPACE::detail {

/// Control words in their owners' memory. A store to another rank's word is a message; a load and a
/// read-modify-write are a way there and back.
///
/// All ranks are fibers of one thread, so words are plain integers. The machine keeps a rank's stores in
/// order, and any other operation takes place before its rank proceeds. So only relaxed order differs from
/// the others. Memory: eight bytes a word.
class simulated_control
    : public emulation::control_on<simulated_control, simulated::machine, simulated::home_words> {
  friend control_on;

  class word_at : public emulation::accessed_word<simulated::machine, word> {
   public:
    using accessed_word::accessed_word;

    [[nodiscard]] word load(std::memory_order order) const {
      return machine_->load(self_, owner_, at_, order);
    }
    [[nodiscard]] simulated::watch watched() const noexcept { return {.at = at_, .owner = owner_}; }

   protected:
    void put(word value, std::memory_order order) const {
      machine_->store(self_, owner_, at_, value, order != std::memory_order_relaxed);
    }
  };

 public:
  using slot_type = emulation::slot_at<word_at>;
  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order order) const { put(value, order); }
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
      : control_on(std::move(m), std::move(home), std::move(ranks), label) {
    machine_->of(self()).hold(&pgas::simulated::held::control, bytes());
  }
  simulated_control(simulated_control&&) noexcept = default;
  simulated_control& operator=(simulated_control&&) noexcept = default;
  ~simulated_control() {
    if (!home_) return;
    machine_->of(self()).give_up(&pgas::simulated::held::control, bytes());
    machine_->leave(self(), std::move(home_));
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

  [[nodiscard]] std::size_t bytes() const noexcept { return home_->each() * sizeof(word); }
  template <class Predicate>
  seen_word await(std::span<simulated::watch> watches, Predicate& predicate,
                  waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    simulated::wait w{{.why = &why, .label = label_, .ranks = &ranks_}, self(), predicate, watches};
    machine_->await(w);
    return {w.seen, w.found};
  }
};
static_assert(control<simulated_control> && one_way_cell<simulated_control::cell_type> &&
              confirmed_word<simulated_control::cell_type>);

}  // namespace PGAS_NAMESPACE::detail
