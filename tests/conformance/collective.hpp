// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <pgas/collectives/oc_bcast.hpp>
#include <pgas/team.hpp>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "../support/ranks.hpp"
#include "make.hpp"

/// The promises of every collective algorithm, checked on every model.
///
/// `collective_algorithms` lists the algorithms. A new one inherits the suite by its name there.
namespace pgas_test::collective_suite {

using pgas::collective_medium;
namespace collectives = pgas::collectives;

/// A chain of functions x -> a x + b. The order of such functions matters, and nothing is rounded.
struct affine {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  friend bool operator==(affine, affine) = default;
};
/// 100 bytes: no power of two, so that pieces end within no element.
struct wide {
  std::array<affine, 12> lanes{};
  std::uint32_t tail = 0;
  friend bool operator==(wide const&, wide const&) = default;
};

/// Applies the first function, then the second.
struct chain {
  affine operator()(affine first, affine second) const {
    return {second.a * first.a, second.a * first.b + second.b};
  }
  wide operator()(wide const& first, wide const& second) const {
    wide both;
    for (std::size_t i = 0; i < both.lanes.size(); ++i)
      both.lanes[i] = (*this)(first.lanes[i], second.lanes[i]);
    both.tail = second.tail;
    return both;
  }
};
/// Adds members, an operation whose operands may change places.
struct add_members {
  static constexpr bool commutes = true;
  affine operator()(affine x, affine y) const { return {x.a + y.a, x.b + y.b}; }
  wide operator()(wide const& x, wide const& y) const {
    wide both;
    for (std::size_t i = 0; i < both.lanes.size(); ++i) both.lanes[i] = (*this)(x.lanes[i], y.lanes[i]);
    both.tail = x.tail + y.tail;
    return both;
  }
};
struct xor_bytes {
  static constexpr bool commutes = true;
  std::uint8_t operator()(std::uint8_t x, std::uint8_t y) const { return static_cast<std::uint8_t>(x ^ y); }
};

/// Element i of what rank r contributes to collective `round`.
template <class T>
T element(rank_t r, std::size_t i, std::uint32_t round) {
  auto const mixed = static_cast<std::uint32_t>((static_cast<std::uint32_t>(r) + 1) * 2654435761U ^
                                                static_cast<std::uint32_t>(i) * 40503U ^ round * 977U);
  if constexpr (std::is_same_v<T, affine>) {
    return {mixed | 1U, mixed >> 7U};
  } else if constexpr (std::is_same_v<T, wide>) {
    wide w;
    for (std::size_t lane = 0; lane < w.lanes.size(); ++lane)
      w.lanes[lane] = element<affine>(r, i * 16 + lane, round);
    w.tail = mixed;
    return w;
  } else {
    return static_cast<T>(mixed >> 3U);
  }
}
/// The number of elements after which their values repeat: a byte is eight bits of multiples of its index,
/// below bit 11.
template <class T>
constexpr std::size_t period = sizeof(T) == 1 ? 2048 : ~std::size_t{0};

/// Repeats the first values up to the end.
template <class T>
void repeat(T* at, std::size_t count) {
  for (std::size_t done = period<T>; done < count; done += period<T>)
    std::copy_n(at, std::min(period<T>, count - done), at + done);
}
/// Pointers, since an index into a vector is a call where nothing is optimized: the expected values take most
/// of the time of the long messages.
template <class T>
std::vector<T> elements(rank_t r, std::size_t first, std::size_t count, std::uint32_t round) {
  std::vector<T> all(count);
  T* const at = all.data();
  std::size_t const different = std::min(count, period<T>);
  for (std::size_t i = 0; i < different; ++i) at[i] = element<T>(r, first + i, round);
  repeat(at, count);
  return all;
}
/// Folds ranks [first, end) serially, in rank order.
template <class T, class Op>
std::vector<T> folded(rank_t first, rank_t end, std::size_t from, std::size_t count, std::uint32_t round,
                      Op op) {
  std::vector<T> all = elements<T>(first, from, count, round);
  T* const at = all.data();
  std::size_t const different = std::min(count, period<T>);
  for (rank_t r = first + 1; r < end; ++r) {
    for (std::size_t i = 0; i < different; ++i) at[i] = op(at[i], element<T>(r, from + i, round));
  }
  repeat(at, count);
  return all;
}

/// One collective of a sequence, the same on all ranks.
struct call {
  std::size_t count = 0;  ///< elements of a rank, or of a block
  rank_t root = 0;
  std::uint32_t round = 0;
  bool is_in_place = false;
  bool has_counts = false;

