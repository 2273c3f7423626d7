// SPDX-License-Identifier: BSL-1.0
// Long runs of distributed_map and of the maps on channels: every kind of operation that YCSB has on single
// keys, split over ranks, with a checksum that a serial run knows. PGAS_TEST_SECONDS=60 or more makes the
// whole run.
// test: unit map_runs
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/maps/part_caching.hpp>
#include <pgas/maps/part_simple.hpp>
#include <pgas/maps/rep_2pc.hpp>
#include <pgas/maps/rep_local.hpp>
#include <pgas/maps/rep_remote.hpp>
#include <pgas/maps/rep_sc.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "support/ranks.hpp"

namespace pgas_test::long_runs {

using number = std::uint64_t;
using pgas::detail::mixed;

double seconds_of_a_case() {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  return budget != nullptr ? std::atof(budget) : 2.0;
}
bool is_whole() { return seconds_of_a_case() >= 60; }

/// Numbers that look random, from a seed.
class sequence {
 public:
  explicit sequence(number seed) : at_(mixed(seed + 1)) {}
  number next() { return mixed(at_ += 0x9E3779B97F4A7C15U); }

 private:
  number at_;
};

/// A value tells its key, so that a lookup sees when it gets another key's value.
number value_of(number key, number some) { return mixed(key) << 32U | (some & 0xffffffffU); }
bool is_of(number key, number value) { return value >> 32U == (mixed(key) & 0xffffffffU); }

/// The part of a checksum that a key and its value give. The sum of all parts does not depend on their order.
number part_of_sum(number key, number value) { return mixed(mixed(key) ^ value); }

/// The operations of one rank. It alone changes its own keys, so it knows their values; all ranks look them
/// up and all add to the counts. Keys are numbers modulo `ranks`; counts come behind them.
///
/// Mix    in 16 operations: 6 lookups of any key, 3 updates, 2 inserts, 1 erasure, 2 reads that a write of
/// the
///        same key follows, 2 additions to counts.
class workload {
 public:
  static constexpr number counts = 64;

  workload(rank_t self, rank_t ranks, number keys_of_a_rank)
      : self_(static_cast<number>(self)),
        ranks_(static_cast<number>(ranks)),
        keys_(keys_of_a_rank),
        some_(self_) {}

  /// Carries out operations; returns what is wrong, or an empty text.
  template <class Map>
  std::string carry_out(Map& map, number operations) {
    constexpr bool has_messages = requires { map.is_client(); };  // such a map has fewer operations
    for (number i = 0; i < operations; ++i) {
      number const kind = some_.next() % 16;
      number const own = some_.next() % keys_ * ranks_ + self_;
      auto const mine = values_.find(own);
      if (kind < 6) {
        number const any = some_.next() % (keys_ * ranks_);
        auto const found = map.lookup(any);
        if (found && !is_of(any, *found)) return "a lookup gets another key's value";
      } else if (kind < 9) {
        number const value = value_of(own, some_.next());
        map.update(own, value);
        values_[own] = value;
      } else if (kind < 11) {
        number const value = value_of(own, some_.next());
        if constexpr (!has_messages) {
          if (map.insert(own, value) != (mine == values_.end())) return "an insertion is wrong about the key";
          values_.try_emplace(own, value);
        } else {
          map.update(own, value);
          values_[own] = value;
        }
      } else if (kind < 12) {
        map.erase(own);
        values_.erase(own);
      } else if (kind < 14) {
        auto const found = map.lookup(own);
        auto const expected = mine == values_.end() ? std::nullopt : std::optional(mine->second);
        if (found != expected) return "a rank does not find what it has written";
        number const value = value_of(own, found.value_or(0) + 1);
        map.update(own, value);
        values_[own] = value;
      } else if constexpr (!has_messages) {
        number const count = keys_ * ranks_ + some_.next() % counts;
        map.insert_or_accumulate(count, 1 + kind);
        sums_[count] += 1 + kind;
      }
    }
    return "";
  }

  /// The checksum of this rank's own keys, and what it has added to counts.
  [[nodiscard]] number checksum() const {
    number sum = 0;
    for (auto const& [key, value] : values_) sum += part_of_sum(key, value);
    return sum;
  }
  [[nodiscard]] number added_to(number count) const {
    auto const found = sums_.find(keys_ * ranks_ + count);
    return found == sums_.end() ? 0 : found->second;
  }
  [[nodiscard]] number all_keys() const { return keys_ * ranks_; }

