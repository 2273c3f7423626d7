// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <mpi.h>

#include <deque>
#include <memory>
#include <pgas/detail/backends/cluster/packet.hpp>
#include <pgas/vocabulary/rank.hpp>
#include <vector>

namespace pgas::inline PGAS_ASSERTIONS::detail::cluster {

/// Transfers or a question under way: they are over when none is open.
struct transfer {
  unsigned open = 0;
  std::uint64_t value = 0;  ///< the answer to a question
};

/// A question that a peer has not answered yet, and the place of its answer's bytes.
struct question {
  std::shared_ptr<transfer> of;
  std::byte* into = nullptr;
  std::size_t pitch = 0;
  row_shape shape = {};
};

/// The state that a rank keeps for each rank of another node that it has met. Packets have numbers from 1, in
/// each direction.
struct peer {
  explicit peer(rank_t number) : rank(number), next(sizeof(packet_head)) {}

  rank_t rank;  ///< its number in the job

  packet next;                       ///< the requests and answers of the next packet to it
  bool has_requests = false;         ///< in the next packet
  bool has_answers = false;          ///< in the next packet
  std::uint64_t sent = 0;            ///< the number of the last packet to it
  std::uint64_t last_request = 0;    ///< of the last packet to it with requests
  std::uint64_t last_letter = 0;     ///< of the last packet to it with a letter
  std::uint64_t last_word = 0;       ///< of the last packet to it that changes a word; 0: none that matters
  std::uint64_t last_uncovered = 0;  ///< of the last one that changes a word no later release covers
  std::uint64_t asked = 0;           ///< of the last packet whose receipt was asked for
  std::uint64_t arrived = 0;  ///< of the last packet that it has carried out, as far as this rank knows
  std::deque<question> open;  ///< in order, and answered in order
  unsigned long_gets = 0;     ///< under way

  std::uint64_t carried_out = 0;  ///< the number of its packets that this rank has carried out
  bool is_stalled = false;        ///< a long put of it is arriving, and its later packets wait
  std::deque<packet> waiting;
  std::size_t position = 0;  ///< the bytes of the first waiting packet that have been carried out
};

}  // namespace pgas::inline PGAS_ASSERTIONS::detail::cluster
