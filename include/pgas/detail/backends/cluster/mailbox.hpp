// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <pgas/detail/backends/cluster/near_ranks.hpp>
#include <pgas/detail/backends/cluster/wire.hpp>
#include <pgas/detail/backends/process_map/mailbox.hpp>
#include <pgas/detail/mpi/mailbox.hpp>
#include <pgas/detail/text/text_of.hpp>
#include <utility>

namespace pgas::inline PGAS_ASSERTIONS::detail {

/// The mailbox of ranks on several nodes: messages to a rank of the own node lie in shared memory, as on
/// process_map, and packets carry the others.
///
/// Order: one of the two ways carries all messages between two ranks. A message to a near rank, too, waits
/// until this rank's changes of words on other nodes have been carried out: the receiver must find them.
/// Memory: the rings of a node grow with the square of its ranks, all else with the ranks that this one
/// writes to.
class cluster_mailbox {
  using near_mailbox = mapped_mailbox;
  using far_mailbox = mpi::mailbox<cluster::wire>;

 public:
  static constexpr std::size_t max_message_bytes = near_mailbox::max_message_bytes;
  static_assert(max_message_bytes == far_mailbox::max_message_bytes);

  /// The bytes of the messages between so many ranks of a node.
  static std::uint64_t near_bytes(rank_t ranks) noexcept { return near_mailbox::bytes(ranks); }

  /// `near` is that of this node, by the numbers of ranks among `where`; `far` that of all nodes, if there
  /// are several. `w` is null if the job has one node. `kept` outlasts all accesses.
  cluster_mailbox(near_mailbox near, cluster::near_ranks where, std::optional<far_mailbox> far, rank_t self,
                  std::shared_ptr<cluster::wire> w, std::shared_ptr<void const> kept)
      : kept_(std::move(kept)),
        near_(std::move(near)),
        where_(std::move(where)),
        far_(std::move(far)),
        self_(self),
        wire_(std::move(w)) {}

  /// Sends if the receiver has room, and no change by this rank of a word of a third one is under way. Throws
  /// errc::invalid_argument if the message exceeds max_message_bytes.
  [[nodiscard]] bool try_send(rank_t to, bytes_in message) {
    if (message.size() > max_message_bytes) {
      throw error(errc::invalid_argument, self_, "try_send",
                  text_of({message.size(), " bytes exceed the largest message, ", max_message_bytes}));
    }
    rank_t const index = where_.index_of(to);
    if (index < 0) return far_->try_send(to, message);
    if (!is_settled()) {
      wire_->poll();
      if (!is_settled()) return false;
    }
    return near_.try_send(index, message);
  }

  /// Handles the messages that have arrived, in each sender's order; returns their number.
  template <class Handler>
  std::size_t poll(Handler&& handler) {
    std::size_t const handled =
        near_.poll([&](rank_t from, bytes_in message) { handler(where_[from], message); });
    if (far_) return handled + far_->poll(handler);
    if (wire_) wire_->poll();
    return handled;
  }

  /// Calls `what` while this rank waits. A near message rings its bell. Waits look for far ones anyhow.
  void serve(std::function<void()> what) { near_.serve(std::move(what)); }

 private:
  [[nodiscard]] bool is_settled() const {
    constexpr rank_t nobody = -1;
    return !wire_ || wire_->is_settled(nobody);
  }

  std::shared_ptr<void const> kept_;
  near_mailbox near_;
  cluster::near_ranks where_;
  std::optional<far_mailbox> far_;
  rank_t self_;  ///< its number in the job
  std::shared_ptr<cluster::wire> wire_;
};
static_assert(mailbox<cluster_mailbox>);

}  // namespace pgas::inline PGAS_ASSERTIONS::detail
