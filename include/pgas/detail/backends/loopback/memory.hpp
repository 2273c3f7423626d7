// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <pgas/concepts/control.hpp>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/backends/loopback/message.hpp>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::loopback {

/// The name of a team's memory: the reserving rank in the high bits, and a number that is new at that rank.
using memory_id = std::uint64_t;
inline constexpr int home_shift = 40;
inline rank_t home_of(memory_id id) noexcept { return static_cast<rank_t>(id >> home_shift); }

/// One rank's part of a segment: zeroed memory, or memory that the rank already has.
class part {
 public:
  explicit part(std::size_t bytes) : lines_(bytes / sizeof(line) + 1), all_(lines_.front().bytes, bytes) {}
  explicit part(std::span<std::byte> given) noexcept : all_(given) {}
  part(part const&) = delete;
  part& operator=(part const&) = delete;
  [[nodiscard]] std::byte* data() noexcept { return all_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  struct alignas(part_alignment) line {
    std::byte bytes[part_alignment];
  };
  std::vector<line> lines_;
  std::span<std::byte> all_;
};

/// One rank's share of control words. Its rank and its agent both access them, always atomically.
class word_block {
 public:
  explicit word_block(std::size_t words) : words_(words) {}
  [[nodiscard]] std::atomic<word>& at(std::size_t i) noexcept { return words_[i].value; }
  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }

 private:
  struct alignas(64) padded {
    std::atomic<word> value{0};
  };
  std::vector<padded> words_;
};

/// One rank's end of a mailbox: the letters of each sender, and the room that is left at each receiver.
class letter_box {
 public:
  static constexpr std::size_t capacity = 16;

  explicit letter_box(std::size_t ranks) : letters_(ranks), room_(ranks, capacity) {}

  [[nodiscard]] bool take_room(std::size_t to) {
    std::lock_guard const hold(lock_);
    if (room_[to] == 0) return false;
    --room_[to];
    return true;
  }
  void add_room(std::size_t to, std::size_t letters) {
    std::lock_guard const hold(lock_);
    if (to < room_.size()) room_[to] += letters;
  }
  void add(std::size_t from, bytes_in letter) {
    std::lock_guard const hold(lock_);
    if (from < letters_.size()) letters_[from].emplace_back(letter.begin(), letter.end());
  }
  [[nodiscard]] std::size_t count(std::size_t from) {
    std::lock_guard const hold(lock_);
    return letters_[from].size();
  }
  [[nodiscard]] std::vector<std::byte> take(std::size_t from) {
    std::lock_guard const hold(lock_);
    auto letter = std::move(letters_[from].front());
    letters_[from].pop_front();
    return letter;
  }

 private:
  std::mutex lock_;  ///< held briefly, by the rank and by its agent
  std::vector<std::deque<std::vector<std::byte>>> letters_;
  std::vector<std::size_t> room_;
};

/// The memory that one rank has attached and that its agent serves.
///
/// Memory stays while any rank of its team holds it, since a slow rank may still load a word of a rank that
/// has gone on. The reserving rank counts the releases, and tells all ranks after the last one. The rank and
/// its agent share the directory. An object that a caller has found stays alive while the caller uses it.
class directory {
 public:
  template <class Memory>
  void attach(memory_id id, std::shared_ptr<Memory> memory) {
    std::lock_guard const hold(lock_);
    attached_.insert_or_assign(id, std::move(memory));
  }

  /// Returns the memory of this type under this handle, or null.
  template <class Memory>
  [[nodiscard]] std::shared_ptr<Memory> find(memory_id id) const {
    std::lock_guard const hold(lock_);
    auto const it = attached_.find(id);
    if (it == attached_.end()) return nullptr;
    auto const* const found = std::get_if<std::shared_ptr<Memory>>(&it->second);
    return found != nullptr ? *found : nullptr;
  }

  void forget(memory_id id) {
    any_memory last;  // freed after the lock
    std::lock_guard const hold(lock_);
    if (auto const it = attached_.find(id); it != attached_.end()) {
      last = std::move(it->second);
      attached_.erase(it);
    }
  }

  /// Notes that this rank has reserved memory for these ranks of the job.
  void reserve(memory_id id, std::vector<rank_t> holders) {
    std::lock_guard const hold(lock_);
    auto const count = holders.size();
    reserved_.insert_or_assign(id, reservation{std::move(holders), count});
  }

  /// Notes that one holder has released memory that this rank reserved. Returns all holders if it was the
  /// last.
  [[nodiscard]] std::vector<rank_t> release(memory_id id) {
    std::lock_guard const hold(lock_);
    auto const it = reserved_.find(id);
    if (it == reserved_.end() || --it->second.left != 0) return {};
    auto holders = std::move(it->second.holders);
    reserved_.erase(it);
    return holders;
  }

 private:
  using any_memory =
      std::variant<std::shared_ptr<part>, std::shared_ptr<word_block>, std::shared_ptr<letter_box>>;
  struct reservation {
    std::vector<rank_t> holders;
    std::size_t left;
  };

  mutable std::mutex lock_;  ///< held for look-ups only, so an agent never waits for long
  std::unordered_map<memory_id, any_memory> attached_;
  std::unordered_map<memory_id, reservation> reserved_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::loopback
