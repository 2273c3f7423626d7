// SPDX-License-Identifier: BSL-1.0
// The promises of windows and of the transfers of their epochs, on every model.
// test: addresses, each way, unit window
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <pgas/global_array.hpp>
#include <pgas/stage.hpp>

#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_window;

namespace {

std::size_t at_rank(rank_t rank) { return static_cast<std::size_t>(rank); }

/// A type that no single instruction can store, with padding in it.
struct particle {
  double x = 0;
  int id = 0;
  friend bool operator==(particle const& a, particle const& b) { return a.x == b.x && a.id == b.id; }
};

/// A type that has as many bytes as the parts of windows are aligned to.
struct alignas(pgas::part_alignment) aligned_element {
  int id = 0;
};

std::vector<int> numbers(int first, std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

template <class Window>
std::vector<typename Window::value_type> own(Window const& w) {
  std::vector<typename Window::value_type> all;
  for (typename Window::value_type const element : w.local()) all.push_back(element);
  return all;
}

}  // namespace

TEST_CASE("window: parts may differ in size and be empty, and every rank knows all sizes") {
  everywhere([](auto& team) {
    auto const size_of = [](rank_t r) { return at_rank(r * 3 % 4) * 5; };
    auto w = make_window<double>(team, size_of(team.rank()));
    require_equal(w.rank(), team.rank(), "rank");
    require_equal(w.ranks(), team.size(), "ranks");
    require_equal(w.size(), size_of(team.rank()), "size");
    require_equal(w.local().size(), w.size(), "local().size()");
    for (rank_t r = 0; r < team.size(); ++r) require_equal(w.size(r), size_of(r), "size(rank)");
    pgas::fence epoch{w};
    for (rank_t r = 0; r < team.size(); ++r) {
      require_equal(epoch.to(r).size(), size_of(r), "the size of a target view");
      for (std::size_t i = at_rank(team.rank()); i < size_of(r); i += at_rank(team.size()))
        epoch.put(r, i, 0.5 + static_cast<double>(i));
    }
    epoch.close();
    for (std::size_t i = 0; i < w.size(); ++i) {
      double const seen = w.local()[i];
      require_equal(seen, 0.5 + static_cast<double>(i), "an element");
    }
  });
}

TEST_CASE("window: a window whose parts are all empty can be fenced") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 0);
    std::vector<int> nothing;
    pgas::fence epoch{w};
    epoch.next();
    epoch.put(0, 0, std::span<int const>{});
    epoch.get(team.size() - 1, 0, nothing);
  });
}

TEST_CASE("window: every operation accepts zero elements, also at the end of a part and in empty parts") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, at_rank(team.rank() % 2) * 6);
    w.local().empty() ? void() : void(w.local()[5] = 7);
    std::vector<int> none;
    std::span<int const> const from(none);
    std::span<int> const into(none);
    int const* const start = none.data();
    int* const place = none.data();
    {
      pgas::lock_all epoch{w};
      for (rank_t r = 0; r < team.size(); ++r) {
        auto const view = epoch.to(r);
        for (std::size_t const first : {std::size_t{0}, view.size()}) {
          view.put(first, from);
          view.get(first, into);
          view.put(first, pgas::own_part{w.size(), 0});
          view.get(first, pgas::own_part{w.size(), 0});
          view.rput(first, from).wait();
          view.rget(first, into).wait();
          view.rput(first, pgas::own_part{w.size(), 0}).wait();
          view.rget(first, pgas::own_part{w.size(), 0}).wait();
          view.accumulate(first, from);
          view.get_accumulate(first, from, into);
          view.raccumulate(first, from).wait();
          view.rget_accumulate(first, from, into).wait();
          view.accumulate(first, from, [](int a, int b) { return a * b; });
          // Rows without elements, elements without rows, and so many that no loop would end.
          constexpr std::size_t most = std::size_t{1} << 40U;
          for (pgas::rows_of const& at :
               {pgas::rows_of{first, 0, 5, 9}, pgas::rows_of{first, 3, 0, 9},
                pgas::rows_of{first, most, 0, 0}, pgas::rows_of{first, most, 0, most},
                pgas::rows_of{first, 0, most, most}}) {
            view.put(at, from);
            view.get(at, into);
            view.put(at, start, at.cols);
            view.get(at, place, at.cols);
            view.rput(at, from).wait();
            view.rget(at, into).wait();
            view.rput(at, start, at.cols).wait();
            view.rget(at, place, at.cols).wait();
            view.accumulate(at, from);
            view.get_accumulate(at, from, into);
            view.raccumulate(at, from).wait();
            view.rget_accumulate(at, from, into).wait();
          }
        }
        epoch.accumulate(r, pgas::rows_of{view.size(), 3, 0, 9}, from);
        require_error(errc::out_of_range, {"elements do not fit"},
                      [&] { epoch.accumulate(r, view.size() + 1, from); });
        require_error(errc::out_of_range, {"elements do not fit"}, [&] {
          epoch.accumulate(r, pgas::rows_of{view.size() + 1, 3, 0, 9}, from);
        });
      }
      epoch.flush_all();
    }
    team.barrier();
    if (!w.local().empty()) require(own(w) == std::vector{0, 0, 0, 0, 0, 7}, "nothing has changed");
  });
}

