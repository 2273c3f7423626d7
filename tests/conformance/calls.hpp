// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <pgas/async/calls.hpp>
#include <pgas/pgas.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../support/ranks.hpp"

/// The promises of calls, checked on each model that has mailboxes. A unit names its models first:
/// `namespace pgas_test { using calls_models = std::tuple<...>; }`.
namespace pgas_test {

inline constexpr std::size_t kib = 1024;

/// Calls use(team, calls) on every rank of every model of `calls_models` that has mailboxes.
template <class Use>
void with_calls(Use const& use, std::initializer_list<rank_t> sizes = {1, 2, 4},
                pgas::call_options const& options = {}) {
  for_each_model<calls_models>([&]<class Model>(Model) {
    using backend = typename Model::backend;
    if constexpr (pgas::mailbox_backend<backend>) {
      for (rank_t ranks : sizes) {
        if (!can_have<backend>(ranks)) continue;
        on<Model>(ranks, [&](auto& team) {
          auto calls = pgas::make_calls(team, options);
          use(team, calls);
          calls.finish();
        });
      }
    }
  });
}

/// A call or a message may take a turn of all ranks, so floods are shorter where that takes long.
template <class Team>
int times_on(Team const&, int usual) {
  using backend = typename Team::backend_type;
  constexpr bool is_quick = std::is_same_v<backend, pgas::backends::process_map> ||
                            std::is_same_v<backend, pgas::backends::thread_map>;
  return is_quick ? usual : usual / 50;
}

inline int twice(int x) { return 2 * x; }

struct point {
  std::int16_t x;
  double y;
};

TEST_CASE("calls: a call returns what its function makes of values, texts and elements") {
  with_calls([](auto&, auto& calls) {
    for (rank_t to = 0; to < calls.size(); ++to) {
      require_equal(calls
                        .call(
                            to, [](int x, double y) { return x * y; }, 3, 0.5)
                        .value(),
                    1.5, "a product");
      require_equal(calls.template call<&twice>(to, 21).value(), 42, "a function of the program");
      point const moved = calls
                              .call(
                                  to,
                                  [](point p) {
                                    return point{static_cast<std::int16_t>(p.x + 1), p.y};
                                  },
                                  point{1, 2.5})
                              .value();
      require(moved.x == 2 && moved.y == 2.5, "a struct comes back");
      std::string const text(37, 'x');
      require_equal(calls
                        .call(
                            to, [](std::string_view t) { return t.size(); }, text)
                        .value(),
                    text.size(), "the length of a text");
      require_equal(calls
                        .call(
                            to, [](std::string_view t) { return t.back(); }, "literal")
                        .value(),
                    'l', "the end of a literal");
      std::vector<std::int32_t> numbers(5);
      std::iota(numbers.begin(), numbers.end(), to);
      auto const sum = [](std::span<std::int32_t const> all, std::span<std::int32_t const> none) {
        return std::accumulate(all.begin(), all.end(), 0) + static_cast<std::int32_t>(none.size());
      };
      require_equal(calls.call(to, sum, numbers, std::vector<std::int32_t>{}).value(), 5 * to + 10, "a sum");
      auto const where = calls.call(to, [](auto& site) { return std::array{site.rank(), site.from()}; });
      auto request = where;
      require_equal(request.value()[0], to, "the rank where the function runs");
      require_equal(request.value()[1], calls.rank(), "the caller");
    }
  });
}

TEST_CASE("calls: a request without a value ends, and tests as ended from then on") {
  with_calls([](auto& team, auto& calls) {
    int mine = 0;
    auto const shared = calls.share(mine);
    rank_t const right = (team.rank() + 1) % team.size();
    auto request = calls.call(
        right, [](int& m, int x) { m += x; }, shared, 7);
    while (!request.test()) calls.progress();
    request.wait();
    require(request.test(), "a request that has ended tests as ended");
    calls.finish();
    require_equal(mine, 7, "the right neighbour's number");
  });
}

TEST_CASE("calls: long arguments and long values arrive whole, whatever is sent beside them") {
  with_calls(
      [](auto& team, auto& calls) {
        using big = std::array<std::uint32_t, 301>;
        for (std::size_t length : {1U, 9U, 27U, 40U, 200U, 1000U, 2000U}) {
          std::vector<pgas::word> data(length);
          for (std::size_t i = 0; i < length; ++i) data[i] = i * 77 + length;
          std::vector<pgas::call_request<pgas::word>> sums;
          for (rank_t to = 0; to < team.size(); ++to) {
            for (int i = 0; i < 3; ++i)
              sums.push_back(calls.call(
                  to,
                  [](std::span<pgas::word const> all, pgas::word first) {
                    pgas::word sum = first;
                    for (std::size_t k = 0; k < all.size(); ++k) sum += (k + 1) * all[k];
                    return sum;
                  },
                  data, pgas::word{5}));
          }
          pgas::word expected = 5;
          for (std::size_t k = 0; k < length; ++k) expected += (k + 1) * data[k];
          for (auto& sum : sums) require_equal(sum.value(), expected, "a sum of positions and elements");
          auto const back = [](auto& site, std::span<pgas::word const> all) {
            return site.call(
                site.from(), [](std::span<pgas::word const> a) { return a[a.size() - 1]; }, all);
          };
          require_equal(calls.call(team.size() - 1, back, data).value(), data.back(), "the last word");
        }
        big sent{};
        for (std::uint32_t i = 0; i < sent.size(); ++i) sent[i] = i * i;
        auto const turned = [](big const& b) {
          big other{};
          for (std::size_t i = 0; i < b.size(); ++i) other[i] = b[b.size() - 1 - i];
          return other;
        };
        require(calls.call(team.size() - 1, turned, sent).value() == turned(sent), "a long value comes back");
      },
      {1, 2, 4}, {.message_bytes = 128 * kib, .eager_bytes = 400});
}

TEST_CASE("calls: an exception of a function is thrown by the request, with its rank and text") {
  with_calls([](auto& team, auto& calls) {
    rank_t const to = team.size() - 1;
    auto const throws = [](std::string_view text) -> int { throw std::runtime_error(std::string(text)); };
    std::string const text = "the tea is cold, and nobody has put the kettle on";
    require_error(errc::call_failed, {"rank " + std::to_string(to) + ": call: " + text},
                  [&] { calls.call(to, throws, text).value(); });
    require_error(errc::call_failed, {"no text"}, [&] { calls.call(to, [] { throw 7; }).wait(); });
    require_error(errc::bad_file, {"torn"}, [&] {
      calls.call(to, [](auto& s) -> int { throw pgas::error(errc::bad_file, s.rank(), "read", "torn"); })
          .value();
    });
    require_error(errc::call_failed, {"cold"},
                  [&] { calls.call(to, throws, "cold").then([](int x) { return x; }).value(); });
    require_error(errc::call_failed, {"cold"}, [&] {
      calls
          .call(to, [](auto& site) { return site.call(site.from(), [] { throw std::logic_error("cold"); }); })
          .wait();
    });
  });
}

TEST_CASE("calls: an exception of a function that was sent is thrown by finish on all ranks, once") {
  with_calls([](auto& team, auto& calls) {
    if (team.rank() == 0) calls.send(team.size() - 1, [] { throw std::runtime_error("cold"); });
    require_error(errc::call_failed, {"sent to rank " + std::to_string(team.size() - 1), "cold"},
                  [&] { calls.finish(); });
    calls.finish();
  });
}

/// Numbers of each caller in the order in which their functions have run here.
struct order {
  std::vector<std::vector<int>> of = std::vector<std::vector<int>>(64);
};
inline constexpr auto note = [](auto& site, order& o, int i, std::span<pgas::word const>) {
  o.of[static_cast<std::size_t>(site.from())].push_back(i);
};

TEST_CASE("calls: functions start in the order of their calls, also behind long ones") {
  with_calls(
      [](auto& team, auto& calls) {
        order mine;
        auto const shared = calls.share(mine);
        int const times = times_on(team, 2000);
        random_source rng(static_cast<std::uint64_t>(team.rank()));
        for (int i = 0; i < times; ++i) {
          std::vector<pgas::word> const more(rng.one_in(9) ? rng.below(300) : rng.below(3));
          for (rank_t to = 0; to < team.size(); ++to) calls.send(to, note, shared, i, more);
          dawdle(rng);
        }
        calls.finish();
        for (rank_t from = 0; from < team.size(); ++from) {
          auto const& seen = mine.of[static_cast<std::size_t>(from)];
          require_equal(seen.size(), static_cast<std::size_t>(times), "calls of a rank");
          for (int i = 0; i < times; ++i)
            require_equal(seen[static_cast<std::size_t>(i)], i, "the next call");
        }
      },
      {1, 2, 4}, {.message_bytes = 32 * kib, .eager_bytes = 500});
}

TEST_CASE("calls: without order each call still runs once") {
  with_calls(
      [](auto& team, auto& calls) {
        order mine;
        auto const shared = calls.share(mine);
        int const times = times_on(team, 2000);
        for (int i = 0; i < times; ++i)
          calls.send((team.rank() + 1) % team.size(), note, shared, i,
                     std::vector<pgas::word>(i % 5 == 0 ? 200U : 1U));
        calls.finish();
        std::size_t const from = static_cast<std::size_t>((team.rank() + team.size() - 1) % team.size());
        auto seen = mine.of[from];
        std::sort(seen.begin(), seen.end());
        require_equal(seen.size(), static_cast<std::size_t>(times), "calls of the left neighbour");
        for (int i = 0; i < times; ++i) require_equal(seen[static_cast<std::size_t>(i)], i, "a call");
      },
      {2, 3}, {.message_bytes = 32 * kib, .eager_bytes = 500, .ordered = false});
}

/// A random tree of calls: each node adds up what its children return.
struct tree {
  template <class Site>
  pgas::call_request<std::uint64_t> operator()(Site& site, std::uint64_t seed, int depth) const {
    random_source rng(seed);
    auto sum = site.call(site.rank(), [] { return std::uint64_t{1}; });
    for (std::size_t children = depth == 0 ? 0 : rng.below(4); children > 0; --children) {
      auto child = site.call(rng.rank_below(site.size()), tree{}, rng(), depth - 1);
      sum = sum.then([child](std::uint64_t mine) mutable {
        return child.then([mine](std::uint64_t theirs) { return mine + theirs; });
      });
    }
    return sum;
  }
  static std::uint64_t serial(std::uint64_t seed, int depth, rank_t ranks) {
    random_source rng(seed);
    std::uint64_t sum = 1;
    for (std::size_t children = depth == 0 ? 0 : rng.below(4); children > 0; --children) {
      rng.rank_below(ranks);
      sum += serial(rng(), depth - 1, ranks);
    }
    return sum;
  }
};

TEST_CASE("calls: random trees of calls that call return what a serial run returns") {
  with_calls([](auto& team, auto& calls) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      std::uint64_t const mine = seed * 64 + static_cast<std::uint64_t>(team.rank());
      auto request = calls.call(team.size() - 1, tree{}, mine, 6);
      require_equal(request.value(), tree::serial(mine, 6, team.size()), "the nodes of a tree");
    }
  });
}

