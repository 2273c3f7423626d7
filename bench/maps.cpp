// SPDX-License-Identifier: BSL-1.0
// Distributed maps: YCSB's mixes, lookups beside a chase of pointers by hand, additions beside atomic ones
// at random places, lookups and insertions beside the papers' tables, and maps that grow while they fill.
#include <chrono>
#include <pgas/containers/distributed_map.hpp>
#include <span>
#include <unordered_map>

#include "../examples/support/hash_tables.hpp"
#include "map_shapes.hpp"
#include "program.hpp"

namespace {

/// As many words as a map of short values has lines, in which the first of two dependent loads finds the
/// place of the second.
template <class Team>
class dependent_loads {
 public:
  dependent_loads(Team& team, std::uint64_t keys)
      : ranks_(static_cast<std::uint64_t>(team.size())),
        lines_(keys / 2 / ranks_),
        words_(pgas::make_window<std::uint64_t>(team, lines_ * 8)) {
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
    std::uint64_t const* const part = parts_[owner(bits)];
    return part[part[(bits >> 32U) * lines_ >> 32U << 3U]];
  }
  /// Not 0: a compiler may leave out an addition of 0.
  void add(std::uint64_t key) const {
    std::atomic_ref(*line_of(key)).fetch_add(1, std::memory_order_relaxed);
  }
  /// Adds to a word of a line which another word of the line names, as a bucket names the slot of a key.
  void load_and_add(std::uint64_t key) const {
    std::uint64_t* const line = line_of(key);
    std::uint64_t const named = std::atomic_ref(line[0]).load(std::memory_order_acquire);
    std::atomic_ref(line[3 + (named >> 12U & 2U)]).fetch_add(1, std::memory_order_relaxed);
  }

 private:
  /// By a multiplication, as in the map: a division holds up the locked instruction behind it.
  [[nodiscard]] std::uint64_t owner(std::uint64_t bits) const noexcept {
    return (bits & 0xffffffffU) * ranks_ >> 32U;
  }
  [[nodiscard]] std::uint64_t* line_of(std::uint64_t key) const {
    std::uint64_t const bits = hash_(key);
    return parts_[owner(bits)] + ((bits >> 32U) * lines_ >> 32U << 3U);
  }
  std::uint64_t ranks_;
  std::uint64_t lines_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 0)) words_;
  std::vector<std::uint64_t*> parts_;
  bench::key_hash hash_ = {};
};

template <class Team>
class rows {
 public:
  rows(Team& team, bench::meter& m) : team_(team), m_(m) {
    mine_.emplace_back(m.rank(), m.ranks(), m.keys());
  }

  void all() {
    of_lookups();
    of_additions();
    beside_papers();
    of_mixes<bench::long_value>(filled<bench::long_value>(m_.keys() * 11 / 10));
    of_growth();
  }

 private:
  static constexpr std::size_t many = 64;

  [[nodiscard]] std::size_t on_each_rank(std::uint64_t all) const {
    return all / static_cast<std::uint64_t>(m_.ranks()) + 64;
  }
  /// A map of all keys, with room for `places`.
  template <class Value, auto... Policy>
  auto filled(std::uint64_t places) {
    auto map = pgas::make_map<std::uint64_t, Value, Policy...>(team_, {.capacity = on_each_rank(places)});
    bench::each_own_key(m_, [&](std::uint64_t key) { map.update(key, bench::value_of<Value>(key)); });
    team_.barrier();
    bench::touch(m_, map);
    team_.barrier();
    return map;
  }
  /// Each rank does a step, and then the next.
  template <class Step>
  bench::way each(std::string_view name, Step step) const {
    return bench::all_clients(m_, name, [step](std::size_t n) mutable {
      for (; n > 0; --n) step();
    });
  }
  /// Each rank calls step(key) for each of its keys, and then the next.
  template <class Step>
  bench::way of_keys(std::string_view name, Step step) {
    return bench::all_clients(m_, name, [this, step](std::size_t n) { mine_[0].for_each_next(n, step); });
  }
  std::uint64_t next() { return mine_[0].next().first; }

  template <class Value, class Map>
  void of_mixes(Map&& map) {
    m_.measure(bench::memory_key<Value>(),
               {bench::memory_of(m_, "", static_cast<double>(map.part_bytes()) * m_.ranks())});
    bench::mix_rows<Value>(m_, map, mine_, [&](auto step) { return each("", [step] { step(0); }); });
  }

  void of_lookups() {
    auto map = filled<bench::short_value>(m_.keys() * 11 / 10);
    of_mixes<bench::short_value>(map);
    dependent_loads by_hand(team_, m_.keys());
    mine_[0].draw_uniform();
    m_.measure(bench::map_key("map_lookup", 8),
               {of_keys("", [&](std::uint64_t key) { bench::keep(map.lookup(key)); }),
                of_keys("two misses", [&](std::uint64_t key) { bench::keep(by_hand.load(key)); })});
    std::array<std::uint64_t, many> keys{};
    std::array<std::optional<std::uint64_t>, many> values;
    m_.measure(bench::map_key("map_lookup_64", 8, many), {each("",
                                                               [&] {
                                                                 for (auto& key : keys) key = next();
                                                                 map.lookup(keys, values);
                                                                 bench::keep(values);
                                                               }),
                                                          each("one by one",
                                                               [&] {
                                                                 for (auto& key : keys) key = next();
                                                                 for (std::size_t i = 0; i < many; ++i)
                                                                   values[i] = map.lookup(keys[i]);
                                                                 bench::keep(values);
                                                               }),
                                                          each("two misses", [&] {
                                                            for (auto& key : keys) key = next();
                                                            for (std::size_t i = 0; i < many; ++i)
                                                              values[i] = by_hand.load(keys[i]);
                                                            bench::keep(values);
                                                          })});
  }