TEST_CASE(
    "put and get: memory that is also the elements of the other side is refused before anything moves") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 70);
        rank_t const self = team.rank();
        auto const overlaps = [](auto const& act) {
          require_error(errc::invalid_argument, {"source and destination overlap on rank", "copy the source"},
                        act);
        };
        for (std::size_t i = 0; i < 70; ++i) w.local()[i] = static_cast<int>(i);
        team.barrier();
        pgas::lock epoch{w, self, pgas::exclusive};
        // By indices this is known on every memory.
        overlaps([&] { epoch.put(self, 3, pgas::own_part{0, 4}); });
        overlaps([&] { epoch.put(self, 0, pgas::own_part{3, 4}); });
        overlaps([&] { epoch.get(self, 3, pgas::own_part{3, 1}); });
        overlaps([&] { epoch.rput(self, 3, pgas::own_part{0, 4}).wait(); });
        overlaps([&] { epoch.rget(self, 0, pgas::own_part{3, 4}).wait(); });
        epoch.put(self, 60, pgas::own_part{0, 4});
        epoch.get(self, 4, pgas::own_part{64, 4});
        if constexpr (requires { w.local().data(); }) {
          int* const own = w.local().data();
          std::span<int const> const from(own, 4);
          std::span<int> const into(own, 4);
          overlaps([&] { epoch.put(self, 3, from); });
          overlaps([&] { epoch.put(self, 0, from); });
          overlaps([&] { epoch.get(self, 3, into); });
          overlaps([&] { epoch.rput(self, 3, from).wait(); });
          overlaps([&] { epoch.rget(self, 3, into).wait(); });
          overlaps([&] { epoch.accumulate(self, 3, from); });
          overlaps([&] { epoch.raccumulate(self, 3, from).wait(); });
          std::vector<int> other(12);
          overlaps([&] { epoch.get_accumulate(self, 3, from, std::span(other).first(4)); });
          overlaps([&] { epoch.get_accumulate(self, 3, std::span(other).first(4), into); });
          overlaps([&] { epoch.rget_accumulate(self, 3, other, std::span(own, 12)).wait(); });
          epoch.put(self, 4, from);
          epoch.put(self, 3, from.first(3));
          epoch.put(self, 3, from.first(0));
          epoch.accumulate(self, 4, from);

          // Rows of one matrix may lie between each other.
          constexpr pgas::rows_of column{.first = 3, .rows = 6, .cols = 2, .pitch = 10};
          epoch.put(self, column, own + 1, 10);
          epoch.put(self, column, own + 5, 10);
          epoch.get(self, column, own + 25, 10);
          epoch.rput(self, column, own + 9, 10).wait();
          overlaps([&] { epoch.put(self, column, own + 2, 10); });
          overlaps([&] { epoch.put(self, column, own + 4, 10); });
          overlaps([&] { epoch.put(self, column, own + 24, 10); });
          overlaps([&] { epoch.get(self, column, own + 3, 10); });
          overlaps([&] { epoch.rput(self, column, own + 12, 10).wait(); });
          overlaps([&] { epoch.rget(self, column, own + 3, 10).wait(); });
          overlaps([&] { epoch.put(self, column, own, 11); });
          overlaps([&] { epoch.put(self, column, std::span<int const>(own + 1, 12)); });
          overlaps([&] { epoch.accumulate(self, column, std::span<int const>(own, 12)); });
          overlaps([&] { epoch.get_accumulate(self, column, other, std::span(own, 12)); });
          epoch.put(self, pgas::rows_of{.first = 3, .rows = 6, .cols = 1, .pitch = 10}, own + 4, 11);
        }
      },
      {1, 2});
}