/// A node of a random program: it adds to a cell of its rank, and calls and sends further nodes. Cells are
/// sums, so the order of nodes does not matter. All ranks share one.
struct random_program {
  static constexpr std::size_t cells = 16;
  using table = std::array<std::uint64_t, cells>;

  /// The numbers of a node's seed, in the order in which both forms take them.
  struct draw {
    explicit draw(std::uint64_t seed) : rng(seed) {}
    std::size_t cell() { return rng.below(cells); }
    std::size_t children(int depth) { return depth == 0 ? 0 : rng.below(4); }
    struct child {
      rank_t to = 0;
      std::uint64_t seed = 0;
      std::size_t more = 0;
      bool is_called = false;
    };
    child next(rank_t ranks) {
      child c;
      c.to = rng.rank_below(ranks);
      c.seed = rng();
      c.more = rng.one_in(4) ? rng.below(150) : rng.below(3);
      c.is_called = rng.one_in(2);
      return c;
    }
    random_source rng;
  };

  template <class Site>
  pgas::call_request<std::uint64_t> operator()(Site& site, std::uint64_t seed, int depth,
                                               std::span<pgas::word const> more) {
    draw from(seed);
    own[from.cell()] += std::accumulate(more.begin(), more.end(), seed);
    auto sum = site.call(
        site.rank(), [](std::uint64_t x) { return x; }, seed);
    for (std::size_t left = from.children(depth); left > 0; --left) {
      auto const c = from.next(site.size());
      std::vector<pgas::word> const words(c.more, c.seed);
      if (!c.is_called) {
        site.send(c.to, *self, c.seed, depth - 1, words);
        continue;
      }
      auto child = site.call(c.to, *self, c.seed, depth - 1, words);
      sum = sum.then([child](std::uint64_t mine) mutable {
        return child.then([mine](std::uint64_t theirs) { return mine + theirs; });
      });
    }
    return sum;
  }
  static std::uint64_t serial(std::vector<table>& all, rank_t rank, std::uint64_t seed, int depth,
                              std::size_t more, std::uint64_t word) {
    draw from(seed);
    all[static_cast<std::size_t>(rank)][from.cell()] += seed + more * word;
    std::uint64_t sum = seed;
    auto const ranks = static_cast<rank_t>(all.size());
    for (std::size_t left = from.children(depth); left > 0; --left) {
      auto const c = from.next(ranks);
      std::uint64_t const value = serial(all, c.to, c.seed, depth - 1, c.more, c.seed);
      if (c.is_called) sum += value;
    }
    return sum;
  }

