// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/mpi/rma_window.hpp>
#include <string>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Control words in a window of MPI, each on a line of its own.
///
/// A change of a word is an atomic operation of MPI, which has happened at return. A load of a word of this
/// rank is a load: the window is unified, so a word that others have changed shows there. Its waits thus look
/// at plain memory, and let MPI and the mail go on between two looks.
class rma_control : public control_of_locks {
 public:
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = false;

 private:
  /// A word, by its place.
  class any_word {
   public:
    any_word(mpi::rma_window const& window, rank_t self, rank_t owner, std::size_t at) noexcept
        : window_(&window),
          own_(owner == self ? reinterpret_cast<word*>(window.own().data() + at) : nullptr),
          owner_(owner),
          at_(at) {}

    /// Pairs with the change by any rank: MPI makes it, and the unified memory shows it, after all that the
    /// changing rank has completed before.
    [[nodiscard]] word load(std::memory_order order) const {
      if (own_ != nullptr) return std::atomic_ref(*own_).load(order);
      return window_->fetch_op<word>(owner_, at_, 0, op_kind::no_op);
    }

   protected:
    mpi::rma_window const* window_;
    word* own_;  ///< null: another rank's
    rank_t owner_;
    std::size_t at_;
  };

 public:
  class slot_type : public any_word {
   public:
    using any_word::any_word;
    /// The fence pairs with the loads of a rank that has seen the value: MPI may store from another core, or
    /// from the network, after this rank's own stores.
    void store(word value, std::memory_order order) const {
      if (order != std::memory_order_relaxed) std::atomic_thread_fence(std::memory_order_seq_cst);
      window_->store<word>(owner_, at_, value);
    }
  };

  class cell_type : public refuses_store, public any_word {
   public:
    using any_word::any_word;
    word fetch_add(word value, std::memory_order order) const { return change(value, op_kind::sum, order); }
    word fetch_xor(word value, std::memory_order order) const {
      return change(value, op_kind::bit_xor, order);
    }
    word exchange(word value, std::memory_order order) const {
      return change(value, op_kind::replace, order);
    }
    bool compare_exchange(word& expected, word desired, std::memory_order order) const {
      fence(order);
      word const before = window_->compare_exchange<word>(owner_, at_, expected, desired);
      fence(order);
      return std::exchange(expected, before) == before;
    }
    void reset_unshared(word value, std::memory_order order) const {
      fence(order);
      window_->store<word>(owner_, at_, value);
    }

   private:
    /// As in slot_type::store, and for what this rank loads after the operation.
    static void fence(std::memory_order order) noexcept {
      if (order != std::memory_order_relaxed) std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    [[nodiscard]] word change(word value, op_kind how, std::memory_order order) const {
      fence(order);
      word const before = window_->fetch_op<word>(owner_, at_, value, how);
      fence(order);
      return before;
    }
  };

  static std::size_t bytes(control_words words) noexcept { return (words.slots + words.cells) * stride; }

  rma_control(mpi::rma_window window, team_ranks ranks, control_words words, std::string_view label)
      : window_(std::make_unique<mpi::rma_window>(std::move(window))),
        ranks_(std::move(ranks)),
        label_(label),
        first_cell_(words.slots * stride) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t /*writer*/) const noexcept {
    return {*window_, rank(), owner, i * stride};
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return {*window_, rank(), owner, first_cell_ + i * stride};
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    word seen = 0;
    wait([&] { return predicate(seen = w.load(std::memory_order_acquire)); }, why);
    return seen;
  }
  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    wait(
        [&] {
          for (found = 0; found < words.size(); ++found) {
            if (predicate(words[found].load(std::memory_order_acquire))) return true;
          }
          return false;
        },
        why);
    return found;
  }
  /// What holds the locks of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return window_->owner().of_job().locks(); }
  void pause(unsigned attempt, waiting_for const& why) const {
    back_off(window_->owner().of_job(), attempt, why);
  }

 private:
  static constexpr std::size_t stride = 64;

  template <class Condition>
  void wait(Condition&& condition, waiting_for const& why) const {
    for (int i = 0; i < first_looks; ++i) {
      if (condition()) return;
    }
    auto const prepare = [&](long_wait& patience) { patience.awaits(ranks_, in_window(why)); };
    wait_on(window_->owner().of_job(), condition, why, label_, prepare);
  }

  std::unique_ptr<mpi::rma_window> window_;  ///< words point to it
  team_ranks ranks_;
  std::string label_;
  std::size_t first_cell_;
};
static_assert(control<rma_control>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
