// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/machines/control.hpp>
#include <pgas/detail/machines/scc/chip.hpp>

namespace PGAS_NAMESPACE::detail {

/// Control words in their owners' memory, accessed past all caches. A read-modify-write holds the
/// test-and-set register of the owner's core. Each access is a scheduling point. Memory: one line for each
/// word.
class scc_control : public emulation::control_on<scc_control, scc::chip, scc::home_words> {
  friend control_on;

  class word_at : public emulation::accessed_word<scc::chip, scc::chip_word> {
   public:
    /// `orders` is false if a rule takes the word's order away.
    word_at(scc::chip& c, rank_t self, rank_t owner, scc::chip_word& at, bool orders) noexcept
        : accessed_word(c, self, owner, at), orders_(orders) {}

    // The chip is in order and has one copy of a word. An order only decides what a rank acquires in the
    // oracle.
    [[nodiscard]] word load(std::memory_order order) const {
      enter(scc::asks::read_word);
      if (order != std::memory_order_relaxed) acquire();
      return at_->value;
    }
    /// Checks once whether a wait may end. Returns the value that ends the wait, or none.
    template <class Predicate>
    [[nodiscard]] std::optional<word> look(Predicate&& predicate, word& seen) const {
      enter(scc::asks::read_word);
      seen = at_->value;
      auto* const oracle = machine_->oracle();
      if (!predicate(seen)) {
        if (oracle != nullptr) oracle->accessed(self_);
        return std::nullopt;
      }
      if (oracle == nullptr || !at_->history || !orders_) return seen;
      if (machine_->time() == nullptr) return oracle->ended_wait(self_, *at_->history, predicate);
      oracle->acquire(self_, at_->history->latest().knowledge);  // the clock says when the core has looked
      return seen;
    }
    /// With a clock: counts further loads whose values are not needed.
    void count_loads(std::uint64_t times) const {
      machine_->at(self_).count().word_accesses += times;
      machine_->time()->count(self_, machine_->words_of(owner_), scc::asks::read_word, times);
    }

   protected:
    void enter(scc::asks what) const {
      ++machine_->at(self_).count().word_accesses;
      machine_->reach(self_, machine_->words_of(owner_), what);
    }
    void enter_register(scc::asks what) const {
      ++machine_->at(self_).count().word_accesses;
      machine_->reach(self_, scc::station::registers_of(owner_), what);
    }
    void acquire() const {
      if (auto* const oracle = machine_->oracle(); oracle != nullptr && at_->history && orders_)
        oracle->acquire(self_, at_->history->latest().knowledge);
    }
    void put(word value, std::memory_order order) const {
      enter(scc::asks::write_word);
      set(value, order != std::memory_order_relaxed);
    }
    void set(word value, bool releases) const {
      if (auto* const oracle = machine_->oracle()) {
        if (!at_->history) at_->history = std::make_unique<scc::word_history>();
        oracle->stored(self_, *at_->history, value, releases && orders_);
      }
      at_->value = value;
      machine_->turns().wake(std::exchange(at_->waiting, 0));
      machine_->stored(self_);
    }

    bool orders_;
  };

