// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/control/collective_call.hpp>
#include <pgas/detail/machines/scc/chip.hpp>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Control words in their owners' memory, accessed past all caches. A read-modify-write holds the
/// test-and-set register of the owner's core. Each access is a scheduling point. Memory: one line for each
/// word.
class scc_control : public control_of_locks {
  /// One word, as one core accesses it.
  class word_at {
   public:
    word_at(scc::chip& c, rank_t self, rank_t owner, scc::chip_word& at, bool orders) noexcept
        : chip_(&c), self_(self), owner_(owner), orders_(orders), at_(&at) {}

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
      auto* const oracle = chip_->oracle();
      if (!predicate(seen)) {
        if (oracle != nullptr) oracle->accessed(self_);
        return std::nullopt;
      }
      if (oracle == nullptr || !at_->history || !orders_) return seen;
      if (chip_->time() == nullptr) return oracle->ended_wait(self_, *at_->history, predicate);
      oracle->acquire(self_, at_->history->latest().knowledge);  // the clock says when the core has looked
      return seen;
    }
    [[nodiscard]] scc::chip_word& home() const noexcept { return *at_; }
    /// With a clock: counts further loads whose values are not needed.
    void count_loads(std::uint64_t times) const {
      chip_->at(self_).count().word_accesses += times;
      chip_->time()->count(self_, chip_->words_of(owner_), scc::asks::read_word, times);
    }

   protected:
    void enter(scc::asks what) const {
      ++chip_->at(self_).count().word_accesses;
      chip_->reach(self_, chip_->words_of(owner_), what);
    }
    void enter_register(scc::asks what) const {
      ++chip_->at(self_).count().word_accesses;
      chip_->reach(self_, scc::station::registers_of(owner_), what);
    }
    void acquire() const {
      if (auto* const oracle = chip_->oracle(); oracle != nullptr && at_->history && orders_)
        oracle->acquire(self_, at_->history->latest().knowledge);
    }
    void set(word value, bool releases) const {
      if (auto* const oracle = chip_->oracle()) {
        if (!at_->history) at_->history = std::make_unique<scc::word_history>();
        oracle->stored(self_, *at_->history, value, releases && orders_);
      }
      at_->value = value;
      chip_->turns().wake(std::exchange(at_->waiting, 0));
      chip_->stored(self_);
    }