  std::optional<pgas::shared_object<random_program>> self{};
  table own{};
};

/// Runs a random program of a seed on a team, and compares values and cells with those of a serial run.
template <class Team>
void run_random_program(Team& team, std::uint64_t seed) {
  constexpr int roots = 8;
  constexpr int depth = 4;
  random_source same(seed);
  pgas::call_options options;
  options.message_bytes = (1024 + same.below(512)) * kib;  // its trees fit: less is another promise's matter
  options.eager_bytes = 64 + same.below(2000) / 8 * 8;
  options.ordered = !same.one_in(3);
  auto calls = pgas::make_calls(team, options);
  random_program mine;
  mine.self = calls.share(mine);
  team.barrier();  // before a node of another rank looks for the name
  std::vector<random_program::table> serial(static_cast<std::size_t>(team.size()));
  random_source late(seed * 64 + static_cast<std::uint64_t>(team.rank()));
  std::vector<std::pair<pgas::call_request<std::uint64_t>, std::uint64_t>> requests;
  for (rank_t from = 0; from < team.size(); ++from) {
    for (int i = 0; i < roots; ++i) {
      random_program::draw next(seed + static_cast<std::uint64_t>(from * roots + i) * 77);
      auto const c = next.next(team.size());
      std::uint64_t const value = random_program::serial(serial, c.to, c.seed, depth, c.more, c.seed);
      if (from != team.rank()) continue;
      std::vector<pgas::word> const words(c.more, c.seed);
      if (c.is_called) {
        requests.emplace_back(calls.call(c.to, *mine.self, c.seed, depth, words), value);
      } else {
        calls.send(c.to, *mine.self, c.seed, depth, words);
      }
      if (late.one_in(4)) calls.progress();
    }
  }
  for (auto& [request, value] : requests) require_equal(request.value(), value, "the value of a call");
  calls.finish();
  require(mine.own == serial[static_cast<std::size_t>(team.rank())], "the cells of a serial run");
  require(calls.most_bytes() <= calls.message_bytes(), "no more memory than allowed is used");
}