TEST_CASE("put: temporary spans, and temporary arrays that are one element, are sources") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 6);
        auto blocks = make_window<std::array<int, 2>>(team, 2);
        auto const values = numbers(1, 6);
        rank_t const to = (team.rank() + 1) % team.size();
        {
          auto [epoch, on_blocks] = pgas::fence_all{w, blocks};
          epoch.put(to, 0, std::span(values).first(2));
          epoch.to(to).put(2, std::span(values).subspan(2, 2));
          epoch.rput(to, pgas::strided(4, 2, 1), std::span(values).last(2)).wait();
          epoch.flush(to);
          epoch.accumulate(to, 0, std::vector{10});  // the source of an accumulate may go at its return
          on_blocks.put(to, 0, std::array{1, 2});
          on_blocks.to(to).put(1, std::array{3, 4});
        }
        require(own(w) == std::vector{11, 2, 3, 4, 5, 6}, "the values of the spans");
        require(own(blocks) == std::vector{std::array{1, 2}, std::array{3, 4}}, "two elements");
      },
      {1, 2});
}

TEST_CASE("window: all bytes are zero at first") {
  everywhere([](auto& team) {
    for (int round = 0; round < 3; ++round) {
      auto w = make_window<int>(team, 700);
      std::vector<int> all(700, 1);
      auto const values = numbers(1, 700);
      pgas::fence epoch{w};
      epoch.get((team.rank() + 1) % team.size(), 0, all);
      epoch.flush_local((team.rank() + 1) % team.size());
      require(std::all_of(all.begin(), all.end(), [](int x) { return x == 0; }),
              "all bytes of a new window are zero");
      epoch.next();
      epoch.put((team.rank() + 1) % team.size(), 0, values);
    }
  });
}

TEST_CASE("window: elements aligned to 128 bytes lie so in each part and stage, also in teams of teams") {
  everywhere([](auto& team) {
    auto const odd = make_window<char>(team, 4096 + 24 * at_rank(team.rank()));  // moves the next windows
    auto const look = [](auto const& team_of_it) {
      auto const w = make_window<aligned_element>(team_of_it, 3 + at_rank(team_of_it.rank()));
      auto const a = pgas::make_array<aligned_element>(team_of_it, {5, 3});
      auto const is_aligned = [](aligned_element const& e) {
        return reinterpret_cast<std::uintptr_t>(&e) % alignof(aligned_element) == 0;
      };
      {
        pgas::fence epoch{w};
        aligned_element const mine{team_of_it.rank()};
        for (rank_t r = 0; r < team_of_it.size(); ++r) {
          if (team_of_it.rank() == (r + 1) % team_of_it.size()) epoch.put(r, 1, mine);
        }
      }
      auto const own = pgas::stage(w, pgas::read_only);
      for (auto const& e : own) require(is_aligned(e), "an element is aligned");
      require_equal(own[1].id, (team_of_it.rank() + 1) % team_of_it.size(), "the element that was put");
      auto const cells = pgas::stage(a, pgas::read_only);
      if (a.own_box().size() != 0) require(is_aligned(cells(a.first_row(), 0)), "a cell is aligned");
      if constexpr (std::remove_cvref_t<decltype(w)>::has_parts) {
        for (rank_t r = 0; r < w.ranks(); ++r) require(is_aligned(w.part(r)[0]), "a part is aligned");
      }
    };
    look(team);
    look(team.split(team.rank() % 2));
  });
}