    scc::chip* chip_;
    rank_t self_;  ///< numbers in the job
    rank_t owner_;
    bool orders_;  ///< false if a rule takes the word's order away
    scc::chip_word* at_;
  };

 public:
  static constexpr rmw read_modify_write = rmw::test_and_set;
  static constexpr bool can_park = true;

  class slot_type : public word_at {
   public:
    slot_type(word_at w, rank_t writer) noexcept : word_at(w), writer_(writer) {}
    void store(word value, std::memory_order order) const {
      if (self_ != writer_ || (at_->writer != -1 && at_->writer != writer_)) {
        throw error(errc::wrong_order, self_, "store",
                    "only rank " + std::to_string(at_->writer == -1 ? writer_ : at_->writer) +
                        " may store to this slot of rank " + std::to_string(owner_));
      }
      enter(scc::asks::write_word);
      at_->writer = writer_;
      set(value, order != std::memory_order_relaxed);
    }

   private:
    rank_t writer_;
  };

  class cell_type : public word_at, public updated_cell<cell_type> {
   public:
    explicit cell_type(word_at w) noexcept : word_at(w) {}

    void reset_unshared(word value, std::memory_order order) const {
      enter(scc::asks::write_word);
      set(value, order != std::memory_order_relaxed);
    }
    template <class Change>
    word update(Change const& change, std::memory_order order) const {
      auto& lock = chip_->register_of(owner_);
      auto& spins = chip_->at(self_).count().register_spins;
      enter_register(scc::asks::read_word);
      if (chip_->time() != nullptr) {
        for (; lock.taken; enter_register(scc::asks::read_word)) ++spins;  // each read travels over the mesh
      } else if (lock.taken) {
        scc::waiters* const waiting = &lock.waiting;
        waiting_for const why{.operation = "test-and-set register"};
        team_ranks const nobody(0, 0);
        chip_->turns().wait(
            std::span(&waiting, 1), [&] { return ++spins, !lock.taken; }, why, "control words", nobody);
      }
      lock.taken = true;
      enter(scc::asks::read_word);
      word const old = at_->value;
      bool const acquires = order != std::memory_order_relaxed && order != std::memory_order_release;
      bool const releases = order != std::memory_order_relaxed && order != std::memory_order_acquire;
      if (acquires) acquire();
      word const changed = change(old);
      if (changed != old || chip_->time() == nullptr) enter(scc::asks::write_word);
      // A change to the same value stores nothing: the word's holder may have reset it meanwhile.
      if (changed != old) set(changed, releases);
      enter_register(scc::asks::write_word);
      lock.taken = false;
      chip_->turns().wake(std::exchange(lock.waiting, 0));
      return old;
    }
  };

  scc_control(std::shared_ptr<scc::chip> c, std::shared_ptr<scc::home_words> home, team_ranks ranks,
              std::string_view label)
      : chip_(std::move(c)), home_(std::move(home)), ranks_(std::move(ranks)), label_(label) {
    if (auto const* const oracle = chip_->oracle()) rule_ = oracle->rules().words;
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
      if (chip_->time() != nullptr) {
        auto const skip = [&](std::uint64_t times) { w.count_loads(times); };
        chip_->turns().poll(std::span(&waiting, 1), look, skip, why, label_, ranks_);
        break;
      }
      chip_->turns().wait(
          std::span(&waiting, 1), [&] { return take_interrupt(), serve() || w.home().value != seen; }, why,
          label_, ranks_);
    }
    chip_->waited(ranks_.to_world(rank()), why.operation);
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
      if (chip_->time() != nullptr) {
        auto const skip = [&](std::uint64_t times) {
          for (auto const& w : words) w.count_loads(times);
        };
        chip_->turns().poll(waiting, look, skip, why, label_, ranks_);
        break;
      }
      chip_->turns().wait(
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
    chip_->waited(ranks_.to_world(rank()), why.operation);
    return found;
  }

  /// See scoped_control.
  [[nodiscard]] scc::checker_scope<order_scope> order_as(order_scope scope) const noexcept {
    return {chip_->oracle(), ranks_.to_world(rank()), scope};
  }

  /// See comparing_control. Not inlined, so that the frame is its own.
  [[gnu::noinline]] void compare_call(collective_call const& call, std::string_view label) const {
    if (chip_->oracle() == nullptr) return;
    std::uint32_t const where = chip_->collective_places().at_frame(__builtin_frame_address(0));
    chip_->compare_call(home_->calls.of(size()), {call, label, ranks_.to_world(rank()), rank(), where});
  }
  /// See rooted_control.
  [[nodiscard]] scc::rooted_order order_in_collective(collective_order order, rank_t root) const {
    return {chip_->oracle(), ranks_.to_world(rank()), home_->roots, rank(), order, root};
  }

  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept {
    return chip_->turns().locks_of(ranks_.to_world(rank()));
  }
  void pause(unsigned attempt, waiting_for const& why) const {
    serve();
    chip_->turns().pause(attempt, why);
  }

 private:
  /// Without a clock, a waiting core makes no accesses, so interrupts are taken here.
  bool serve() const { return chip_->serve(ranks_.to_world(rank())); }
  void take_interrupt() const { chip_->pin_of(ranks_.to_world(rank())).take(); }
  [[nodiscard]] word_at at(rank_t owner, std::size_t i) const noexcept {
    return {*chip_, ranks_.to_world(ranks_.self()), ranks_.to_world(owner), home_->at(owner, i),
            rule_ == nullptr || allows(i)};
  }
  [[nodiscard]] bool allows(std::size_t i) const noexcept {
    std::size_t const slots = home_->words.slots;
    return rule_({.control = label_,
                  .is_cell = i >= slots,
                  .number = i < slots ? i : i - slots,
                  .scope = chip_->oracle()->scope_of(ranks_.to_world(rank()))});
  }
  void check(called operation, rank_t owner, std::size_t i, std::size_t count) const {
    check_word(ranks_.to_world(rank()), operation, owner, size(), i, count, label_);
  }

  std::shared_ptr<scc::chip> chip_;
  std::shared_ptr<scc::home_words> home_;
  team_ranks ranks_;
  std::string label_;
  bool (*rule_)(pgas::scc::word_use const&) = nullptr;
};
static_assert(comparing_control<scc_control>);
static_assert(scoped_control<scc_control> && rooted_control<scc_control>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