TEST_CASE("calls: random programs of calls that call and send give what a serial run gives") {
  char const* const budget = std::getenv("PGAS_TEST_SECONDS");
  double const seconds = budget != nullptr ? std::atof(budget) : 2.0;
  for_each_model<calls_models>([&]<class Model>(Model) {
    using backend = typename Model::backend;
    if constexpr (pgas::mailbox_backend<backend>) {
      constexpr auto models = static_cast<double>(std::tuple_size_v<calls_models>);
      auto const end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds / models);
      std::uint64_t seed = next_seed();
      std::uint64_t const first = seed;
      do {
        rank_t const ranks = 1 + static_cast<rank_t>(seed % 5);
        on<Model>(can_have<backend>(ranks) ? ranks : 1, [seed](auto& team) {
          for (std::uint64_t i = 0; i < 3; ++i) run_random_program(team, seed * 3 + i);
        });
      } while (++seed, agreed(std::chrono::steady_clock::now() < end));
      std::cout << "covered: " << 3 * (seed - first) << " programs of calls on " << Model::name() << "\n";
    }
  });
}

/// A walk of calls: each step sends the next one to a random rank. All ranks share one.
struct walk {
  template <class Site>
  void operator()(Site& site, std::uint64_t seed, int left) {
    ++steps;
    if (left == 0) return;
    random_source rng(seed);
    rank_t const to = rng.rank_below(site.size());
    site.send(to, *self, rng(), left - 1);
  }
  std::optional<pgas::shared_object<walk>> self{};
  std::uint64_t steps = 0;
};

