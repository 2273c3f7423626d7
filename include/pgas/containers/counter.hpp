// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <pgas/detail/containers/container_words.hpp>
#include <string>
#include <utility>

namespace PGAS_NAMESPACE {

/// Neighbouring iterations of a loop, for one rank.
struct index_block {
  std::int64_t first = 0;  ///< the first iteration
  std::int64_t count = 0;  ///< at least 1

  friend constexpr bool operator==(index_block, index_block) = default;
};

/// Blocks of one size. OpenMP: schedule(dynamic, size).
struct fixed_blocks {
  std::int64_t size = 1;  ///< the iterations of a block
};

/// Blocks that begin large and end small: each is the share of a rank of half of what is left.
/// OpenMP: schedule(guided, least).
struct guided_blocks {
  std::int64_t least = 1;  ///< a block is smaller only at the loop's end
};

/// A number at one rank, which all ranks of a team add to and read. Make one with make_counter.
///
/// All members but `reset` are one-sided, and atomic against each other on all ranks. A rank that reads a sum
/// finds what the ranks that added to it had flushed before. Sums wrap around, as those of std::atomic do.
/// Memory: one control word. MPI_Fetch_and_op, shmem_atomic_fetch_add; Global Arrays: GA_Read_inc.
template <control_with_cells Control>
class counter {
 public:
  /// For make_counter.
  counter(Control words, rank_t home, rank_t job_rank)
      : words_(std::move(words)), home_(home), job_rank_(job_rank) {}

  /// The rank in whose memory the number is.
  [[nodiscard]] rank_t home() const noexcept { return home_; }

  /// Adds `n`, which may be negative. Costs an atomic operation at the home, without waiting for an answer.
  void add(std::int64_t n = 1) {
    // release: pairs with the acquire in read and fetch_add of the ranks that find this sum.
    detail::add(cell(), static_cast<word>(n), std::memory_order_release);
  }
  /// Adds `n` and returns the number before. `fetch_add(1)` gives each caller a number of its own. Costs an
  /// atomic operation at the home.
  std::int64_t fetch_add(std::int64_t n = 1) {
    // acquire and release: pair with each other, and as in add and read.
    return static_cast<std::int64_t>(cell().fetch_add(static_cast<word>(n), std::memory_order_acq_rel));
  }
  /// Returns the number. Costs a load at the home.
  [[nodiscard]] std::int64_t read() {
    // acquire: pairs with the release in add and fetch_add.
    return static_cast<std::int64_t>(cell().load(std::memory_order_acquire));
  }

  /// Takes the next block of the loop from 0 to `total`, or returns nothing when all are taken. Each
  /// iteration is in one block of one rank. The number counts the iterations that are taken, from 0: see
  /// `reset`. Costs one atomic operation at the home; guided blocks also cost a load, and repeat when another
  /// rank has interfered. Throws errc::invalid_argument for blocks without iterations.
  [[nodiscard]] std::optional<index_block> next_block(std::int64_t total, fixed_blocks blocks) {
    check_size(blocks.size);
    // relaxed: each block is a number of its own, and orders no other memory.
    auto const first = static_cast<std::int64_t>(
        cell().fetch_add(static_cast<word>(blocks.size), std::memory_order_relaxed));
    if (first >= total) return std::nullopt;
    return index_block{first, std::min(blocks.size, total - first)};
  }
  [[nodiscard]] std::optional<index_block> next_block(std::int64_t total, guided_blocks blocks = {}) {
    check_size(blocks.least);
    word found = cell().load(std::memory_order_relaxed);  // relaxed: as above
    for (unsigned attempt = 0;; ++attempt) {
      auto const first = static_cast<std::int64_t>(found);
      if (first >= total) return std::nullopt;
      std::int64_t const left = total - first;
      std::int64_t const count = std::min(left, std::max(blocks.least, left / (2 * words_.size())));
      if (cell().compare_exchange(found, static_cast<word>(first + count), std::memory_order_relaxed))
        return index_block{first, count};
      if (attempt > 0) words_.pause(attempt, {.operation = "next_block"});
    }
  }

