// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>
#include <thread>

#include "memory.hpp"

namespace pgas_test::incoherent {

/// Control words with atomic loads and stores only. A read-modify-write holds the register of the word's
/// owner; a store that does not hold the register is lost.
///
/// An error names the culprit if a rank that is not its writer stores to a slot. Other errors tell that ranks
/// disagree about the writer, or that a word does not exist.
class control {
  /// The state of one rank that its words refer to; it never moves.
  struct self {
    rank_t rank;
    rank_t world_rank;
    std::string label;
    adversary against;
    dice choices;

    void maybe_yield() {
      if (choices.one_in(against.yield)) std::this_thread::yield();
    }
  };

 public:
  static constexpr pgas::rmw read_modify_write = pgas::rmw::test_and_set;
  static constexpr bool can_park = true;

  class slot_type {
   public:
    [[nodiscard]] word load(std::memory_order order) const noexcept { return at_->value.load(order); }
    void store(word value, std::memory_order order) const {
      if (self_->rank != writer_) refuse("rank " + std::to_string(writer_) + " is its writer");
      rank_t known = -1;
      if (!at_->writer.compare_exchange_strong(known, writer_, std::memory_order_relaxed) &&
          known != writer_) {
        refuse("rank " + std::to_string(known) + " has stored to it as its writer");
      }
      self_->maybe_yield();
      at_->value.store(value, order);
    }

   private:
    friend control;
    slot_type(home_words::control_word& at, self& s, rank_t owner, std::size_t i, rank_t writer) noexcept
        : at_(&at), self_(&s), owner_(owner), writer_(writer), index_(i) {}

    [[noreturn]] void refuse(std::string const& why) const {
      throw error(errc::wrong_order, self_->world_rank, "store",
                  "rank " + std::to_string(self_->rank) + " stores to slot " + std::to_string(index_) +
                      " of rank " + std::to_string(owner_) + " (" + self_->label + "), but " + why);
    }

    home_words::control_word* at_;
    self* self_;
    rank_t owner_;
    rank_t writer_;
    std::size_t index_;
  };

  class cell_type : public pgas::detail::updated_cell<cell_type> {
   public:
    [[nodiscard]] word load(std::memory_order order) const noexcept { return at_->value.load(order); }

    void reset_unshared(word value, std::memory_order order) const noexcept {
      at_->value.store(value, order);
    }
    // The register gives acquire and release, whatever order was requested.
    template <class Change>
    word update(Change const& change, std::memory_order) const {
      // acquire: pairs with the release of clear() by the register's last holder.
      while (register_->taken.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
      // acquire, release: a waiter that sees this value must see the published data of all ranks that added
      // to it.
      word const old = at_->value.load(std::memory_order_acquire);
      self_->maybe_yield();
      // A change to the same value stores nothing: the word's holder may have reset it meanwhile.
      if (word const changed = change(old); changed != old)
        at_->value.store(changed, std::memory_order_release);
      register_->taken.clear(std::memory_order_release);
      return old;
    }

   private:
    friend control;
    cell_type(home_words::control_word& at, home_words::test_and_set& r, self& s) noexcept
        : at_(&at), register_(&r), self_(&s) {}

    home_words::control_word* at_;
    home_words::test_and_set* register_;
    self* self_;
  };

  control(std::shared_ptr<home_words> home, pgas::detail::job const& j, pgas::detail::team_ranks ranks,
          std::string_view label, adversary const& a, dice d)
      : home_(std::move(home)),
        job_(j),
        ranks_(std::move(ranks)),
        self_(new self{ranks_.self(), j.rank(), std::string(label), a, d}) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t writer) const {
    check("slot", owner, i, home_->words().slots);
    check("slot", writer, 0, 1);
    return {home_->at(owner, i), *self_, owner, i, writer};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const {
    check("cell", owner, i, home_->words().cells);
    return {home_->at(owner, home_->words().slots + i), home_->register_of(owner), *self_};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, pgas::waiting_for const& why) const {
    word seen = 0;
    pgas::detail::wait_for(
        job_, [&] { return predicate(seen = w.load(std::memory_order_acquire)); }, why, self_->label,
        [&] { return ranks_.to_world(why.awaited); });
    return seen;
  }

  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, pgas::waiting_for const& why) const {
    std::size_t found = 0;
    pgas::detail::wait_for(
        job_,
        [&] {
          for (found = 0; found < words.size(); ++found) {
            if (predicate(words[found].load(std::memory_order_acquire))) return true;
          }
          return false;
        },
        why, self_->label, [&] { return ranks_.to_world(why.awaited); });
    return found;
  }

  void pause(unsigned attempt, pgas::waiting_for const& why) const {
    pgas::detail::back_off(job_, attempt, why);
  }

 private:
  void check(pgas::detail::called operation, rank_t rank, std::size_t i, std::size_t count) const {
    if (rank < 0 || rank >= size()) pgas::detail::throw_bad_rank(self_->world_rank, operation, rank, size());
    if (i >= count) {
      throw error(errc::out_of_range, self_->world_rank, operation,
                  "word " + std::to_string(i) + " of rank " + std::to_string(rank) + " (" + self_->label +
                      ") does not exist, there are " + std::to_string(count));
    }
  }

  std::shared_ptr<home_words> home_;
  pgas::detail::job job_;
  pgas::detail::team_ranks ranks_;
  std::unique_ptr<self> self_;
};
static_assert(pgas::control<control>);

}  // namespace pgas_test::incoherent