TEST_CASE("put and get: they move values and spans of any element size, to and from any rank") {
  everywhere([](auto& team) {
    auto const of = [&]<class T>(T const& one, T const& two, std::string const& name) {
      auto w = make_window<T>(team, 5);
      rank_t const to = (team.rank() + 1) % team.size();
      pgas::fence epoch{w};
      auto const target = epoch.to(to);
      std::vector<T> const pair{two, one};
      target.put(0, one);
      target.put(1, std::span<T const>(pair));
      epoch.put(to, 4, two);
      epoch.next();
      require(target.get(0) == one && epoch.get(to, 4) == two, "values of " + name);
      std::vector<T> got(3);
      epoch.get(to, 1, got);
      epoch.flush_local(to);
      require(got[0] == two && got[1] == one && got[2] == T{}, "a span of " + name);
    };
    of('a', 'b', "char");
    of(std::int16_t{3}, std::int16_t{-3}, "short");
    of(1.5F, -2.5F, "float");
    of(1.25, -1e300, "double");
    of(particle{1.5, 7}, particle{-2.5, 8}, "a struct");
    of(std::array<int, 25>{1, 2, 3}, std::array<int, 25>{9, 8}, "a hundred bytes");
  });
}

TEST_CASE("put: a source may be reused after flush_local") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 100);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    {
      pgas::fence epoch{w};
      auto source = numbers(team.rank() * 1000, 100);
      epoch.put(to, 0, source);
      epoch.flush_local(to);
      std::fill(source.begin(), source.end(), -1);
    }
    require(own(w) == numbers(from * 1000, 100), "the source may change after flush_local");
  });
}

TEST_CASE("put: a braced list of two members is one element, not a piece of the own part") {
  everywhere([](auto& team) {
    auto w = make_window<particle>(team, 2);
    pgas::fence epoch{w};
    epoch.put(team.rank(), 0, {1.5, 7});
    epoch.to(team.rank()).put(1, {2.5, 8});
    epoch.next();
    require(epoch.get(team.rank(), 0) == particle{1.5, 7} && epoch.get(team.rank(), 1) == particle{2.5, 8},
            "both structs arrive");
  });
}

TEST_CASE("put and get: sources and destinations may be pieces of the own part, as this rank sees it") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 64);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (int round = 0; round < 5; ++round) {
      for (std::size_t i = 0; i < 16; ++i)
        w.local()[i] = team.rank() * 100 + round * 10'000 + static_cast<int>(i);
      {
        pgas::fence epoch{w};
        epoch.put(to, 16, pgas::own_part{2, 10});
        epoch.put(to, 30, pgas::own_part{0, 0});
        epoch.next();
        epoch.get(to, 0, pgas::own_part{32, 16});
      }
      auto const mine = own(w);
      for (std::size_t i = 0; i < 10; ++i) {
        require_equal(mine[16 + i], from * 100 + round * 10'000 + 2 + static_cast<int>(i),
                      "put from the own part");
      }
      for (std::size_t i = 0; i < 16; ++i) {
        require_equal(mine[32 + i], to * 100 + round * 10'000 + static_cast<int>(i), "got into the own part");
      }
      team.barrier();
    }
  });
}

