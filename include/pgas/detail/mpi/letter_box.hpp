// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <pgas/concepts/segment.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::mpi {

/// The head of a letter, which travels alone if the receiver of letters returns room.
struct letter_head {
  std::uint64_t box = 0;   ///< the number of the mailbox, which all ranks of its team know
  std::uint64_t from = 0;  ///< the sender's number in the team
  std::uint64_t room =
      0;  ///< the number of the receiver's letters that the sender has taken, and not told yet
};

/// One rank's side of a mailbox: the letters that have arrived, and the room that this rank has at others.
///
/// At first each rank has room for `capacity` letters at each other rank. A receiver returns the room of
/// letters that it has taken, with its next letter or when `much` of it has come together. All ranks are
/// numbers in the team. Memory: an entry for each rank that has sent or received, and the letters.
class letter_box {
 public:
  static constexpr std::uint64_t capacity = 16;
  static constexpr std::uint64_t much = capacity / 2;
  static constexpr std::size_t longest = 240;

  struct letter {
    rank_t from;
    std::vector<std::byte> bytes;
  };

  [[nodiscard]] bool has_room(rank_t at) const {
    auto const found = known_.find(at);
    return found == known_.end() || found->second.under_way < capacity;
  }
  /// Takes room for a letter to this rank, and returns the room that the letter returns.
  [[nodiscard]] std::uint64_t begin_letter(rank_t to) {
    auto& other = known_[to];
    ++other.under_way;
    return std::exchange(other.owed, 0);
  }
  void regain_room(rank_t at, std::uint64_t letters) {
    if (letters != 0) known_[at].under_way -= letters;
  }

  void arrive(rank_t from, bytes_in bytes) {
    arrived_.push_back({from, std::vector<std::byte>(bytes.begin(), bytes.end())});
  }
  [[nodiscard]] std::size_t count() const noexcept { return arrived_.size(); }
  /// Takes the oldest letter, whose room this rank then owes to the sender.
  [[nodiscard]] letter take() {
    letter first = std::move(arrived_.front());
    arrived_.pop_front();
    ++known_[first.from].owed;
    return first;
  }
  /// The room to return to this sender at once, or 0.
  [[nodiscard]] std::uint64_t end_debt(rank_t sender) {
    auto& owed = known_[sender].owed;
    return owed < much ? 0 : std::exchange(owed, 0);
  }

 private:
  struct other_rank {
    std::uint64_t under_way = 0;  ///< letters to it, as long as it has not returned their room
    std::uint64_t owed = 0;       ///< letters of it, whose room it does not have back
  };

  std::unordered_map<rank_t, other_rank> known_;
  std::deque<letter> arrived_;
};

/// The boxes of a rank, by the numbers of their mailboxes. A letter to a box that is gone is dropped.
class letter_boxes {
 public:
  void add(std::uint64_t number, letter_box& box) { known_[number] = &box; }
  void remove(std::uint64_t number) { known_.erase(number); }
  void deliver(letter_head const& head, bytes_in letter) { deliver_to(head, &letter); }
  void deliver_room(letter_head const& head) { deliver_to(head, nullptr); }

 private:
  void deliver_to(letter_head const& head, bytes_in const* letter) {
    auto const found = known_.find(head.box);
    if (found == known_.end()) return;
    auto const from = static_cast<rank_t>(head.from);
    found->second->regain_room(from, head.room);
    if (letter != nullptr) found->second->arrive(from, *letter);
  }

  std::unordered_map<std::uint64_t, letter_box*> known_;
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::mpi