TEST_CASE("calls: finish returns after all calls that functions have sent, however long they go on") {
  with_calls([](auto& team, auto& calls) {
    walk mine;
    mine.self = calls.share(mine);
    team.barrier();
    int const length = times_on(team, 1000);
    calls.send((team.rank() + 1) % team.size(), *mine.self, static_cast<std::uint64_t>(team.rank()), length);
    calls.finish();
    auto const all = team.all_reduce(mine.steps);
    require_equal(all, static_cast<std::uint64_t>(length + 1) * static_cast<std::uint64_t>(team.size()),
                  "steps of all walks");
  });
}

TEST_CASE("calls: a million calls to one rank fit into a small memory, which is never exceeded") {
  with_calls(
      [](auto& team, auto& calls) {
        std::uint64_t mine = 0;
        auto const shared = calls.share(mine);
        int const times = times_on(team, 1'000'000) / team.size();
        for (int i = 0; i < times; ++i)
          calls.send(
              0, [](std::uint64_t& m, int x) { m += static_cast<unsigned>(x); }, shared, i);
        calls.finish();
        auto const each = static_cast<std::uint64_t>(times);
        if (team.rank() == 0)
          require_equal(mine, each * (each - 1) / 2 * static_cast<std::uint64_t>(team.size()), "the sum");
        require(calls.most_bytes() <= calls.message_bytes(), "no more memory than allowed is used");
        require(calls.message_bytes() == 64 * kib, "the memory is as small as the options say");
      },
      {4}, {.message_bytes = 64 * kib});
}