TEST_CASE("put and get: they move blocks of rows and strided elements, and touch nothing beside them") {
  everywhere([](auto& team) {
    constexpr std::size_t pitch = 11;
    constexpr pgas::rows_of block{.first = 14, .rows = 4, .cols = 5, .pitch = pitch};  // columns 3 to 7
    constexpr pgas::rows_of column = pgas::strided(1, 6, pitch);
    auto w = make_window<int>(team, 70);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    {
      auto const rows = numbers(team.rank() * 1000 + 1, 4 * 7);
      auto const single = numbers(team.rank() * 1000 + 500, 6);
      pgas::fence epoch{w};
      epoch.put(to, block, rows.data(), 7);
      epoch.put(to, column, single);
    }
    std::vector<int> expected(70);
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t col = 0; col < 5; ++col)
        expected[14 + row * pitch + col] = from * 1000 + 1 + static_cast<int>(row * 7 + col);
    }
    for (std::size_t i = 0; i < 6; ++i) expected[1 + i * pitch] = from * 1000 + 500 + static_cast<int>(i);
    require(own(w) == expected, "the part has a block, a column, and zeros beside them");

    pgas::fence epoch{w};
    std::vector<int> dense(20);
    std::vector<int> spread(4 * 9, -1);
    std::vector<int> single(6);
    std::vector<int> nothing;
    epoch.get(to, block, dense);
    epoch.get(to, block, spread.data(), 9);
    epoch.get(to, column, single);
    epoch.get(to, pgas::rows_of{.first = 70, .rows = 0, .cols = 5, .pitch = pitch}, nothing);
    epoch.get(to, pgas::rows_of{.first = 70, .rows = 3, .cols = 0, .pitch = pitch}, nothing);
    epoch.flush_local(to);
    require(single == numbers(team.rank() * 1000 + 500, 6), "a column that was got arrives");
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t col = 0; col < 9; ++col) {
        int const value = team.rank() * 1000 + 1 + static_cast<int>(row * 7 + col);
        if (col < 5) require_equal(dense[row * 5 + col], value, "got without gaps");
        require_equal(spread[row * 9 + col], col < 5 ? value : -1, "got with a pitch, and nothing between");
      }
    }
  });
}

TEST_CASE("rput and rget: the data have arrived when the request is complete") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 300);
    rank_t const to = (team.rank() + 1) % team.size();
    pgas::lock_all epoch{w};
    auto const source = numbers(team.rank() * 1000, 100);
    std::vector<int> again = source;
    auto one = epoch.rput(to, 0, source);
    auto two = epoch.to(to).rput(150, again);
    two.wait();
    std::fill(again.begin(), again.end(), -1);
    while (!one.test()) std::this_thread::yield();
    one.wait();
    epoch.flush(to);
    std::vector<int> into(250);
    auto three = epoch.rget(to, 0, into);
    three.wait();
    require(three.test(), "a request that is done stays done");
    for (std::size_t i = 0; i < 250; ++i) {
      int const expected = i < 100 ? source[i] : i >= 150 ? source[i - 150] : 0;
      require_equal(into[i], expected, "an element got");
    }
    team.barrier();
  });
}

TEST_CASE("requests: rows, strided elements, single ones and own parts move like without requests") {
  everywhere([](auto& team) {
    constexpr std::size_t pitch = 11;
    constexpr pgas::rows_of block{.first = 14, .rows = 4, .cols = 5, .pitch = pitch};
    constexpr pgas::rows_of column = pgas::strided(1, 6, pitch);
    auto w = make_window<int>(team, 100);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    for (std::size_t i = 0; i < 4; ++i) w.local()[80 + i] = team.rank() * 1000 + 900 + static_cast<int>(i);
    team.barrier();
    auto rows = numbers(team.rank() * 1000 + 1, 4 * 7);
    auto single = numbers(team.rank() * 1000 + 500, 6);
    {
      pgas::fence epoch{w};
      auto one = epoch.rput(to, block, rows.data(), 7);
      auto two = epoch.rput(to, column, single);
      auto three = epoch.rput(to, 70, team.rank() + 7);
      auto four = epoch.rput(to, 90, pgas::own_part{80, 4});
      while (!one.test()) std::this_thread::yield();
      two.wait();
      require(three.test() && four.test(), "these are done at return");
      std::fill(rows.begin(), rows.end(), -1);
      std::fill(single.begin(), single.end(), -1);
      epoch.rput(to, pgas::rows_of{.first = 70, .rows = 0, .cols = 5, .pitch = pitch}, rows.data(), 5).wait();
    }
    std::vector<int> expected(100);
    for (std::size_t row = 0; row < 4; ++row) {
      for (std::size_t col = 0; col < 5; ++col)
        expected[14 + row * pitch + col] = from * 1000 + 1 + static_cast<int>(row * 7 + col);
    }
    for (std::size_t i = 0; i < 6; ++i) expected[1 + i * pitch] = from * 1000 + 500 + static_cast<int>(i);
    for (std::size_t i = 0; i < 4; ++i) {
      expected[80 + i] = team.rank() * 1000 + 900 + static_cast<int>(i);
      expected[90 + i] = from * 1000 + 900 + static_cast<int>(i);
    }
    expected[70] = from + 7;
    require(own(w) == expected, "the part has what requests put, and zeros beside it");
    team.barrier();
    {
      pgas::fence epoch{w};
      std::vector<int> dense(20);
      std::vector<int> spread(4 * 9, -1);
      std::vector<int> strided(6);
      int seventy = 0;
      auto one = epoch.rget(to, block, dense);
      auto two = epoch.rget(to, block, spread.data(), 9);
      auto three = epoch.rget(to, column, strided);
      epoch.rget(to, 70, seventy).wait();
      three.wait();
      while (!two.test()) std::this_thread::yield();
      one.wait();
      require(strided == numbers(team.rank() * 1000 + 500, 6), "a column arrives with its request");
      require_equal(seventy, team.rank() + 7, "an element arrives with its request");
      for (std::size_t row = 0; row < 4; ++row) {
        for (std::size_t col = 0; col < 9; ++col) {
          int const value = team.rank() * 1000 + 1 + static_cast<int>(row * 7 + col);
          if (col < 5) require_equal(dense[row * 5 + col], value, "got without gaps");
          require_equal(spread[row * 9 + col], col < 5 ? value : -1, "got with a pitch, and nothing between");
        }
      }
      epoch.next();
      epoch.rget(to, 0, pgas::own_part{70, 1}).wait();
      epoch.next();
      std::vector<int> before(6);
      epoch.raccumulate(to, column, numbers(1, 6)).wait();
      epoch.rget_accumulate(to, column, numbers(1, 6), before).wait();
      for (std::size_t i = 0; i < 6; ++i)
        require_equal(before[i], strided[i] + 1 + static_cast<int>(i), "before");
      int old = -1;
      epoch.raccumulate(to, 79, 3).wait();
      epoch.rget_accumulate(to, 79, 4, old).wait();
      require_equal(old, 3, "the value before");
      require_equal(epoch.get_accumulate(to, 79, 0), 7, "the sum of both requests");
    }
    require_equal(own(w)[70], 0, "got into the own part");
  });
}