  /// Makes the number 0. Collective over the team of the counter; costs two barriers.
  template <class Team>
  void reset(Team const& team) {
    team.barrier();
    // relaxed: the barriers order it.
    if (words_.rank() == home_) cell().reset_unshared(0, std::memory_order_relaxed);
    team.barrier();
  }

 private:
  [[nodiscard]] auto cell() { return words_.cell(home_, 0); }
  void check_size(std::int64_t size) const {
    PGAS_EXPECTS(light, size > 0,
                 throw error(errc::invalid_argument, job_rank_, "next_block",
                             "a block of " + std::to_string(size) +
                                 " iterations would never end the loop; take at least 1"));
  }

  Control words_;
  rank_t home_;
  rank_t job_rank_;
};

/// A number that each rank adds to in its own memory, and whose sum all ranks read. Make one with
/// make_striped_counter.
///
/// An `add` is a store to this rank's own memory, so ranks never wait for each other, and it needs no atomic
/// operation. `read` loads the number of each rank in turn, and is no snapshot. It includes every `add` that
/// ended before it began, and none that began after it ended. It may include any others, in any order. So if
/// all numbers are positive, the result lies between the sums at its beginning and at its end. After a
/// barrier it is exact. There is no fetch_add, since the sum is stored nowhere. Memory: one control word a
/// rank.
template <control Control>
class striped_counter {
 public:
  /// For make_striped_counter.
  explicit striped_counter(Control words) : words_(std::move(words)) {}

  /// Adds `n`, which may be negative. Costs a store to own memory.
  void add(std::int64_t n = 1) {
    mine_ += static_cast<word>(n);
    // release: pairs with the acquire in read of the ranks that find this number.
    words_.slot(words_.rank(), 0, words_.rank()).store(mine_, std::memory_order_release);
  }
  /// Returns the sum over all ranks. Costs a load at each rank.
  [[nodiscard]] std::int64_t read() {
    word sum = 0;
    for (rank_t rank = 0; rank < words_.size(); ++rank)
      sum += words_.slot(rank, 0, rank).load(std::memory_order_acquire);  // acquire: pairs with add
    return static_cast<std::int64_t>(sum);
  }
  /// This rank's own number. Local.
  [[nodiscard]] std::int64_t own() const noexcept { return static_cast<std::int64_t>(mine_); }

  /// Makes all numbers 0. Collective over the team of the counter; costs two barriers.
  template <class Team>
  void reset(Team const& team) {
    team.barrier();
    add(-own());
    team.barrier();
  }

 private:
  Control words_;
  word mine_ = 0;
};

/// Makes a counter of 0 in the memory of rank `home`. Collective; all ranks name the same home.
/// Throws on every rank: errc::out_of_range for a home outside the team, errc::mismatch, errc::no_space.
template <backend_with_cells Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_counter(team<Backend, Coherence, Protocols> const& team, rank_t home = 0) {
  auto& members = *team.state();
  auto words =
      detail::make_container_words(members, {.slots = 0, .cells = 1}, "make_counter",
                                   [&](auto& shake) { detail::agree_on_home(shake, home, team.size()); });
  return counter(std::move(words), home, members.backend.world_rank(team.rank()));
}

/// Does not compile: says which counter this backend has.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
  requires(!backend_with_cells<Backend>)
auto make_counter(team<Backend, Coherence, Protocols> const&, rank_t = 0) {
  static_assert(detail::always_false<Backend>,
                "make_counter: this backend's control words have no read-modify-write; take "
                "make_striped_counter, which needs none");
}

/// Makes a striped counter of 0. Collective. Throws errc::no_space on every rank.
template <backend Backend, coherence_policy Coherence, protocol_bundle Protocols>
[[nodiscard]] auto make_striped_counter(team<Backend, Coherence, Protocols> const& team) {
  return striped_counter(detail::make_container_words(*team.state(), {.slots = 1, .cells = 0},
                                                      "make_striped_counter", [](auto&) {}));
}

/// The type of a counter on a team, as make_counter returns it.
template <class Team>
using counter_on = counter<typename std::remove_cvref_t<Team>::backend_type::control_type>;
/// The type of a striped counter on a team, as make_striped_counter returns it.
template <class Team>
using striped_counter_on = striped_counter<typename std::remove_cvref_t<Team>::backend_type::control_type>;

}  // namespace PGAS_NAMESPACE