  /// The elements of rank r's block.
  [[nodiscard]] std::size_t of(rank_t r) const {
    return has_counts ? (count * static_cast<std::size_t>(r + 1) + round) % (count + 1) : count;
  }
  [[nodiscard]] std::vector<std::size_t> counts(rank_t ranks) const {
    std::vector<std::size_t> all;
    for (rank_t r = 0; r < ranks; ++r) all.push_back(of(r));
    return all;
  }
  /// Element counts of blocks between pairs of ranks.
  [[nodiscard]] std::size_t between(rank_t from, rank_t to) const {
    return has_counts ? of((from * 3 + to * 5) % 7) : count;
  }
};

template <class T>
void require_same(std::vector<T> const& is, std::vector<T> const& should, std::string const& what, call c) {
  require_equal(is.size(), should.size(), what + ": elements");
  if (is == should) return;
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (!(is[i] == should[i]))
      require(false, what + ": element " + std::to_string(i) + " of " + std::to_string(is.size()) +
                         " is wrong, root " + std::to_string(c.root) + ", round " + std::to_string(c.round) +
                         (c.is_in_place ? ", in place" : "") + (c.has_counts ? ", with counts" : ""));
  }
}

/// Starts a collective and waits for it, or calls its blocking form.
struct blocking {
  template <class Team, class Call>
  static void run(Team& team, Call const& collective) {
    collective(team);
  }
};
struct started {
  template <class Team, class Call>
  static void run(Team& team, Call const& collective) {
    auto const starter = team.start();
    auto request = collective(starter);
    request.wait();
  }
};