TEST_CASE("an epoch may have a hundred thousand outstanding operations and more, with requests and without") {
  constexpr std::size_t many = 50'001;
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 2 * many);
        rank_t const to = (team.rank() + 1) % team.size();
        auto const source = numbers(team.rank() * 1000 + 1, 2 * many);
        std::vector<int> into(2 * many);
        {
          pgas::fence epoch{w};
          for (std::size_t i = 0; i < many; ++i) epoch.put(to, i, source[i]);
          using request = decltype(epoch.rput(to, 0, std::span(source)));
          std::vector<request> requests;
          for (std::size_t i = many; i < 2 * many; ++i)
            requests.push_back(epoch.rput(to, i, std::span(source).subspan(i, 1)));
          epoch.close();  // completes all of them
          for (auto& one : requests) require(one.test(), "a request of an epoch that is closed is done");
        }
        {
          pgas::lock_all epoch{w};
          for (std::size_t i = 0; i < many; ++i) epoch.get(to, i, std::span(into).subspan(i, 1));
          std::vector<decltype(epoch.rget(to, 0, std::span(into)))> requests;
          for (std::size_t i = many; i < 2 * many; ++i)
            requests.push_back(epoch.rget(to, i, std::span(into).subspan(i, 1)));
          while (!requests.empty()) {
            requests.back().wait();  // the last request first
            requests.pop_back();
          }
          epoch.close();
        }
        require(into == source, "values put one by one are got one by one");
        team.barrier();
      },
      {2});
}

TEST_CASE("rget: it sees this rank's own earlier put once that is flushed") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, at_rank(team.size()));
    pgas::lock_all epoch{w};
    std::size_t const mine = at_rank(team.rank());
    for (int round = 1; round < 10; ++round) {
      for (rank_t r = 0; r < team.size(); ++r) {
        epoch.put(r, mine, round);
        epoch.flush(r);
        int seen = -1;
        epoch.rget(r, mine, std::span(&seen, 1)).wait();
        require_equal(seen, round, "the value put before");
      }
    }
  });
}