  void of_additions() {
    auto map = filled<bench::short_value, pgas::counting>(m_.keys() * 11 / 10);
    dependent_loads by_hand(team_, m_.keys());
    mine_[0].draw_uniform();
    m_.measure(bench::map_key("map_accumulate", 8),
               {of_keys("", [&](std::uint64_t key) { map.insert_or_accumulate(key, 1); }),
                of_keys("atomic", [&](std::uint64_t key) { by_hand.add(key); }),
                of_keys("load and atomic", [&](std::uint64_t key) { by_hand.load_and_add(key); })});
    using pair_type = std::pair<std::uint64_t, std::uint64_t>;
    std::array<pair_type, many> pairs{};
    m_.measure(bench::map_key("map_accumulate_64", 8, many),
               {each("",
                     [&] {
                       for (auto& pair : pairs) pair = {next(), 1};
                       map.insert_or_accumulate(std::span<pair_type const>(pairs));
                     }),
                each("atomic", [&] {
                  for (auto& pair : pairs) pair.first = next();
                  for (auto const& pair : pairs) by_hand.add(pair.first);
                })});
  }

  /// All three tables have the same keys, and room for as many others.
  void beside_papers() {
    std::uint64_t const places = bench::places_for(m_.keys());
    auto map = filled<bench::short_value>(places);
    example::atomic_table atomic(team_, on_each_rank(places));
    example::locked_table locked(team_, on_each_rank(places));
    bench::each_own_key(m_, [&](std::uint64_t key) {
      atomic.insert(key);
      locked.insert(key);
    });
    team_.barrier();
    for (std::uint64_t i = 0; i < m_.keys(); i += 4)
      bench::keep(atomic.contains(bench::key_of(i)) && locked.contains(bench::key_of(i)));
    team_.barrier();
    mine_[0].draw_uniform();
    m_.measure(bench::map_key("map_contains", 8),
               {of_keys("", [&](std::uint64_t key) { bench::keep(map.contains(key)); }),
                of_keys("foMPI's table", [&](std::uint64_t key) { bench::keep(atomic.contains(key)); }),
                of_keys("a lock a part", [&](std::uint64_t key) { bench::keep(locked.contains(key)); })});
    auto const next_new = [&] { return mine_[0].next_new(); };
    m_.measure(bench::map_key("map_insert", 8),
               {each("", [&, next_new] { map.insert(next_new(), 1); }),
                each("foMPI's table", [&, next_new] { atomic.insert(next_new()); }),
                each("a lock a part", [&, next_new] { locked.insert(next_new()); })});
  }

  /// The seconds of one insertion, times n, if each rank inserts its keys into an empty map by use(key). They
  /// include the first touch of each page, and not the calls that map and unmap pages.
  template <class Use>
  double seconds_to_fill(std::size_t n, Use const& use) const {
    auto const first = static_cast<std::uint64_t>(m_.rank());
    auto const ranks = static_cast<std::uint64_t>(m_.ranks());
    m_.align();
    auto const before = std::chrono::steady_clock::now();
    for (std::uint64_t i = first; i < keys_to_grow(); i += ranks) use(bench::key_of(i));
    m_.align();
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - before;
    return passed.count() * static_cast<double>(n * ranks) / static_cast<double>(keys_to_grow());
  }
  /// A quarter of the keys, since each sample makes and fills a map.
  [[nodiscard]] std::uint64_t keys_to_grow() const { return m_.keys() / 4 + 64; }
  /// A new map each time, which begins with room for a share of the keys.
  bench::way growing(std::string_view name, std::size_t share) {
    return {name, {}, [this, share](std::size_t n) {
              std::size_t const most = on_each_rank(keys_to_grow() * 11 / 10);
              auto map = pgas::make_map<std::uint64_t, bench::short_value>(
                  team_, {.capacity = most / share, .most = most});
              return seconds_to_fill(n, [&](std::uint64_t key) { map.insert(key, key); });
            }};
  }
  /// A sixteenth of the room at first, beside all of it at once, and beside a table of each rank's own that
  /// moves its keys when it grows.
  void of_growth() {
    m_.measure(bench::map_key("map_grow", 8),
               {growing("", 16),
                growing("room for all", 1),
                {"unordered_map", {}, [this](std::size_t n) {
                   std::unordered_map<std::uint64_t, bench::short_value, bench::key_hash> map;
                   return seconds_to_fill(n, [&](std::uint64_t key) { map.emplace(key, key); });
                 }}});
  }

  Team& team_;
  bench::meter& m_;
  std::vector<bench::drawn_steps> mine_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { rows(team, m).all(); });
}