TEST_CASE("calls: many requests at once wait for memory, and all have their values") {
  with_calls(
      [](auto& team, auto& calls) {
        int const times = times_on(team, 20'000);
        std::vector<pgas::call_request<int>> requests;
        requests.reserve(static_cast<std::size_t>(times));
        for (int i = 0; i < times; ++i)
          requests.push_back(calls.call((team.rank() + i) % team.size(), [](int x) { return x + 1; }, i));
        for (int i = 0; i < times; ++i)
          require_equal(requests[static_cast<std::size_t>(i)].value(), i + 1, "a value");
        require(calls.most_bytes() <= calls.message_bytes(), "no more memory than allowed is used");
      },
      {1, 2, 4}, {.message_bytes = 16 * kib});
}

/// A burst of calls: each sends three further ones, until its level is 0. All ranks share one.
struct burst {
  template <class Site>
  void operator()(Site& site, int level) {
    ++count;
    for (int i = 0; i < 3 && level > 0; ++i) site.send((site.rank() + i) % site.size(), *self, level - 1);
  }
  std::optional<pgas::shared_object<burst>> self{};
  std::uint64_t count = 0;
};

TEST_CASE("calls: functions that flood each other go on, and exceed no memory") {
  with_calls(
      [](auto& team, auto& calls) {
        burst mine;
        mine.self = calls.share(mine);
        team.barrier();
        int const times = times_on(team, 500);
        for (int i = 0; i < times; ++i) calls.send((team.rank() + i) % team.size(), *mine.self, 3);
        calls.finish();
        require_equal(team.all_reduce(mine.count),
                      40U * static_cast<std::uint64_t>(times) * static_cast<std::uint64_t>(team.size()),
                      "functions of all bursts");
        require(calls.most_bytes() <= calls.message_bytes(), "no more memory than allowed is used");
      },
      {2, 4}, {.message_bytes = 16 * kib});
}

TEST_CASE("calls: functions that start more than fits are refused in words, and the rest ends") {
  with_calls(
      [](auto& team, auto& calls) {
        auto const greedy = [](auto& site) {
          for (int i = 0; i < 10'000; ++i)
            site.send(
                site.from(), [](std::array<double, 8>) {}, std::array<double, 8>{});
        };
        require_error(errc::no_space, {"functions on this rank have started calls", "PGAS_MESSAGE_BYTES"},
                      [&] { calls.call((team.rank() + 1) % team.size(), greedy).wait(); });
        calls.finish();
        require(calls.most_bytes() <= calls.message_bytes(), "no more memory than allowed is used");
      },
      {2}, {.message_bytes = 16 * kib});
}

TEST_CASE("calls: functions run in every wait of their rank, and calls leave in every wait") {
  with_calls([](auto& team, auto& calls) {
    std::uint64_t mine = 0;
    auto const shared = calls.share(mine);
    rank_t const right = (team.rank() + 1) % team.size();
    calls.send(
        right, [](std::uint64_t& m) { ++m; }, shared);
    if (team.size() > 1 && team.rank() == 0) {
      // Rank 0 calls a rank that waits in a barrier.
      calls
          .call(
              right, [](std::uint64_t& m) { m += 10; }, shared)
          .wait();
    }
    team.barrier();
    calls.finish();
    require_equal(mine, team.size() > 1 && team.rank() == 1 ? 11U : 1U, "what functions have added");
  });
}

TEST_CASE("calls: a shared function keeps its state on each rank") {
  with_calls([](auto& team, auto& calls) {
    std::vector<int> heard;
    auto listen = [&heard](int x) {
      heard.push_back(x);
      return heard.size();
    };
    auto const everywhere_same = calls.share(listen);
    rank_t const right = (team.rank() + 1) % team.size();
    require_equal(calls.call(right, everywhere_same, 5).value(), 1U, "the first that it heard");
    require_equal(calls.call(right, everywhere_same, 6).value(), 2U, "the second");
    calls.finish();
    require(heard == std::vector{5, 6}, "this rank has heard both");
  });
}

TEST_CASE("calls: updates of elements by all ranks are indivisible, in windows and in arrays") {
  with_calls([](auto& team, auto& calls) {
    auto window = pgas::make_window<std::uint64_t>(team, 3);
    auto array = pgas::make_array<double>(team, {10});
    using wide = std::array<std::uint64_t, 3>;
    auto wides = pgas::make_window<wide>(team, 1);
    auto const w = calls.share(window);
    auto const a = calls.share(array);
    auto const b = calls.share(wides);
    int const times = times_on(team, 5000);
    std::vector<std::size_t> all(10);
    std::iota(all.begin(), all.end(), 0U);
    for (int i = 0; i < times; ++i) {
      calls.update(
          w, window.pointer(i % team.size(), 1), [](std::uint64_t x, std::uint64_t y) { return x + y; },
          std::uint64_t{3});
      calls.update(b, wides.pointer(0, 0), [](wide x) { return wide{x[0] + 1, x[1] + 2, x[2] + x[0]}; });
    }
    calls.update(a, std::span<std::size_t const>(all), [](double x) { return x + 0.5; });
    calls.finish();
    { pgas::fence epoch{window}; }
    { pgas::fence epoch{array}; }
    std::uint64_t const sum = team.all_reduce(std::uint64_t{window.local()[1]});
    require_equal(sum, 3U * static_cast<std::uint64_t>(times) * static_cast<std::uint64_t>(team.size()),
                  "the sum of all updates");
    for (std::size_t i = 0; i < array.local_rows(); ++i)
      require_equal(double{array.local()[i]}, 0.5 * team.size(), "an element of the array");
    if (team.rank() == 0) {
      auto const n = static_cast<std::uint64_t>(times) * static_cast<std::uint64_t>(team.size());
      wide const seen = wides.local()[0];
      require(seen == wide{n, 2 * n, n * (n - 1) / 2}, "no update of a wide element is lost");
    }
  });
}

TEST_CASE("calls: an update of an element whose rank has another number in the calls' team is refused") {
  with_calls([](auto& team, auto& calls) {
    auto const backwards = team.split(0, -team.rank());
    using wide = std::array<std::uint64_t, 3>;  // which no rank changes in the memory of another one
    auto wides = pgas::make_window<wide>(backwards, 1);
    auto const shared = calls.share(wides);
    for (rank_t r = 0; r < team.size(); ++r) {
      auto const update = [&] {
        calls.update(shared, wides.pointer(r, 0), [](wide x) { return wide{x[0] + 1, x[1], x[2]}; });
      };
      if (backwards.world_rank(r) == team.world_rank(r)) {
        update();
      } else {
        require_error(errc::invalid_argument, {"update", "another one in the team of the calls"}, update);
      }
    }
    calls.finish();
    bool const stays = backwards.world_rank(backwards.rank()) == team.world_rank(backwards.rank());
    wide const seen = wides.local()[0];
    require_equal(seen[0], stays ? static_cast<std::uint64_t>(team.size()) : 0U, "the updates of this rank");
  });
}

TEST_CASE("calls: wrong use is refused in words") {
  with_calls(
      [](auto& team, auto& calls) {
        require_error(errc::out_of_range, {"rank 9 does not exist in a team of"},
                      [&] { calls.send(9, [] {}); });
        require_error(errc::invalid_argument, {"a call of", "raise PGAS_MESSAGE_BYTES"}, [&] {
          calls.send(
              0, [](std::span<double const>) {}, std::vector<double>(100'000));
        });
        require_error(errc::wrong_order, {"a called function must not wait", "then()"},
                      [&] { calls.call(0, [](auto& site) { site.call(0, [] {}).wait(); }).wait(); });
        require_error(errc::invalid_argument, {"bytes are too few", "ranks; give"},
                      [&] { auto const none = pgas::make_calls(team, {.message_bytes = 512}); });
        if (team.size() > 1) {
          require_error(errc::mismatch, {"different options"}, [&] {
            auto const none = pgas::make_calls(team, {.message_bytes = 65536U + 8U * (team.rank() == 1)});
          });
        }
        calls.finish();
      },
      {1, 2}, {.message_bytes = 64 * kib});
}

TEST_CASE("calls: a request that outlives its calls throws that they are gone") {
  with_calls([](auto& team, auto&) {
    auto request = [&] {
      auto lost = pgas::make_calls(team);
      auto open = lost.call(team.rank(), [] { return 1; });
      return open;
    }();
    if (!request.test())
      require_error(errc::gone, {"destroyed before this one had ended"}, [&] { request.wait(); });
    team.barrier();
  });
}

TEST_CASE("calls: a rank that fails with calls under way is named by all others") {
  for_each_model<calls_models>([]<class Model>(Model) {
    if constexpr (pgas::mailbox_backend<typename Model::backend>) {
      auto const failed = error_of<Model>(3, [](auto& team) {
        auto calls = pgas::make_calls(team);
        if (team.rank() == 1) {
          calls.call(0, [] {}).wait();
          throw std::runtime_error("the tea is cold");
        }
        for (;;)
          calls
              .call(
                  1, [](int x) { return x; }, 1)
              .wait();
      });
      REQUIRE(failed.has_value());
      CHECK_MESSAGE(std::string(failed->what()).find("rank 1") != std::string::npos, failed->what());
      CHECK_MESSAGE(std::string(failed->what()).find("the tea is cold") != std::string::npos, failed->what());
    }
  });
}

TEST_CASE("calls: a call that has not left leaves in the waits of its rank") {
  with_calls(
      [](auto& team, auto& calls) {
        bool has_come = false;
        auto const shared = calls.share(has_come);
        rank_t const right = (team.rank() + 1) % team.size();
        calls.send(
            right, [](bool& b) { b = true; }, shared);
        for (int i = 0; i < 20; ++i) team.barrier();
        calls.finish();
        require(has_come, "the left neighbour's call has come");
      },
      {2, 3});
}

}  // namespace pgas_test