template <class Form, class T, class Algorithm, class Team>
void broadcast(Team& team, Algorithm a, call c) {
  auto values = elements<T>(team.rank(), 0, c.count, c.round);
  Form::run(team, [&](auto& t) { return t.broadcast(values, c.root, a); });
  require_same(values, elements<T>(c.root, 0, c.count, c.round), "broadcast by " + std::string(a.name), c);
}
template <class Form, class T, class Op, class Algorithm, class Team>
void reduce(Team& team, Algorithm a, call c, Op op) {
  auto mine = elements<T>(team.rank(), 0, c.count, c.round);
  std::vector<T> other(team.rank() == c.root ? c.count : 0);
  auto& result = c.is_in_place ? mine : other;
  Form::run(team, [&](auto& t) { return t.reduce(mine, result, c.root, op, a); });
  if (team.rank() == c.root)
    require_same(result, folded<T>(0, team.size(), 0, c.count, c.round, op),
                 "reduce by " + std::string(a.name), c);
}
template <class Form, class T, class Op, class Algorithm, class Team>
void all_reduce(Team& team, Algorithm a, call c, Op op) {
  auto mine = elements<T>(team.rank(), 0, c.count, c.round);
  std::vector<T> other(c.count);
  auto& result = c.is_in_place ? mine : other;
  Form::run(team, [&](auto& t) { return t.all_reduce(mine, result, op, a); });
  require_same(result, folded<T>(0, team.size(), 0, c.count, c.round, op),
               "all_reduce by " + std::string(a.name), c);
}
template <class Form, class T, class Op, class Algorithm, class Team>
void inclusive_scan(Team& team, Algorithm a, call c, Op op) {
  auto mine = elements<T>(team.rank(), 0, c.count, c.round);
  std::vector<T> other(c.count);
  auto& result = c.is_in_place ? mine : other;
  Form::run(team, [&](auto& t) { return t.inclusive_scan(mine, result, op, a); });
  require_same(result, folded<T>(0, team.rank() + 1, 0, c.count, c.round, op),
               "scan by " + std::string(a.name), c);
}
template <class Form, class T, class Op, class Algorithm, class Team>
void exclusive_scan(Team& team, Algorithm a, call c, Op op) {
  auto mine = elements<T>(team.rank(), 0, c.count, c.round);
  std::vector<T> other(c.count);
  auto& result = c.is_in_place ? mine : other;
  auto const before = result;
  Form::run(team, [&](auto& t) { return t.exclusive_scan(mine, result, op, a); });
  require_same(result, team.rank() == 0 ? before : folded<T>(0, team.rank(), 0, c.count, c.round, op),
               "exclusive scan by " + std::string(a.name), c);
}
/// All blocks of a gather side by side.
template <class T, class Team>
std::vector<T> blocks(Team const& team, call c) {
  std::vector<T> all;
  for (rank_t r = 0; r < team.size(); ++r) {
    auto const block = elements<T>(r, 0, c.of(r), c.round);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}
template <class Form, class T, class Algorithm, class Team>
void gather(Team& team, Algorithm a, call c) {
  auto const mine = elements<T>(team.rank(), 0, c.of(team.rank()), c.round);
  auto const should = blocks<T>(team, c);
  bool const is_root = team.rank() == c.root;
  std::vector<T> all(is_root ? should.size() : 0);
  auto const counts = is_root ? c.counts(team.size()) : std::vector<std::size_t>();
  Form::run(team, [&](auto& t) {
    return c.has_counts ? t.gather(mine, all, std::span(counts), c.root, a) : t.gather(mine, all, c.root, a);
  });
  if (is_root) require_same(all, should, "gather by " + std::string(a.name), c);
}
template <class Form, class T, class Algorithm, class Team>
void all_gather(Team& team, Algorithm a, call c) {
  auto const should = blocks<T>(team, c);
  std::vector<T> all(should.size());
  auto const other = elements<T>(team.rank(), 0, c.of(team.rank()), c.round);
  std::size_t first = 0;
  for (rank_t r = 0; r < team.rank(); ++r) first += c.of(r);
  if (c.is_in_place) std::copy(other.begin(), other.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  std::span<T const> const mine =
      c.is_in_place ? std::span<T const>(all).subspan(first, other.size()) : other;
  auto const counts = c.counts(team.size());
  Form::run(team, [&](auto& t) {
    return c.has_counts ? t.all_gather(mine, all, std::span(counts), a) : t.all_gather(mine, all, a);
  });
  require_same(all, should, "all_gather by " + std::string(a.name), c);
}
template <class Form, class T, class Algorithm, class Team>
void scatter(Team& team, Algorithm a, call c) {
  bool const is_root = team.rank() == c.root;
  auto const all = is_root ? blocks<T>(team, c) : std::vector<T>();
  std::vector<T> mine(c.of(team.rank()));
  auto const counts = is_root ? c.counts(team.size()) : std::vector<std::size_t>();
  Form::run(team, [&](auto& t) {
    return c.has_counts ? t.scatter(all, std::span(counts), mine, c.root, a)
                        : t.scatter(all, mine, c.root, a);
  });
  require_same(mine, elements<T>(team.rank(), 0, mine.size(), c.round), "scatter by " + std::string(a.name),
               c);
}
template <class Form, class T, class Algorithm, class Team>
void all_to_all(Team& team, Algorithm a, call c) {
  std::vector<T> from;
  std::vector<T> should;
  std::vector<std::size_t> out;
  std::vector<std::size_t> in;
  for (rank_t r = 0; r < team.size(); ++r) {
    out.push_back(c.between(team.rank(), r));
    in.push_back(c.between(r, team.rank()));
    auto const sent = elements<T>(team.rank(), static_cast<std::size_t>(r) * 1000, out.back(), c.round);
    auto const came = elements<T>(r, static_cast<std::size_t>(team.rank()) * 1000, in.back(), c.round);
    from.insert(from.end(), sent.begin(), sent.end());
    should.insert(should.end(), came.begin(), came.end());
  }
  std::vector<T> into(should.size());
  Form::run(team, [&](auto& t) {
    return c.has_counts
               ? t.all_to_all(from, std::span(std::as_const(out)), into, std::span(std::as_const(in)), a)
               : t.all_to_all(from, into, a);
  });
  require_same(into, should, "all_to_all by " + std::string(a.name), c);
}
template <class Form, class T, class Op, class Algorithm, class Team>
void reduce_scatter(Team& team, Algorithm a, call c, Op op) {
  auto const counts = c.counts(team.size());
  std::size_t first = 0;
  std::size_t total = 0;
  for (rank_t r = 0; r < team.size(); ++r) {
    if (r == team.rank()) first = total;
    total += c.of(r);
  }
  auto const all = elements<T>(team.rank(), 0, total, c.round);
  std::vector<T> mine(c.of(team.rank()));
  Form::run(team, [&](auto& t) {
    return c.has_counts ? t.reduce_scatter(all, std::span(counts), mine, op, a)
                        : t.reduce_scatter(all, mine, op, a);
  });
  require_same(mine, folded<T>(0, team.size(), first, mine.size(), c.round, op),
               "reduce_scatter by " + std::string(a.name), c);
}

/// The operations by number, of which an algorithm has some.
inline constexpr std::size_t operations = 9;

/// Carries out operation number `which` by an algorithm, if it has it on this team. Returns whether it has.
template <class Form, class T, class Algorithm, class Team, class Chain, class Sum>
bool carry_out(Team& team, Algorithm a, std::size_t which, call c, Chain in_order, Sum any_order) {
  using state = std::remove_cvref_t<decltype(team.state()->operations)>;
  constexpr bool is_automatic = std::is_same_v<Algorithm, collectives::automatic>;
  auto const op = [&] {
    if constexpr (requires { Algorithm::needs_commutative; }) {
      return any_order;
    } else {
      return in_order;
    }
  }();
  if constexpr (requires { Algorithm::needs_equal_blocks; }) c.has_counts = false;
  auto const on = [&]<class M>(M*) {
    namespace has = pgas::detail;
    constexpr bool all = is_automatic;
    using A = Algorithm;
    if constexpr (all || has::broadcasts<A, M>)
      if (which == 0) return broadcast<Form, T>(team, a, c), true;
    if constexpr (all || has::reduces<A, M>)
      if (which == 1) return reduce<Form, T>(team, a, c, op), true;
    if constexpr (all || has::all_reduces<A, M>)
      if (which == 2) return all_reduce<Form, T>(team, a, c, op), true;
    if constexpr (all || has::scans<A, M>) {
      if (which == 3) return inclusive_scan<Form, T>(team, a, c, op), true;
      if (which == 4) return exclusive_scan<Form, T>(team, a, c, op), true;
    }
    if constexpr (all || has::gathers<A, M>)
      if (which == 5) return gather<Form, T>(team, a, c), true;
    if constexpr (all || has::all_gathers<A, M>)
      if (which == 6) return all_gather<Form, T>(team, a, c), true;
    if constexpr (all || has::scatters<A, M>)
      if (which == 7) return scatter<Form, T>(team, a, c), true;
    if constexpr (all || has::exchanges_all<A, M>)
      if (which == 8) return all_to_all<Form, T>(team, a, c), true;
    if constexpr (all || has::reduces_shares<A, M>)
      if (which == 9) return reduce_scatter<Form, T>(team, a, c, op), true;
    return false;
  };
  if constexpr (is_automatic) {
    return on(static_cast<void*>(nullptr));
  } else if constexpr (Algorithm::stands_on == collective_medium::shared_areas && !state::has_shared_areas) {
    return false;
  } else if constexpr (Algorithm::stands_on == collective_medium::nodes && !state::has_nodes) {
    return false;
  } else {
    using medium =
        std::remove_reference_t<decltype(team.state()->operations.template medium<Algorithm::stands_on>())>;
    return on(static_cast<medium*>(nullptr));
  }
}

/// Carries out one collective with elements of the type with this number.
template <class Form, class Algorithm, class Team>
bool carry_out(Team& team, Algorithm a, std::size_t which, std::size_t type, call c) {
  if (type == 0) return carry_out<Form, std::uint8_t>(team, a, which, c, xor_bytes{}, xor_bytes{});
  if (type == 1) return carry_out<Form, affine>(team, a, which, c, chain{}, add_members{});
  return carry_out<Form, wide>(team, a, which, c, chain{}, add_members{});
}

using collective_algorithms = std::tuple<
    collectives::automatic, collectives::direct, collectives::binomial, collectives::recursive_doubling,
    collectives::by_nodes, collectives::ring, collectives::bruck, collectives::scatter_allgather,
    collectives::rabenseifner, collectives::pulled, collectives::by_exchange<collectives::pulled>,
    collectives::oc_bcast<>,
    collectives::oc_bcast<2, 1000, 1, collectives::sequential_notification, collectives::leaves::straight>,
    collectives::oc_bcast<3, 4096, 3, collectives::notification{3}, collectives::leaves::stage,
                          collectives::by_rank, collectives::roots::change, collectives::returns::early>>;

template <class Use>
void for_each_algorithm(Use const& use) {
  std::apply([&](auto... a) { (use(a), ...); }, collective_algorithms{});
}

/// Lengths in bytes around each length at which an algorithm does something else.
inline constexpr std::array<std::size_t, 17> lengths{0,    1,    8,    100,   96,    97,    256,   257,  4096,
                                                     4097, 8192, 8193, 16384, 16500, 32768, 33000, 70000};
inline constexpr std::array<std::size_t, 3> element_bytes{1, 8, 100};

/// Carries out each operation of each algorithm around all lengths.
inline constexpr auto around_all_lengths = [](auto& team) {
  std::uint32_t round = 0;
  for_each_algorithm([&](auto a) {
    for (std::size_t which = 0; which <= operations; ++which) {
      for (std::size_t const bytes : lengths) {
        ++round;
        // A fifth of the long messages suffices for memory in which each byte takes a hundred times as long.
        using backend = typename std::remove_cvref_t<decltype(team)>::backend_type;
        if (bytes > 9000 && !pgas::shared_segment<typename backend::segment_type> && round % 5 != 0) continue;
        std::size_t const type = round % element_bytes.size();
        call const c{.count = bytes / element_bytes[type],
                     .root = static_cast<rank_t>(round) % team.size(),
                     .round = round,
                     .is_in_place = round % 2 == 1,
                     .has_counts = round % 5 == 1};
        if (!carry_out<blocking>(team, a, which, type, c)) break;
      }
    }
  });
};

TEST_CASE(
    "collectives: each algorithm gives what a serial loop gives, around all lengths and for all roots") {
  everywhere(around_all_lengths);
}

/// A sequence of collectives, the same on all ranks, some of them started and all of them delayed at random.
template <class Team>
void random_sequence(Team& team, std::uint64_t seed) {
  random_source rng(seed);
  random_source own(seed * 31 + static_cast<std::uint64_t>(team.rank()));
  for (std::uint32_t step = 0; step < 12; ++step) {
    std::size_t const which = rng.below(operations + 1);
    std::size_t const chosen = rng.below(std::tuple_size_v<collective_algorithms>);
    std::size_t const type = rng.below(element_bytes.size());
    call const c{.count = rng.one_in(3) ? rng.below(5000) / element_bytes[type] : rng.below(20),
                 .root = rng.rank_below(team.size()),
                 .round = step,
                 .is_in_place = rng.one_in(2),
                 .has_counts = rng.one_in(3)};
    bool const starts = rng.one_in(2);
    dawdle(own);
    // Some ranks are much slower than others. The cores of the chip are fibers, so its schedule delays them.
    if (own.one_in(16)) std::this_thread::sleep_for(std::chrono::microseconds(own.below(500)));
    std::size_t number = 0;
    for_each_algorithm([&](auto a) {
      if (number++ != chosen) return;
      if (starts) {
        carry_out<started>(team, a, which, type, c);
      } else {
        carry_out<blocking>(team, a, which, type, c);
      }
    });
  }
}

TEST_CASE("collectives: random sequences on overlapping teams give what serial loops give, in both forms") {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = budget != nullptr ? std::atof(budget) : 2.0;
  std::size_t models = 0;
  for_each_model([&]<class Model>(Model) { ++models; });
  for_each_model([&]<class Model>(Model) {
    auto const end = std::chrono::steady_clock::now() +
                     std::chrono::duration<double>(seconds / static_cast<double>(models));
    std::uint64_t seed = next_seed();
    std::uint64_t const first = seed;
    do {
      rank_t const some = 2 + static_cast<rank_t>(seed % 7);
      rank_t const ranks = can_have<typename Model::backend>(some) ? some : 1;
      on<Model>(ranks, [seed](auto& team) {
        random_sequence(team, seed);
        auto half = team.split(team.rank() % 2);
        random_sequence(half, seed + 1);
        random_sequence(team, seed + 2);
      });
    } while (++seed, agreed(std::chrono::steady_clock::now() < end));
    std::cout << "covered: " << seed - first << " sequences of collectives on " << Model::name() << "\n";
  });
}

}  // namespace pgas_test::collective_suite
