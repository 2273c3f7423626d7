// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <pgas/backends/pool_map/memory.hpp>
#include <pgas/concepts/control.hpp>
#include <pgas/detail/job/bell.hpp>
#include <pgas/detail/job/ranks.hpp>
#include <pgas/detail/job/wait.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// Control words in a pool, one line each. A store writes its line back, and a load drops the line first.
///
/// The words have loads and stores only: a locked instruction is atomic among the cores of one host, and the
/// pool has no other agent. Cells exist, but their modifications do not compile.
template <class Cache>
class pool_control : public control_of_locks {
 public:
  static constexpr rmw read_modify_write = rmw::none;
  static constexpr bool can_park = false;

  class slot_type {
   public:
    slot_type(word* at, std::uint32_t* bell) noexcept : at_(at), bell_(bell) {}
    [[nodiscard]] word load(std::memory_order order) const noexcept { return load_now(at_, order); }
    void store(word value, std::memory_order order) const noexcept {
      store_through(at_, value, order);
      bell::ring(bell_);
    }

   private:
    friend pool_control;
    word* at_;
    std::uint32_t* bell_;
  };

  class cell_type : public refuses_store {
   public:
    cell_type(word* at, std::uint32_t* bell) noexcept : at_(at), bell_(bell) {}
    [[nodiscard]] word load(std::memory_order order) const noexcept { return load_now(at_, order); }
    template <class Value>
    word fetch_add(Value, std::memory_order) const {
      return refuse<Value>();
    }
    template <class Value>
    word fetch_xor(Value, std::memory_order) const {
      return refuse<Value>();
    }
    template <class Value>
    word exchange(Value, std::memory_order) const {
      return refuse<Value>();
    }
    template <class Value>
    bool compare_exchange(word&, Value, std::memory_order) const {
      return refuse<Value>() != 0;
    }
    void reset_unshared(word value, std::memory_order order) const noexcept {
      store_through(at_, value, order);
      bell::ring(bell_);
    }

   private:
    friend pool_control;
    template <class Value>
    static word refuse() {
      static_assert(
          always_false<Value>,
          "cell: hosts that share a pool have no read-modify-write in common; use slots, each with one "
          "writer, and protocols whose `needs` is rmw::none");
      return 0;
    }

    word* at_;
    std::uint32_t* bell_;
  };

  /// The bytes that `reserve` takes for these words.
  static std::uint64_t bytes(rank_t ranks, control_words words) noexcept {
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(ranks) * (words.slots + words.cells), 1) *
           pool<Cache>::line;
  }

  pool_control(held_pool_extent<Cache> extent, team_ranks ranks, control_words words, std::string_view label)
      : extent_(std::move(extent)), ranks_(std::move(ranks)), words_(words), label_(label) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }

  [[nodiscard]] slot_type slot(rank_t owner, std::size_t i, rank_t /*writer*/) const noexcept {
    return slot_type(at(owner, i), bell_of(owner, i));
  }
  [[nodiscard]] cell_type cell(rank_t owner, std::size_t i) const noexcept {
    return cell_type(at(owner, words_.slots + i), bell_of(owner, words_.slots + i));
  }

  template <class Word, std::predicate<word> Predicate>
  word wait_until(Word w, Predicate&& predicate, waiting_for const& why) const {
    word seen = 0;
    wait(
        why, [&] { return predicate(seen = w.load(std::memory_order_acquire)); },
        [&] { return std::array{w.bell_}; });
    return seen;
  }

  template <class Word, std::predicate<word> Predicate>
  std::size_t wait_any(std::span<Word> words, Predicate&& predicate, waiting_for const& why) const {
    std::size_t found = 0;
    wait(
        why,
        [&] {
          for (found = 0; found < words.size(); ++found) {
            if (predicate(words[found].load(std::memory_order_acquire))) return true;
          }
          return false;
        },
        [&] {
          std::vector<std::uint32_t*> bells;
          for (auto const& each : words) bells.push_back(each.bell_);
          return bells;
        });
    return found;
  }

  /// What holds the locks of this rank.
  [[nodiscard]] held_locks& locks() const noexcept { return extent_.owner().locks(); }
  void pause(unsigned attempt, waiting_for const& why) const { back_off(extent_.owner(), attempt, why); }

 private:
  // acquire or weaker is requested; drain_all gives more. The load reads memory, and no later load precedes
  // it.
  static word load_now(word* at, std::memory_order order) noexcept {
    Cache::drop(reinterpret_cast<std::byte*>(at), sizeof(word));
    Cache::drain_all();
    return std::atomic_ref(*at).load(order);
  }
  // release: the boundary has drained this rank's puts and cleans before. The second drain orders later
  // accesses. The word is in memory before any later store and, through the drain_all of the next load,
  // before any later load.
  static void store_through(word* at, word value, std::memory_order order) noexcept {
    Cache::store(at, value, order);
    Cache::clean(reinterpret_cast<std::byte*>(at), sizeof(word));
    Cache::drain_stores();
  }

  template <class Condition, class Bells>
  void wait(waiting_for const& why, Condition&& condition, Bells&& bells) const {
    for (int i = 0; i < first_looks; ++i) {
      if (condition()) return;
    }
    auto const prepare = [&](long_wait& patience) {
      patience.awaits(ranks_, in_window(why));
      patience.sleeps_on(bells());
    };
    wait_on(extent_.owner(), condition, why, label_, prepare);
  }

  /// The bell of a word: in the job's memory, since a bell needs the processors' read-modify-writes.
  [[nodiscard]] std::uint32_t* bell_of(rank_t owner, std::size_t i) const noexcept {
    auto& bells = extent_.owner().block().bells;
    std::size_t const line = static_cast<std::size_t>(owner) * (words_.slots + words_.cells) + i;
    return &bells[line % bells.size()].state;
  }

  [[nodiscard]] word* at(rank_t owner, std::size_t i) const noexcept {
    return reinterpret_cast<word*>(extent_.data() +
                                   (static_cast<std::size_t>(owner) * (words_.slots + words_.cells) + i) *
                                       pool<Cache>::line);
  }

  held_pool_extent<Cache> extent_;
  team_ranks ranks_;
  control_words words_;
  std::string label_;
};
static_assert(control<pool_control<processor_cache>>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