TEST_CASE("targets: a rank may access its own part by every operation") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 8);
    rank_t const self = team.rank();
    {
      pgas::fence epoch{w};
      epoch.put(self, 0, 1);
      epoch.accumulate(self, 1, 5);
      epoch.next();
      require(epoch.get(self, 0) == 1 && epoch.get(self, 1) == 5, "a fence reaches the own part");
    }
    {
      pgas::exposure exposed{w, {self}};
      pgas::access epoch{w, {self}};
      epoch.put(self, 2, 7);
      epoch.put(self, 3, pgas::own_part{0, 2});
    }
    require_equal(own(w), std::vector<int>{1, 5, 7, 1, 5, 0, 0, 0}, "by post, start, complete and wait");
    {
      pgas::lock_all epoch{w};
      epoch.put(self, 5, 9);
      epoch.flush(self);
      require_equal(epoch.get(self, 5), 9, "by lock_all");
      require_equal(epoch.fetch_add(self, 6, 2), 0, "fetch_add");
      epoch.sync();  // or own loads may still see old copies
    }
    require_equal(own(w), std::vector<int>{1, 5, 7, 1, 5, 9, 2, 0}, "the whole part after all operations");
  });
}

TEST_CASE("global_ptr: it means the same on every rank, and an epoch makes it a reference") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 10);
    auto pointers = make_window<pgas::global_ptr<int>>(team, 1);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() - 1 + team.size()) % team.size();
    {
      pgas::fence epoch{pointers};
      epoch.put(to, 0, w.pointer(team.rank(), 4) + 2);
    }
    pgas::global_ptr<int> const p = pointers.local()[0];
    require(p && p.rank == from && p.index == 6, "the neighbour's pointer arrives");
    require(p - w.pointer(from, 1) == 5 && w.pointer(from, 1) < p, "pointers have arithmetic and order");
    require(!pgas::global_ptr<int>{}, "a default pointer names nothing");
    {
      pgas::fence epoch{w};
      epoch[p].store(team.rank() + 100);
      epoch.next();
      require_equal(epoch[p].load(), team.rank() + 100, "load");
      epoch.next();
      require_equal(epoch[p].update(pgas::op::sum{}, 5), team.rank() + 100, "update returns the old value");
      require(epoch[p].rank() == from && epoch[p].index() == 6,
              "a reference has the pointer's rank and index");
      epoch[p].atomic_store(epoch[p].atomic_load() + 1);
      require_equal(epoch[p].atomic_load(), team.rank() + 106, "atomic_load");
    }
    int const here = w.local()[6];
    require_equal(here, to + 106, "the value that the neighbour stored through the pointer");
    if constexpr (std::remove_cvref_t<decltype(w)>::is_contiguous) {
      require(w.local(w.pointer(team.rank(), 6)) == w.local().data() + 6,
              "a pointer into the own part gives its address");
    }
  });
}

TEST_CASE("part: any rank's part is a span if memory is shared") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 4);
    if constexpr (std::remove_cvref_t<decltype(w)>::state_type::is_direct) {
      w.part((team.rank() + 1) % team.size())[2] = team.rank();
      team.barrier();
      require_equal(w.local()[2], (team.rank() - 1 + team.size()) % team.size(), "stored by the neighbour");
      require(w.part(team.rank()).data() == w.local().data(), "the own part is local()");
      require(w.local(w.pointer(0, 3)) == w.part(0).data() + 3, "a pointer into any part gives its address");
    }
  });
}

TEST_CASE("local: it is a random access range for any element type") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 20);
    auto const range = w.local();
    require(!range.empty() && range.size() == 20, "local() has the size of the part");
    int next = 20;
    for (auto&& element : range) element = --next;
    for (std::size_t i = 0; i < 20; ++i) {
      int const seen = range[i];
      require_equal(seen, 19 - static_cast<int>(i), "an element");
    }
    range[3] += 100;
    range[4] -= 100;
    int const up = range[3];
    int const down = range.begin()[4];
    require(up == 116 && down == -85, "+= and -= change the element");
    range.front() = range.back();
    int const front = *range.begin();
    require_equal(front, 0, "an element assigned from another one");
    auto const part = range.subspan(5, 3);
    int const first = part[0];
    require(part.size() == 3 && first == 14, "a subspan has its size and first element");
    require(
        range.end() - range.begin() == 20 && range.begin() + 20 == range.end() && range.begin() < range.end(),
        "iterators are random access");
    using std::swap;
    swap(range[10], range[11]);
    int const swapped = range[10];
    require_equal(swapped, 8, "a swapped element");
  });
}