 private:
  number self_, ranks_, keys_;
  sequence some_;
  std::unordered_map<number, number> values_;  ///< of own keys
  std::unordered_map<number, number> sums_;
};

/// The checksum that all ranks' operations must leave.
template <class Team>
number expected_sum(Team& team, workload const& mine) {
  number sum = team.all_reduce(mine.checksum());
  for (number count = 0; count < workload::counts; ++count) {
    number const added = team.all_reduce(mine.added_to(count));
    if (added != 0) sum += part_of_sum(mine.all_keys() + count, added);
  }
  return sum;
}

/// Carries out rounds until all operations are done or the time is over. Returns the operations of all ranks.
template <class Team, class Round>
number in_rounds(Team& team, number operations_of_all, number round, double seconds, Round const& carry_out) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  auto const ranks = static_cast<number>(team.size());
  number done = 0;
  do {
    carry_out(round);
    done += round * ranks;
  } while (done < operations_of_all &&
           team.all_reduce(number{is_whole() || std::chrono::steady_clock::now() < end}, pgas::op::min{}) !=
               0);
  return done;
}

template <class Model, pgas::map_policy Policy>
void run_distributed_map(rank_t ranks, std::string const& policy) {
  on<Model>(ranks, [&](auto& team) {
    constexpr number keys_of_a_rank = 20'000;
    auto map = pgas::make_map<number, number, Policy>(team, {.capacity = 2 * keys_of_a_rank});
    workload mine(team.rank(), team.size(), keys_of_a_rank);
    number const done = in_rounds(team, 10'000'000, 50'000, seconds_of_a_case() / 4, [&](number round) {
      auto const wrong = mine.carry_out(map, round);
      require(wrong.empty(), wrong);
    });
    number const expected = expected_sum(team, mine);
    number own = 0;
    map.for_each_own([&](number key, number value) { own += part_of_sum(key, value); });
    require(team.all_reduce(own) == expected, "the checksum is that of a serial run");
    number found = 0;
    for (number key = 0; key < mine.all_keys() + workload::counts; ++key)
      if (auto const value = map.lookup(key)) found += part_of_sum(key, *value);
    require(found == expected, "lookups of all keys have the checksum of a serial run");
    if (team.rank() == 0)
      std::cout << "covered: " << done << " operations on distributed_map, " << policy << ", by " << ranks
                << " ranks of " << Model::name() << ", checksum " << expected << '\n';
  });
}

template <class Model, auto Policy>
void run_map_on_channel(rank_t ranks) {
  on<Model>(ranks, [&](auto& team) {
    constexpr number keys_of_a_rank = 50;
    pgas::map_on_options options;
    if (!std::is_same_v<std::remove_const_t<decltype(Policy)>, std::remove_const_t<decltype(pgas::rep_2pc)>>)
      options.servers = {.number = 1, .where = pgas::placement::colocated};
    auto map = pgas::make_map<number, number, Policy>(team, options);
    workload mine(team.rank(), team.size(), keys_of_a_rank);
    number const done = in_rounds(team, 1'000'000, 200, seconds_of_a_case() / 12, [&](number round) {
      auto const wrong = mine.carry_out(map, round);
      require(wrong.empty(), std::string(map.name) + ": " + wrong);
      map.serve();
    });
    number const expected = expected_sum(team, mine);
    number found = 0;
    for (number key = 0; key < mine.all_keys(); ++key)
      if (auto const value = map.lookup(key)) found += part_of_sum(key, *value);
    map.serve();
    require(found == expected, "lookups of all keys have the checksum of a serial run");
    if (team.rank() == 0)
      std::cout << "covered: " << done << " operations on " << map.name << " by " << ranks << " ranks of "
                << Model::name() << ", checksum " << expected << '\n';
  });
}

TEST_CASE("map long runs: distributed_map has the checksum of a serial run after all kinds of operations") {
  for_each_model<std::tuple<process_model, thread_model>>([]<class Model>(Model) {
    run_distributed_map<Model, pgas::map_policy{}>(4, "slots that are reused");
    run_distributed_map<Model, pgas::counting>(4, "slots that are kept");
  });
}

TEST_CASE("map long runs: each map on channels has the checksum of a serial run") {
  for_each_model<std::tuple<process_model, thread_model>>([]<class Model>(Model) {
    run_map_on_channel<Model, pgas::part_simple>(3);
    run_map_on_channel<Model, pgas::part_caching>(3);
    run_map_on_channel<Model, pgas::rep_remote>(3);
    run_map_on_channel<Model, pgas::rep_local>(3);
    run_map_on_channel<Model, pgas::rep_2pc>(3);
    run_map_on_channel<Model, pgas::rep_sc>(3);
  });
}

}  // namespace pgas_test::long_runs
