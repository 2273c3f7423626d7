// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <pgas/detail/job/ranks.hpp>

#include "copies.hpp"
#include "transfers.hpp"

namespace pgas_test::incoherent {

/// Payload that each rank sees only through private copies. It has no addresses, and no atomic elements.
///
/// It checks every range itself, since the layers below do not: a wrong offset is an error and not another
/// rank's bytes. Its destructor loses copies that were not cleaned and puts that were not flushed.
class segment {
 public:
  static constexpr std::size_t line_bytes = longest_line;
  static constexpr bool writeback_is_masked = false;
  static constexpr bool has_speculative_fill = true;
  static constexpr bool drop_may_write_back = true;
  static constexpr bool write_allocates = true;
  static constexpr bool tagged_drop = false;
  template <class T>
  static constexpr bool is_atomic = false;

  segment(std::shared_ptr<world> w, std::shared_ptr<home_memory> home, pgas::detail::team_ranks ranks, dice d)
      : state_(std::make_unique<state>(std::move(w), std::move(home), d)), ranks_(std::move(ranks)) {}

  [[nodiscard]] rank_t rank() const noexcept { return ranks_.self(); }
  [[nodiscard]] rank_t size() const noexcept { return ranks_.size(); }
  [[nodiscard]] std::size_t part_bytes(rank_t rank) const noexcept { return state_->home->part_bytes(rank); }

  void put(location at, bytes_in from) { check("put", at, from.size()).under_way.put(at, from); }
  void get(location at, bytes_out into) { check("get", at, into.size()).under_way.get(at, into); }
  pending rput(location at, bytes_in from) {
    auto& transfers = check("rput", at, from.size()).under_way;
    return {transfers, at.rank, transfers.start_put(at, from)};
  }
  pending rget(location at, bytes_out into) {
    auto& transfers = check("rget", at, into.size()).under_way;
    return {transfers, at.rank, transfers.start_get(at, into)};
  }

  void flush(rank_t target) {
    ++check("flush", {target, 0}, 0).counts.flushes;
    state_->under_way.flush(target);
    state_->copied.misbehave();
  }
  void flush_all() {
    ++state_->counts.flushes;
    for (rank_t target = 0; target < size(); ++target) state_->under_way.flush(target);
    state_->copied.misbehave();
  }
  void flush_local(rank_t target) {
    ++check("flush_local", {target, 0}, 0).counts.local_flushes;
    state_->under_way.flush_local(target);
    state_->copied.misbehave();
  }
  void flush_local_all() {
    ++state_->counts.local_flushes;
    for (rank_t target = 0; target < size(); ++target) state_->under_way.flush_local(target);
    state_->copied.misbehave();
  }

  void load(location at, bytes_out into) { check("load", at, into.size()).copied.load(at, into); }
  void store(location at, bytes_in from) { check("store", at, from.size()).copied.store(at, from); }
  void clean(location at, std::size_t count) { check("clean", at, count).copied.clean(at, count); }
  void drop(location at, std::size_t count) { check("drop", at, count).copied.drop(at, count); }
  void drain_stores() { state_->copied.drain_stores(); }
  void drain_all() { state_->copied.drain_all(); }

  /// The counts of this rank's operations so far.
  [[nodiscard]] incoherent::counters const& counters() const noexcept { return state_->counts; }

 private:
  /// The state lies in one place that never moves, since requests and its own members refer to it.
  struct state {
    state(std::shared_ptr<world> w, std::shared_ptr<home_memory> h, dice d)
        : shared(std::move(w)), home(std::move(h)), choices(d) {}

    std::shared_ptr<world> shared;
    std::shared_ptr<home_memory> home;
    dice choices;
    incoherent::counters counts{};
    copies copied{*home, shared->against, choices, counts};
    transfers under_way{*home, shared->against, choices, counts};
  };

  state& check(pgas::detail::called operation, location at, std::size_t count) {
    if (at.rank < 0 || at.rank >= size())
      pgas::detail::throw_bad_rank(world_rank(), operation, at.rank, size());
    std::size_t const bytes = part_bytes(at.rank);
    if (!pgas::detail::fits(at.offset, count, bytes)) {
      throw error(errc::out_of_range, world_rank(), operation,
                  std::to_string(count) + " bytes do not fit at " + std::to_string(at.offset) + " of " +
                      std::to_string(bytes) + " on rank " + std::to_string(at.rank));
    }
    return *state_;
  }
  [[nodiscard]] rank_t world_rank() const noexcept { return ranks_.to_world(rank()); }

  std::unique_ptr<state> state_;
  pgas::detail::team_ranks ranks_;
};
static_assert(pgas::cache_controlled<segment> && !pgas::local_segment<segment>);

}  // namespace pgas_test::incoherent
