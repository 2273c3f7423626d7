// SPDX-License-Identifier: BSL-1.0
// Distributed maps: YCSB's mixes, lookups beside a chase of pointers by hand and beside the papers' tables,
// and additions beside atomic ones at random places.
#include <pgas/containers/distributed_map.hpp>
#include <support/hash_tables.hpp>

#include "map_shapes.hpp"
#include "program.hpp"

namespace {

/// As many words as a map of short values has lines, in which the first of two dependent loads finds the
/// place of the second.
template <class Team>
class dependent_loads {
 public:
  explicit dependent_loads(Team& team)
      : ranks_(static_cast<std::uint64_t>(team.size())),
        lines_(bench::map_keys / 2 / ranks_),
        words_(pgas::make_window<std::uint64_t>(team, lines_ * 8)),
        hash_() {
    auto const own = words_.local();
    for (std::uint64_t i = 0; i < lines_; ++i) own[i * 8] = hash_(i) % lines_ * 8;
    team.barrier();
    for (pgas::rank_t r = 0; r < team.size(); ++r) parts_.push_back(words_.part(r).data());
    // Each page is mapped before the rows: a page fault is no part of an access.
    std::uint64_t touched = 0;
    for (std::uint64_t const* const part : parts_) {
      for (std::uint64_t i = 0; i < lines_; ++i) touched += part[i * 8];
    }
    bench::keep(touched);
  }
  [[nodiscard]] std::uint64_t load(std::uint64_t key) const {
    std::uint64_t const bits = hash_(key);
    std::uint64_t const* const part = parts_[bits % ranks_];
    return part[part[(bits >> 32U) * lines_ >> 32U << 3U]];
  }
  void add(std::uint64_t key) const {
    std::uint64_t const bits = hash_(key);
    std::atomic_ref(parts_[bits % ranks_][(bits >> 32U) * lines_ >> 32U << 3U])
        .fetch_add(0, std::memory_order_relaxed);
  }

 private:
  std::uint64_t ranks_;
  std::uint64_t lines_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) words_;
  std::vector<std::uint64_t*> parts_;
  bench::key_hash hash_;
};

template <class Use>
void each_own_key(pgas::rank_t rank, pgas::rank_t ranks, Use const& use) {
  for (auto i = static_cast<std::uint64_t>(rank); i < bench::map_keys; i += static_cast<std::uint64_t>(ranks))
    use(bench::key_of(i));
}

template <class Value, pgas::map_policy Policy = pgas::map_policy{}, class Team>
auto full_map(Team& team) {
  auto map = pgas::make_map<std::uint64_t, Value, Policy, bench::key_hash>(
      team, {.capacity = bench::map_keys / static_cast<std::uint64_t>(team.size()) * 11 / 10});
  each_own_key(team.rank(), team.size(),
               [&](std::uint64_t key) { map.update(key, bench::value_of<Value>(key)); });
  team.barrier();
  return map;
}

template <class Team>
void measure(Team& team, bench::meter& m) {
  std::vector<bench::drawn_steps> mine;
  mine.emplace_back(team.rank());
  auto const each = [&](auto step) { return bench::all_of(m, "", [step] { step(0); }); };
  auto const next = [&mine] { return mine[0].next().first; };
  {
    auto map = full_map<bench::short_value>(team);
    bench::map_rows<bench::short_value>(m, map, mine, each);
    dependent_loads by_hand(team);
    mine[0].draw_uniform();
    std::array<std::uint64_t, 64> keys{};
    std::array<std::optional<std::uint64_t>, 64> values;
    std::vector<bench::way> ways{bench::all_of(m, "", [&] { bench::keep(map.lookup(next())); }),
                                 bench::all_of(m, "two misses", [&] { bench::keep(by_hand.load(next())); })};
    std::size_t const room = 2 * bench::map_keys / static_cast<std::uint64_t>(team.size());
    example::atomic_table atomic(team, room);
    example::locked_table locked(team, room);
    each_own_key(team.rank(), team.size(), [&](std::uint64_t key) {
      atomic.insert(key);
      locked.insert(key);
    });
    team.barrier();
    ways.push_back(bench::all_of(m, "foMPI's table", [&] { bench::keep(atomic.contains(next())); }));
    ways.push_back(bench::all_of(m, "a lock a part", [&] { bench::keep(locked.contains(next())); }));
    m.measure(bench::map_key("map_lookup", 8), ways);
    m.measure({.row = "map_lookup_64", .mode = "", .bytes = 8, .per_call = 64}, {bench::all_of(m, "", [&] {
                for (auto& key : keys) key = next();
                map.lookup(keys, values);
                bench::keep(values);
              })});
  }
  {
    auto map = full_map<bench::short_value, pgas::counting>(team);
    dependent_loads by_hand(team);
    mine[0].draw_uniform();
    m.measure(bench::map_key("map_accumulate", 8),
              {bench::all_of(m, "", [&] { map.insert_or_accumulate(next(), 1); }),
               bench::all_of(m, "atomic", [&] { by_hand.add(next()); })});
  }
  auto map = full_map<bench::long_value>(team);
  bench::map_rows<bench::long_value>(m, map, mine, each);
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { measure(team, m); });
}