 public:
  static constexpr rmw read_modify_write = rmw::test_and_set;
  using slot_type = emulation::slot_at<word_at>;
  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order order) const { put(value, order); }
    template <class Change>
    word update(Change const& change, std::memory_order order) const {
      auto& lock = machine_->register_of(owner_);
      auto& spins = machine_->at(self_).count().register_spins;
      enter_register(scc::asks::read_word);
      if (machine_->time() != nullptr) {
        for (; lock.taken; enter_register(scc::asks::read_word)) ++spins;  // each read travels over the mesh
      } else if (lock.taken) {
        scc::waiters* const waiting = &lock.waiting;
        waiting_for const why{.operation = "test-and-set register"};
        team_ranks const nobody(0, 0);
        machine_->turns().wait(
            std::span(&waiting, 1), [&] { return ++spins, !lock.taken; }, why, "control words", nobody);
      }
      lock.taken = true;
      enter(scc::asks::read_word);
      word const old = at_->value;
      bool const acquires = order != std::memory_order_relaxed && order != std::memory_order_release;
      bool const releases = order != std::memory_order_relaxed && order != std::memory_order_acquire;
      if (acquires) acquire();
      word const changed = change(old);
      if (changed != old || machine_->time() == nullptr) enter(scc::asks::write_word);
      // A change to the same value stores nothing: the word's holder may have reset it meanwhile.
      if (changed != old) set(changed, releases);
      enter_register(scc::asks::write_word);
      lock.taken = false;
      machine_->turns().wake(std::exchange(lock.waiting, 0));
      return old;
    }
  };

  scc_control(std::shared_ptr<scc::chip> c, std::shared_ptr<scc::home_words> home, team_ranks ranks,
              std::string_view label)
      : control_on(std::move(c), std::move(home), std::move(ranks), label) {
    if (auto const* const oracle = machine_->oracle()) rule_ = oracle->rules().words;
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    scc::waiters* const waiting = &w.home().waiting;
    word seen = 0;
    std::optional<word> taken;
    auto const look = [&] {
      serve();
      return (taken = w.look(predicate, seen)).has_value();
    };
    while (!look()) {
      if (machine_->time() != nullptr) {
        auto const skip = [&](std::uint64_t times) { w.count_loads(times); };
        machine_->turns().poll(std::span(&waiting, 1), look, skip, why, label_, ranks_);
        break;
      }
      machine_->turns().wait(
          std::span(&waiting, 1), [&] { return take_interrupt(), serve() || w.home().value != seen; }, why,
          label_, ranks_);
    }
    machine_->waited(self(), why.operation);
    return *taken;
  }

  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& reason) const {
    waiting_for const why = in_window(reason);
    std::vector<word> seen(words.size());
    std::vector<scc::waiters*> waiting(words.size());
    std::size_t found = 0;
    auto const look = [&] {
      serve();
      for (found = 0; found < words.size(); ++found) {
        waiting[found] = &words[found].home().waiting;
        if (words[found].look(predicate, seen[found])) return true;
      }
      return false;
    };
    while (!look()) {
      if (machine_->time() != nullptr) {
        auto const skip = [&](std::uint64_t times) {
          for (auto const& w : words) w.count_loads(times);
        };
        machine_->turns().poll(waiting, look, skip, why, label_, ranks_);
        break;
      }
      machine_->turns().wait(
          waiting,
          [&] {
            take_interrupt();
            if (serve()) return true;
            for (std::size_t i = 0; i < words.size(); ++i) {
              if (words[i].home().value != seen[i]) return true;
            }
            return false;
          },
          why, label_, ranks_);
    }
    machine_->waited(self(), why.operation);
    return found;
  }

  /// See scoped_control.
  [[nodiscard]] scc::checker_scope<order_scope> order_as(order_scope scope) const noexcept {
    return {machine_->oracle(), self(), scope};
  }

  /// See comparing_control. Not inlined, so that the frame is its own.
  [[gnu::noinline]] void compare_call(collective_call const& call, std::string_view label) const {
    if (machine_->oracle() == nullptr) return;
    std::uint32_t const where = machine_->collective_places().at_frame(__builtin_frame_address(0));
    machine_->compare_call(home_->calls.of(size()), {call, label, self(), rank(), where});
  }
  /// See rooted_control.
  [[nodiscard]] scc::rooted_order order_in_collective(collective_order order, rank_t root) const {
    return {machine_->oracle(), self(), home_->roots, rank(), order, root};
  }

  void pause(unsigned attempt, waiting_for const& why) const {
    serve();
    machine_->turns().pause(attempt, why);
  }

 private:
  /// Without a clock, a waiting core makes no accesses, so interrupts are taken here.
  bool serve() const { return machine_->serve(self()); }
  void take_interrupt() const { machine_->pin_of(self()).take(); }
  [[nodiscard]] word_at at(rank_t owner, std::size_t i) const noexcept {
    return {*machine_, self(), ranks_.to_world(owner), home_->at(owner, i), rule_ == nullptr || allows(i)};
  }
  [[nodiscard]] bool allows(std::size_t i) const noexcept {
    std::size_t const slots = home_->words.slots;
    return rule_({.control = label_,
                  .is_cell = i >= slots,
                  .number = i < slots ? i : i - slots,
                  .scope = machine_->oracle()->scope_of(self())});
  }

  bool (*rule_)(pgas::scc::word_use const&) = nullptr;
};
static_assert(comparing_control<scc_control>);
static_assert(scoped_control<scc_control> && rooted_control<scc_control>);

}  // namespace PGAS_NAMESPACE::detail
