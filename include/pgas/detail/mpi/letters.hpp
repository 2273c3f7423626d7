// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <pgas/concepts/segment.hpp>
#include <pgas/detail/mpi/call.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace PGAS_NAMESPACE::detail::mpi {

/// The head of a letter, which travels alone if the receiver of letters returns room.
struct letter_head {
  std::uint64_t box = 0;   ///< the number of the mailbox, which all ranks of its team know
  std::uint64_t from = 0;  ///< the sender's number in the team
  std::uint64_t room =
      0;  ///< the number of the receiver's letters that the sender has received and not yet reported
};

/// One rank's side of a mailbox: the letters that have arrived, and the room that this rank has at others.
///
/// At first each rank has room for `capacity` letters at each other rank. A receiver returns the room of
/// received letters with its next letter, or when `much` of it has accumulated. Ranks are numbers in the
/// team. Memory: an entry for each rank that has sent or received, and the letters.
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
  /// Reserves room for a letter to this rank, and returns the room that the letter carries back.
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
  /// Removes the oldest letter, whose room this rank then owes to the sender.
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

/// Carries the letters of all mailboxes of a rank, each in a message of MPI with a tag of its own.
///
/// A rank that has never had a mailbox polls for no letter. Memory: the letters that have not left.
class letters {
 public:
  letters(MPI_Comm ranks, int tag) noexcept : ranks_(ranks), tag_(tag) {}
  letters(letters const&) = delete;
  letters& operator=(letters const&) = delete;

  /// A number for a new mailbox that no other rank uses.
  [[nodiscard]] std::uint64_t new_number(rank_t self) noexcept {
    return static_cast<std::uint64_t>(self + 1) << 40U | ++numbers_;
  }
  void add(std::uint64_t number, letter_box& box) {
    has_had_boxes_ = true;
    boxes_.add(number, box);
  }
  void remove(std::uint64_t number) { boxes_.remove(number); }

  /// A call that changes a word returns when the change is complete.
  [[nodiscard]] static constexpr bool is_settled(rank_t /*except*/) noexcept { return true; }
  /// Sends to a rank of the job. A letter carries a release: the rank that receives it sees this rank's
  /// stores.
  void send(rank_t to, letter_head const& head, bytes_in letter) { send(to, head, kind::letter, letter); }
  void send_room(rank_t to, letter_head const& head) { send(to, head, kind::room, {}); }

  /// Receives all letters that have arrived.
  void poll() {
    if (!has_had_boxes_) [[likely]]
      return;
    receive();
    outgoing_.remove_if([](parcel& p) {
      int has_left = 0;
      check_call(MPI_Test(&p.request, &has_left, MPI_STATUS_IGNORE), "MPI_Test");
      return has_left != 0;
    });
  }

  /// The messages that this rank has sent, and received.
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }

 private:
  enum class kind : std::uint64_t { letter, room };
  struct message_head {
    letter_head head;
    kind what{};
  };
  struct message {
    std::array<std::byte, sizeof(message_head) + letter_box::longest> bytes;
  };
  struct parcel {
    message content;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send(rank_t to, letter_head const& head, kind what, bytes_in letter) {
    ++sent_;
    auto& one = outgoing_.emplace_back();
    message_head const first{head, what};
    std::memcpy(one.content.bytes.data(), &first, sizeof first);
    if (!letter.empty()) std::memcpy(one.content.bytes.data() + sizeof first, letter.data(), letter.size());
    std::atomic_thread_fence(std::memory_order_release);  // pairs with the acquire in receive
    check_call(MPI_Isend(one.content.bytes.data(), static_cast<int>(sizeof first + letter.size()), MPI_BYTE,
                         to, tag_, ranks_, &one.request),
               "MPI_Isend");
  }
  void receive() {
    for (;;) {
      int there = 0;
      MPI_Status status;
      check_call(MPI_Iprobe(MPI_ANY_SOURCE, tag_, ranks_, &there, &status), "MPI_Iprobe");
      if (there == 0) return;
      message m;
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      check_call(
          MPI_Recv(m.bytes.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag_, ranks_, MPI_STATUS_IGNORE),
          "MPI_Recv");
      std::atomic_thread_fence(std::memory_order_acquire);  // pairs with the release in send
      ++received_;
      message_head first;
      std::memcpy(&first, m.bytes.data(), sizeof first);
      auto const letter = bytes_in(m.bytes).first(static_cast<std::size_t>(bytes)).subspan(sizeof first);
      first.what == kind::letter ? boxes_.deliver(first.head, letter) : boxes_.deliver_room(first.head);
    }
  }

  MPI_Comm ranks_;
  int tag_;
  letter_boxes boxes_;
  bool has_had_boxes_ = false;
  std::uint64_t numbers_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::list<parcel> outgoing_;
};

}  // namespace PGAS_NAMESPACE::detail::mpi