TEST_CASE(
    "stage: read_only sees the elements, write_only overwrites them, read_write keeps those that did not "
    "change") {
  everywhere([](auto& team) {
    auto w = make_window<int>(team, 50);
    {
      auto all = pgas::stage(w, pgas::write_only);
      std::iota(all.begin(), all.end(), team.rank() * 100);
      require(all.size() == 50 && all.span().size() == 50, "a staged part has the size of the part");
    }
    {
      auto const seen = pgas::stage(w, 10, 20, pgas::read_only);
      for (std::size_t i = 0; i < 20; ++i)
        require_equal(seen[i], team.rank() * 100 + 10 + static_cast<int>(i), "read");
    }
    {
      auto some = pgas::stage(w, 20, 10, pgas::read_write);
      some[3] = -1;
      some.data()[4] += 1000;
    }
    {
      auto none = pgas::stage(w, 50, 0, pgas::write_only);
      require(none.size() == 0, "a piece at the end may be empty");
    }
    pgas::fence epoch{w};
    for (rank_t r = 0; r < team.size(); ++r) {
      std::vector<int> all(50);
      epoch.get(r, 0, all);
      epoch.flush_local(r);
      for (std::size_t i = 0; i < 50; ++i) {
        int const expected = i == 23 ? -1 : r * 100 + static_cast<int>(i) + (i == 24 ? 1000 : 0);
        require_equal(all[i], expected, "the elements that other ranks see after a fence");
      }
    }
  });
}

TEST_CASE("window: it may be destroyed while an epoch is open, since the epoch holds its state") {
  everywhere([](auto& team) {
    auto made = make_window<int>(team, 2);
    auto w = std::make_unique<decltype(made)>(std::move(made));
    pgas::fence epoch{*w};
    w.reset();
    epoch.put((team.rank() + 1) % team.size(), 0, team.rank());
    epoch.next();
    require_equal(epoch.get(team.rank(), 0), (team.rank() - 1 + team.size()) % team.size(),
                  "the value put after the window was destroyed");
  });
}

TEST_CASE("window: two hundred windows, one after the other and several at a time, leave no extent behind") {
  everywhere(
      [](auto& team) {
        for (int i = 0; i < 200; ++i) {
          auto one = make_window<int>(team, 100);
          auto two = make_window<double>(team, 2000);
          if (i % 10 == 0) {
            pgas::fence epoch{one};
            epoch.put((team.rank() + 1) % team.size(), 99, i);
          }
        }
      },
      {1, 3});
#if !defined(PGAS_TEST_ONE_BACKEND)
  // thread_map can list its extents: only the team's own words are left.
  if (chosen("thread_map")) {
    auto const job = pgas::backends::thread_map::launch(3, [](auto&& backend, auto& boot) {
      auto b = backend;
      pgas::team<pgas::backends::thread_map> team(pgas::detail::make_world(b, boot));
      for (int i = 0; i < 200; ++i) {
        auto w = make_window<int>(team, 100);
        auto sub = team.split(team.rank() % 2);
        auto on_sub = make_window<int>(sub, 10);
      }
      team.barrier();
      boot.fence();
      require_equal(boot.extent_count(), 1U, "extents: the team's words");
      boot.fence();
    });
    CHECK(job.extent_count() == 0);
  }
#endif
}

TEST_CASE("window: element types and policies must be the same on all ranks") {
  everywhere(
      [](auto& team) {
        require_error(errc::mismatch, {"make_window", "rank " + std::to_string(team.rank()) + ":"}, [&] {
          if (team.rank() == 1) {
            static_cast<void>(make_window<char>(team, 3));
          } else {
            static_cast<void>(make_window<int>(team, 3));
          }
        });
        // The team works on.
        auto w = make_window<int>(team, 3);
        pgas::fence epoch{w};
      },
      {2, 4});
}
