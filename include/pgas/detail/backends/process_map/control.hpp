// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <atomic>
#include <pgas/detail/control/cells.hpp>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/held_extent.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>
#include <pgas/detail/types/plain_list.hpp>

namespace PGAS_NAMESPACE::detail {

/// Control words in the job's arena. Every word has lines of its own, and every access is a native atomic. A
/// store rings the bell at the end of the word's lines.
class mapped_control : public control_of_locks {
 public:
  static constexpr rmw read_modify_write = rmw::native;
  static constexpr bool can_park = true;
  /// Two lines for each word: processors fetch lines in pairs, so a neighbour on the pair's other line would
  /// slow it down.
  static constexpr std::size_t stride = 128;

 private:
  /// The bell is the last word, on the second line.
  static constexpr std::size_t bell_at = stride / sizeof(word) - 1;
  static_assert(bell_at * sizeof(word) >= 64, "a bell lies on another line than its word");

 public:
  // All accesses are inlined: a call would keep the address in memory, and the locked instruction would wait
  // for that store.

  class slot_type {
   public:
    explicit slot_type(word* at) noexcept : at_(at) {}
    [[nodiscard]] word* address() const noexcept { return at_; }
    /// From the word, but aligned, to its bell.
    static constexpr std::size_t room_bytes = stride - 3 * sizeof(word);
    [[nodiscard]] std::byte* room() const noexcept { return reinterpret_cast<std::byte*>(at_ + 2); }
    [[nodiscard, gnu::always_inline]] word load(std::memory_order order) const noexcept {
      return std::atomic_ref(*at_).load(order);
    }
    [[gnu::always_inline]] void store(word value, std::memory_order order) const noexcept {
      std::atomic_ref(*at_).store(value, order);
      bell::ring_behind<bell_at>(at_);
    }

   private:
    friend mapped_control;
    word* at_;
  };

 private:
  /// `Rings`: each change wakes the ranks that sleep on the word.
  template <bool Rings>
  class basic_cell : public refuses_store {
   public:
    explicit basic_cell(word* at) noexcept : at_(at) {}
    [[nodiscard]] word* address() const noexcept { return at_; }
    /// The same word, whose changes wake nobody: see waking_cell.
    [[nodiscard, gnu::always_inline]] basic_cell<false> without_waking() const noexcept {
      return basic_cell<false>(at_);
    }
    [[nodiscard, gnu::always_inline]] bool is_slept_on() const noexcept {
      return bell::is_set_behind<bell_at>(at_);
    }
    void wake_sleepers() const noexcept { bell::wake_behind<bell_at>(at_); }
    [[nodiscard, gnu::always_inline]] word load(std::memory_order order) const noexcept {
      return std::atomic_ref(*at_).load(order);
    }
    [[gnu::always_inline]] word fetch_add(word value, std::memory_order order) const noexcept {
      word const before = std::atomic_ref(*at_).fetch_add(value, order);
      ring();
      return before;
    }
    [[gnu::always_inline]] word fetch_xor(word value, std::memory_order order) const noexcept {
      word const before = std::atomic_ref(*at_).fetch_xor(value, order);
      ring();
      return before;
    }
    [[gnu::always_inline]] word exchange(word value, std::memory_order order) const noexcept {
      word const before = std::atomic_ref(*at_).exchange(value, order);
      ring();
      return before;
    }
    [[gnu::always_inline]] bool compare_exchange(word& expected, word desired,
                                                 std::memory_order order) const noexcept {
      if (!std::atomic_ref(*at_).compare_exchange_strong(expected, desired, order)) return false;
      ring();
      return true;
    }
    [[gnu::always_inline]] void reset_unshared(word value, std::memory_order order) const noexcept {
      std::atomic_ref(*at_).store(value, order);
      ring();
    }

   private:
    friend mapped_control;
    [[gnu::always_inline]] void ring() const noexcept {
      if constexpr (Rings) bell::ring_behind<bell_at>(at_);
    }
    word* at_;
  };

 public:
  using cell_type = basic_cell<true>;

  static std::uint64_t bytes(rank_t ranks, control_words words) noexcept {
    return static_cast<std::uint64_t>(ranks) * (words.slots + words.cells) * stride;
  }

  mapped_control(held_extent extent, team_ranks ranks, control_words words, std::string_view label)
      : extent_(std::move(extent)),
        ranks_(std::move(ranks)),
        label_(label),
        share_((words.slots + words.cells) * stride),
        slots_(extent_.data()),
        cells_(slots_ + words.slots * stride) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t /*writer*/) const noexcept {
    return slot_type(at(slots_, owner, i));
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return cell_type(at(cells_, owner, i));
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    for (int i = 0; i < first_looks; ++i) {
      word const seen = w.load(std::memory_order_acquire);
      if (predicate(seen)) return seen;
    }
    return wait_long(w.at_, predicate, why);
  }

  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    wait_for(
        extent_.owner(), [&] { return look_at_all(words, predicate, found); }, why, label_,
        [&] { return ranks_.to_world(why.awaited); },
        [&] {
          plain_list<std::uint32_t*> bells;
          for (auto const& each : words) bells.push_back(beside(each.at_));
          return bells;
        });
    return found;
  }

  void pause(unsigned attempt, waiting_for const& why) const { back_off(extent_.owner(), attempt, why); }

  /// The lock holders of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return owner().locks(); }
  /// See control_of_cores.
  [[nodiscard]] rank_t most_at_once() const noexcept {
    return std::min(size(), static_cast<rank_t>(owner().block().cores));
  }

  /// The bell of a word.
  static std::uint32_t* beside(word* at) noexcept { return reinterpret_cast<std::uint32_t*>(at + bell_at); }
  [[nodiscard]] job const& owner() const noexcept { return extent_.owner(); }
  /// The first word of an owner's share.
  [[nodiscard]] std::byte* share(rank_t owner) const noexcept {
    return slots_ + static_cast<std::size_t>(owner) * share_;
  }

 private:
  /// Continues wait_until after its first polls: compiled once for all predicates.
  word wait_long(word* at, function_ref<bool(word)> predicate, waiting_for const& why) const {
    word seen = 0;
    auto const condition = [&] {
      return predicate(seen = std::atomic_ref(*at).load(std::memory_order_acquire));
    };
    auto const prepare = [&](long_wait& patience) {
      std::uint32_t* const bell = beside(at);
      patience.awaits(ranks_, in_window(why));
      patience.sleeps_on({&bell, 1});
    };
    wait_on(extent_.owner(), condition, why, label_, prepare);
    return seen;
  }

  [[nodiscard]] word* at(std::byte* first, rank_t owner, std::size_t i) const noexcept {
    return reinterpret_cast<word*>(first + static_cast<std::size_t>(owner) * share_ + i * stride);
  }

  held_extent extent_;
  team_ranks ranks_;
  std::string label_;
  std::size_t share_;  ///< of one rank, in bytes
  std::byte* slots_;   ///< the first slot of rank 0
  std::byte* cells_;
};
static_assert(control_of_cores<mapped_control> && roomy_slot<mapped_control::slot_type> &&
              waking_cell<mapped_control::cell_type>);

}  // namespace PGAS_NAMESPACE::detail
