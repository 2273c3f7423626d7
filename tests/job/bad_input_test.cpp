// SPDX-License-Identifier: BSL-1.0
// Wrong programs are refused with rank, operation, index and bound. Every rank ends, and nothing is left
// behind.
// test: sleeps, early, unit job
#include <array>
#include <chrono>
#include <optional>
#include <pgas/async/calls.hpp>
#include <pgas/async/requests.hpp>
#include <pgas/containers/distributed_map.hpp>
#include <pgas/containers/distributed_queue.hpp>
#include <pgas/containers/distributed_vector.hpp>
#include <pgas/containers/work_stealing_queue.hpp>
#include <pgas/global_array.hpp>
#include <pgas/heap.hpp>
#include <pgas/signals.hpp>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/leftovers.hpp"
#include "support/ranks.hpp"

using namespace pgas_test;
using pgas::make_window;

namespace {

std::string me(auto& team) { return "rank " + std::to_string(team.rank()) + ":"; }

/// Runs the body on every rank and checks that nothing is left behind.
template <class Body>
void everywhere_and_clean(Body const& body, std::initializer_list<rank_t> sizes = {1, 3}) {
  leftovers const before;
  everywhere(body, sizes);
  before.check("after the errors");
}

/// Checks that the body fails the job on every model: run throws this code and these texts, soon, and leaves
/// nothing.
template <class Models = all_models, class Body>
void fails(rank_t ranks, errc code, std::initializer_list<std::string> pieces, Body const& body,
           double within = 3) {
  for_each_model<Models>([&]<class Model>(Model) {
    if (!can_have<typename Model::backend>(ranks)) return;
    leftovers const before;
    stopwatch const watch;
    std::optional<pgas::error> const e = error_of<Model>(ranks, body);
    double const seconds = watch.seconds();
    CHECK_MESSAGE(e.has_value(), Model::name(), ": run does not throw");
    if (e) {
      std::string const what = e->what();
      CHECK_MESSAGE(e->code() == pgas::make_error_code(code), Model::name(), ": ", what);
      CHECK_MESSAGE(what.find("rank -1") == std::string::npos, Model::name(), ": ", what);
      if (code == errc::deadlock)  // each rank's wait, and before them nothing
        CHECK_MESSAGE(what.find(": ") == what.rfind(": deadlock"), Model::name(), ": ", what);
      for (auto const& piece : pieces)
        CHECK_MESSAGE(what.find(piece) != std::string::npos, Model::name(), ": '", piece,
                      "' is not in: ", what);
    }
    CHECK_MESSAGE(seconds < within, Model::name(), " took ", seconds, " s");
    before.check(Model::name());
  });
}

/// Requires that act() throws an error that ends with the place of the call in it, which is in this line.
template <class Act>
void names_its_line(Act const& act, std::source_location const& here = std::source_location::current()) {
  try {
    act();
  } catch (pgas::error const& e) {
    std::string const place = "(bad_input_test.cpp:" + std::to_string(here.line()) + ")";
    require(e.sentence().ends_with(" " + place), "the error ends with " + place + ": " + e.what(), here);
    return;
  }
  require(false, "no error was thrown", here);
}

/// Function of a call; it never runs.
struct never {
  void operator()(auto&&...) const {}
};

using models_that_look = std::tuple<thread_model, process_model, write_back_model, scc_model>;

}  // namespace

TEST_CASE("a wrong rank or index: every call that takes one names its file and line") {
  everywhere(
      [](auto& team) {
        auto w = make_window<int>(team, 4);
        auto a = pgas::make_array<int>(team, {4, 4});
        auto line = pgas::make_array<int>(team, 4);
        auto signals = pgas::make_signals(w);
        rank_t const no = team.size();
        std::vector<int> v(2);
        std::vector<int> u(2);
        pgas::rows_of const rows{.first = 3, .rows = 1, .cols = 2, .pitch = 2};
        pgas::rows_of const inside{.first = 0, .rows = 1, .cols = 2, .pitch = 2};
        {
          pgas::lock_all epoch{w};
          names_its_line([&] { epoch.put(no, 0, 1); });
          names_its_line([&] { epoch.put(-1, 0, v); });
          names_its_line([&] { epoch.put(0, 4, 1); });
          names_its_line([&] { epoch.put(0, 3, v); });
          names_its_line([&] { epoch.put(0, 3, pgas::own_part{0, 2}); });
          names_its_line([&] { epoch.put(0, 0, pgas::own_part{3, 2}); });
          names_its_line([&] { epoch.put(0, rows, v); });
          names_its_line([&] { epoch.put(0, inside, std::span(v).first(1)); });
          names_its_line([&] { epoch.put(0, rows, v.data(), 2); });
          names_its_line([&] { static_cast<void>(epoch.get(no, 0)); });
          names_its_line([&] { static_cast<void>(epoch.get(0, 4)); });
          names_its_line([&] { epoch.get(0, 3, v); });
          names_its_line([&] { epoch.get(0, 3, pgas::own_part{0, 2}); });
          names_its_line([&] { epoch.get(0, rows, v); });
          names_its_line([&] { epoch.get(0, rows, v.data(), 2); });
          names_its_line([&] { epoch.rput(0, 4, 1).wait(); });
          names_its_line([&] { epoch.rput(0, 3, v).wait(); });
          names_its_line([&] { epoch.rput(0, rows, v).wait(); });
          names_its_line([&] { epoch.rget(0, 4, v[0]).wait(); });
          names_its_line([&] { epoch.rget(0, 3, v).wait(); });
          names_its_line([&] { epoch.rget(0, rows, v).wait(); });
          names_its_line([&] { epoch.accumulate(no, 0, 1); });
          names_its_line([&] { epoch.accumulate(0, 4, 1, pgas::op::max{}); });
          names_its_line([&] { epoch.accumulate(0, 3, v); });
          names_its_line([&] { epoch.accumulate(0, rows, v); });
          names_its_line([&] { static_cast<void>(epoch.get_accumulate(0, 4, 1)); });
          names_its_line([&] { epoch.get_accumulate(0, 3, v, u); });
          names_its_line([&] { epoch.get_accumulate(0, 0, v, v); });
          names_its_line([&] { epoch.get_accumulate(0, rows, v, u); });
          names_its_line([&] { epoch.raccumulate(0, 4, 1).wait(); });
          names_its_line([&] { epoch.raccumulate(0, rows, v).wait(); });
          names_its_line([&] { epoch.rget_accumulate(0, 4, 1, v[0]).wait(); });
          names_its_line([&] { epoch.rget_accumulate(0, 3, v, u).wait(); });
          names_its_line([&] { static_cast<void>(epoch.fetch_add(0, 4, 1)); });
          names_its_line([&] { static_cast<void>(epoch.exchange(no, 0, 1)); });
          names_its_line([&] { static_cast<void>(epoch.compare_exchange(0, 4, v[0], 1)); });
          names_its_line([&] { static_cast<void>(epoch.atomic_load(0, 4)); });
          names_its_line([&] { epoch.atomic_store(no, 0, 1); });
          names_its_line([&] { epoch.visit(no, [](auto const&) {}); });
          names_its_line([&] { epoch.flush(no); });
          names_its_line([&] { epoch.flush_local(no); });
          names_its_line([&] { static_cast<void>(epoch.to(no)); });
          names_its_line([&] { static_cast<void>(epoch[{no, 0}]); });
          names_its_line([&] { static_cast<void>(epoch[w.pointer(0, 4)]); });
          names_its_line([&] { static_cast<void>(pgas::start_flush(epoch, no)); });
          names_its_line([&] { signals.signal(epoch, no); });
          names_its_line([&] { signals.put(epoch, 0, 3, v); });
          auto const part = epoch.to(0);
          names_its_line([&] { part.put(4, 1); });
          names_its_line([&] { part.put(3, v); });
          names_its_line([&] { static_cast<void>(part.get(4)); });
          names_its_line([&] { part.accumulate(4, 1); });
          names_its_line([&] { static_cast<void>(part.fetch_add(4, 1)); });
          names_its_line([&] { static_cast<void>(part.ref(4)); });
          names_its_line([&] { static_cast<void>(part[4]); });
          names_its_line([&] { part.prefetch(4); });
        }
        {
          pgas::fence epoch{w};
          epoch.close();
          names_its_line([&] { epoch.put(0, 0, 1); });
        }
        names_its_line([&] { pgas::lock const epoch(w, no, pgas::exclusive); });
        names_its_line([&] { pgas::lock const epoch(w, no, pgas::lock_kind::shared); });
        names_its_line([&] { static_cast<void>(pgas::try_lock(w, no, pgas::shared)); });
        names_its_line([&] { pgas::access const epoch(w, {no}); });
        names_its_line([&] { pgas::access const epoch(w, {0, 0}, pgas::no_check); });
        names_its_line([&] { pgas::access const epoch(w, std::vector{no}); });
        names_its_line([&] { pgas::exposure const epoch(w, {no}); });
        {
          pgas::access epoch(w, std::vector<rank_t>{});
          names_its_line([&] { epoch.put(0, 0, 1); });
          names_its_line([&] { epoch.complete(0); });
          names_its_line([&] { epoch.put_last(0, 0, 1); });
        }
        {
          pgas::lock_all epoch{a};
          std::vector<std::array<std::size_t, 2>> const cells{{0, 0}, {4, 0}};
          std::vector<bool> const mask(2, true);
          names_its_line([&] { epoch.put({4, 0}, 1); });
          names_its_line([&] { static_cast<void>(epoch.get({0, 4})); });
          names_its_line([&] { epoch.put({{4, 0}, {1, 2}}, v); });
          names_its_line([&] { epoch.get({{4, 0}, {1, 2}}, v); });
          names_its_line([&] { epoch.put({{0, 0}, {1, 3}}, v); });
          names_its_line([&] { epoch.accumulate({{4, 0}, {1, 2}}, v); });
          names_its_line([&] { epoch.get_accumulate({{4, 0}, {1, 2}}, v, u); });
          names_its_line([&] { epoch.rput({{4, 0}, {1, 2}}, v).wait(); });
          names_its_line([&] { epoch.rget({4, 0}, v[0]).wait(); });
          names_its_line([&] { epoch.put(cells, v); });
          names_its_line([&] { epoch.get(cells, v); });
          names_its_line([&] { epoch.accumulate(cells, v); });
          names_its_line([&] { epoch.put({{4, 0}, {1, 2}}, mask, v); });
          names_its_line([&] { epoch.get({{0, 0}, {1, 3}}, mask, v); });
        }
        {
          pgas::lock_all epoch{line};
          names_its_line([&] { epoch.put(3, v); });
          names_its_line([&] { epoch.get(3, v); });
          names_its_line([&] { epoch.accumulate(3, v); });
          names_its_line([&] { epoch.rput(3, v).wait(); });
        }
        names_its_line([&] { static_cast<void>(w.size(no)); });
        names_its_line([&] { static_cast<void>(w.part_if_near(no)); });
        names_its_line([&] { static_cast<void>(w.pointer(no, 0)); });
        names_its_line([&] { static_cast<void>(stage(w, 3, 2, pgas::read_only)); });
        names_its_line([&] { static_cast<void>(a.at(4, 0)); });
        names_its_line([&] { static_cast<void>(a.at({4, 0})); });
        names_its_line([&] { static_cast<void>(a.owner(0, 4)); });
        names_its_line([&] { static_cast<void>(a.box_of(no)); });
        names_its_line([&] { static_cast<void>(line.at(4)); });
        names_its_line([&] { static_cast<void>(signals.test({.source = no})); });
        names_its_line([&] { signals.wait({.source = no}); });
        names_its_line([&] { static_cast<void>(signals.pending({.source = 0, .tag = 1})); });
        names_its_line([&] { static_cast<void>(team.world_rank(no)); });
        names_its_line([&] { static_cast<void>(team.locality_of(no)); });
        names_its_line([&] { static_cast<void>(team.broadcast(1, no)); });
        names_its_line([&] { team.broadcast(v, no); });
        names_its_line([&] { team.reduce(v, u, no); });
        names_its_line([&] { team.gather(v, u, no); });
        names_its_line([&] { team.scatter(v, u, no); });
        names_its_line([&] { static_cast<void>(team.start().broadcast(v, no)); });
        team.barrier();
      },
      {2});
}

TEST_CASE("a wrong rank of a call, or an element past a piece of a heap, comes with file and line") {
  pgas::run<pgas::backends::thread_map>(2, [](auto& team) {
    auto calls = pgas::make_calls(team);
    names_its_line([&] { static_cast<void>(calls.call(2, never{}, 1)); });
    names_its_line([&] { calls.send(-1, never{}, 1); });
    calls.finish();

    auto heap = pgas::make_heap<int>(team, 8);
    auto const piece = heap.open(heap.make(2).release());
    std::vector<int> const v(2);
    pgas::lock_all epoch{heap.window()};
    names_its_line([&] { epoch.put(piece, 2, 1); });
    names_its_line([&] { epoch.put(piece, 1, v); });
    names_its_line([&] { static_cast<void>(epoch.get(piece, 2)); });
    names_its_line([&] { epoch.accumulate(piece, 1, v); });
  });
}

TEST_CASE("past the end: every access names rank, operation, index and bound") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 10);
    rank_t const to = team.size() - 1;
    std::string const on = "rank " + std::to_string(to);
    pgas::lock_all epoch{w};
    auto const refused = [&](std::string const& operation, std::string const& index, auto&& act) {
      require_error(errc::out_of_range, {me(team), operation, index, on, "10"}, act);
    };
    std::vector<int> three(3);
    std::size_t const huge = ~std::size_t{0};
    refused("put", "10", [&] { epoch.put(to, 10, 1); });
    refused("put", "element -1 does", [&] { epoch.put(to, huge, 1); });
    refused("put", "8", [&] { epoch.put(to, 8, three); });
    refused("put", "3 elements do not fit at -2", [&] { epoch.put(to, huge - 1, three); });
    refused("put", "9", [&] { epoch.put(to, 9, pgas::own_part{0, 2}); });
    refused("put", "11", [&] { epoch.put(to, 11, std::span<int const>{}); });
    refused("put", "4", [&] {
      epoch.put(to, pgas::rows_of{.first = 4, .rows = 2, .cols = 2, .pitch = 5}, three.data(), 2);
    });
    refused("get", "10", [&] { static_cast<void>(epoch.get(to, 10)); });
    refused("get", "8", [&] { epoch.get(to, 8, three); });
    refused("get", "9", [&] { epoch.get(to, 9, pgas::own_part{0, 2}); });
    refused("get", "4", [&] {
      epoch.get(to, pgas::rows_of{.first = 4, .rows = 2, .cols = 2, .pitch = 5}, three.data(), 2);
    });
    refused("rput", "8", [&] { epoch.rput(to, 8, three).wait(); });
    refused("rget", "8", [&] { epoch.rget(to, 8, three).wait(); });
    refused("rput", "4", [&] {
      epoch.rput(to, pgas::rows_of{.first = 4, .rows = 2, .cols = 2, .pitch = 5}, three.data(), 2).wait();
    });
    refused("rget", "4", [&] {
      epoch.rget(to, pgas::rows_of{.first = 4, .rows = 2, .cols = 2, .pitch = 5}, three.data(), 2).wait();
    });
    refused("accumulate", "10", [&] { epoch.accumulate(to, 10, 1); });
    refused("accumulate", "8", [&] { epoch.accumulate(to, 8, three); });
    refused("prefetch", "10", [&] { epoch.to(to).prefetch(10); });
    refused("get_accumulate", "10", [&] { static_cast<void>(epoch.get_accumulate(to, 10, 1)); });
    refused("fetch_add", "10", [&] { static_cast<void>(epoch.fetch_add(to, 10, 1)); });
    refused("exchange", "10", [&] { static_cast<void>(epoch.exchange(to, 10, 1)); });
    int expected = 0;
    refused("compare_exchange", "10",
            [&] { static_cast<void>(epoch.compare_exchange(to, 10, expected, 1)); });
    refused("atomic_load", "10", [&] { static_cast<void>(epoch.atomic_load(to, 10)); });
    refused("atomic_store", "10", [&] { epoch.atomic_store(to, 10, 1); });
    refused("ref", "10", [&] { static_cast<void>(epoch.to(to)[10]); });
    require_error(errc::out_of_range, {me(team), "put", "9", "10"}, [&] {
      epoch.put(to, 0, pgas::own_part{9, 2});
    });
    require_error(errc::out_of_range, {me(team), "get", "9", "10"}, [&] {
      epoch.get(to, 0, pgas::own_part{9, 2});
    });
    require_error(errc::out_of_range, {me(team), "stage", "8", "10"},
                  [&] { static_cast<void>(pgas::stage(w, 8, 3, pgas::read_only)); });
    // The refused access leaves the epoch as it was.
    epoch.put(to, static_cast<std::size_t>(team.rank()), 1);
  });
}

TEST_CASE("no such rank: every operation that names one is refused with the size of the team") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 1);
    for (rank_t const wrong : {-1, team.size(), 1 << 30}) {
      auto const refused = [&](std::string const& operation, auto&& act) {
        require_error(errc::out_of_range,
                      {me(team), operation, std::to_string(wrong), std::to_string(team.size())}, act);
      };
      pgas::lock_all epoch{w};
      refused("put", [&] { epoch.put(wrong, 0, 1); });
      refused("get", [&] { static_cast<void>(epoch.get(wrong, 0)); });
      refused("to", [&] { static_cast<void>(epoch.to(wrong)); });
      refused("size", [&] { static_cast<void>(w.size(wrong)); });
      refused("pointer", [&] { static_cast<void>(w.pointer(wrong, 0)); });
      refused("world_rank", [&] { static_cast<void>(team.world_rank(wrong)); });
      refused("locality_of", [&] { static_cast<void>(team.locality_of(wrong)); });
      refused("broadcast", [&] { static_cast<void>(team.broadcast(1, wrong)); });
      epoch.close();
      refused("start", [&] { pgas::access a(w, {wrong}); });
      refused("post", [&] { pgas::exposure x(w, {wrong}); });
    }
  });
}

TEST_CASE("groups: a target outside the group and a rank named twice are refused") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 1);
    pgas::exposure exposed{w, {team.rank()}};
    pgas::access epoch{w, {team.rank()}};
    if (team.size() > 1) {
      rank_t const other = (team.rank() + 1) % team.size();
      require_error(errc::outside_group, {me(team), "put", "rank " + std::to_string(other), "group"},
                    [&] { epoch.put(other, 0, 1); });
    }
    epoch.complete();
    exposed.wait();
    require_error(errc::invalid_argument, {me(team), "start", "twice"}, [&] { pgas::access a(w, {0, 0}); });
    require_error(errc::invalid_argument, {me(team), "post", "twice"}, [&] { pgas::exposure x(w, {0, 0}); });
  });
}

TEST_CASE("order: a call that the contract forbids is an error and not a deadlock") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 1);
    rank_t const self = team.rank();
    auto const refused = [&](std::string const& operation, std::string const& why, auto&& act) {
      require_error(errc::wrong_order, {me(team), operation, why}, act);
    };
    {
      pgas::lock_all epoch{w};
      refused("lock_all", "is open", [&] { pgas::lock_all again{w}; });
      refused("start", "is open", [&] { pgas::access a(w, {self}); });
      refused("fence", "is open", [&] { pgas::fence f{w}; });
      epoch.close();
      refused("close", "closed already", [&] { epoch.close(); });
      refused("put", "closed already", [&] { epoch.put(0, 0, 1); });
      refused("sync", "closed already", [&] { epoch.sync(); });
    }
    {
      pgas::exposure exposed{w, {self}};
      refused("post", "is open", [&] { pgas::exposure x(w, {self}); });
      refused("fence", "is open", [&] { pgas::fence f{w}; });
      pgas::access epoch{w, {self}};
      refused("start", "is open", [&] { pgas::access a(w, {self}); });
      epoch.complete();
      exposed.wait();
      refused("close", "closed already", [&] { exposed.wait(); });
      require(exposed.test(), "a closed exposure is not open");
    }
    {
      pgas::fence epoch{w};
      refused("fence", "is open", [&] { pgas::fence f{w}; });
      refused("post", "is open", [&] { pgas::exposure x(w, {self}); });
      refused("lock_all", "is open", [&] { pgas::lock_all l{w}; });
      epoch.close();
      refused("next", "closed already", [&] { epoch.next(); });
    }
  });
}

TEST_CASE("values and blocks of different sizes are refused") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 30);
    pgas::lock_all epoch{w};
    std::size_t volatile const too_few = 2;  // volatile, or the compiler sees the mistake and warns
    std::vector<int> three(3);
    std::vector<int> two(too_few);
    require_error(errc::invalid_argument, {me(team), "put", "3", "4"},
                  [&] { epoch.put(0, pgas::rows_of{.first = 0, .rows = 2, .cols = 2, .pitch = 5}, three); });
    require_error(errc::invalid_argument, {me(team), "get", "3", "4"},
                  [&] { epoch.get(0, pgas::rows_of{.first = 0, .rows = 2, .cols = 2, .pitch = 5}, three); });
    require_error(errc::invalid_argument, {me(team), "overlap"}, [&] {
      epoch.put(0, pgas::rows_of{.first = 0, .rows = 2, .cols = 2, .pitch = 1}, three.data(), 2);
    });
    require_error(errc::invalid_argument, {me(team), "get_accumulate", "2", "3"},
                  [&] { epoch.get_accumulate(0, 0, three, two); });
  });
}

TEST_CASE("blocks whose extent overflows are refused instead of wrapping around") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 30);
    pgas::lock_all epoch{w};
    std::vector<int> some(8);
    std::size_t const half = std::size_t{1} << 63U;
    // (rows - 1) * pitch + cols is 2 modulo 2^64, and rows * cols overflows as well.
    require_error(errc::out_of_range, {me(team), "put"}, [&] {
      epoch.put(0, pgas::rows_of{.first = 0, .rows = 3, .cols = 2, .pitch = half}, some.data(), half);
    });
    require_error(errc::out_of_range, {me(team), "get"}, [&] {
      epoch.get(0, pgas::rows_of{.first = 0, .rows = 3, .cols = 2, .pitch = half}, some.data(), half);
    });
  });
}

TEST_CASE("no space: a window larger than memory is refused on every rank, and the team goes on") {
  everywhere_and_clean([](auto& team) {
    for (std::size_t const size : {std::size_t{1} << 50U, ~std::size_t{0} / 8 + 2}) {
      require_error(errc::no_space, {me(team), "make_window"},
                    [&] { static_cast<void>(make_window<double>(team, size)); });
    }
    auto w = make_window<int>(team, 1);
    pgas::fence epoch{w};
    epoch.put(team.rank(), 0, 1);
  });
}

TEST_CASE(
    "sizes: a negative one is refused on every rank with the number that was given, and the team goes on") {
  everywhere_and_clean([](auto& team) {
    int const less = -3;
    auto const refused = [&](std::string const& operation, std::string const& what, auto&& act) {
      require_error(errc::invalid_argument, {me(team), operation, what}, act);
      team.barrier();
    };
    refused("make_window", "asks for -3 elements",
            [&] { static_cast<void>(make_window<double>(team, less)); });
    refused("make_window", "asks for -1 elements",
            [&] { static_cast<void>(make_window<char>(team, ~std::size_t{0})); });
    rank_t const last = team.size() - 1;
    refused("make_window", "rank " + std::to_string(last) + " asks for -3 elements",
            [&] { static_cast<void>(make_window<double>(team, team.rank() == last ? less : 4)); });
    refused("make_array", "no array of -3 x 4", [&] {
      static_cast<void>(pgas::make_array<int>(team, {less, 4}));
    });
    refused("make_array", "no array of -3 with",
            [&] { static_cast<void>(pgas::make_array<int>(team, less)); });
    refused("make_array", "halo -3", [&] {
      static_cast<void>(pgas::make_array<int>(team, 40, pgas::halo{.width = static_cast<std::size_t>(less)}));
    });
    auto w = make_window<int>(team, 40);
    refused("make_signals", "-3 tags",
            [&] { static_cast<void>(pgas::make_signals(w, static_cast<std::size_t>(less))); });
    pgas::lock_all epoch{w};
    std::vector<int> four(4);
    require_error(errc::out_of_range, {me(team), "get", "stride of -3 elements descends"},
                  [&] { epoch.get(0, pgas::strided(30, 4, static_cast<std::size_t>(less)), four); });
    require_error(errc::invalid_argument, {me(team), "put", "4 values given for -3 elements"},
                  [&] { epoch.put(0, pgas::strided(30, static_cast<std::size_t>(less), 1), four); });
  });
}

TEST_CASE("sizes: a negative one of a container is refused on every rank with the number that was given") {
  leftovers const before;
  run_on<process_model>(3, [](auto& team) {
    constexpr auto less = static_cast<std::size_t>(-3);
    auto const refused = [&](std::string const& operation, std::string const& what, auto&& act) {
      require_error(errc::invalid_argument, {me(team), operation, what}, act);
      team.barrier();
    };
    refused("make_heap", "asks for -3 elements",
            [&] { static_cast<void>(pgas::make_heap<int>(team, less)); });
    refused("make_heap", "asks for -3 pieces",
            [&] { static_cast<void>(pgas::make_heap<int>(team, 4, {.pieces = less})); });
    refused("make_map", "asks for -3 keys",
            [&] { static_cast<void>(pgas::make_map<int, int>(team, {.capacity = less})); });
    refused("make_queue", "asks for -3 cells",
            [&] { static_cast<void>(pgas::make_queue<int>(team, {.capacity = less})); });
    refused("make_vector", "asks for -3 elements",
            [&] { static_cast<void>(pgas::make_vector<int>(team, {.capacity = less})); });
    refused("make_work_stealing_queue", "offer -3 tasks",
            [&] { static_cast<void>(pgas::make_work_stealing_queue<int>(team, less)); });
    auto vector = pgas::make_vector<int>(team);
    refused("reserve", "asks for -3 elements", [&] { vector.reserve(less); });
  });
  before.check("after the errors");
}

TEST_CASE("no space: a window that is too large on one rank names that rank") {
  run_on<process_model>(3, [](auto& team) {
    require_error(errc::no_space, {"make_window", "bytes on rank 1 were asked for"}, [&] {
      static_cast<void>(make_window<double>(team, team.rank() == 1 ? std::size_t{1} << 50U : 5));
    });
    require_error(errc::no_space, {"make_window", "bytes on each of 3 ranks were asked for"},
                  [&] { static_cast<void>(make_window<double>(team, std::size_t{1} << 50U)); });
  });
}

TEST_CASE("errors on a sub-team name the rank in the job") {
  everywhere_and_clean(
      [](auto& team) {
        auto sub = team.split(0, -team.rank());
        auto w = make_window<int>(sub, 2);
        std::string const job_rank = "rank " + std::to_string(team.rank()) + ": ";
        pgas::lock_all epoch{w};
        require_error(errc::out_of_range, {job_rank, "put"}, [&] { epoch.put(0, 2, 1); });
        require_error(errc::out_of_range, {job_rank, "put"}, [&] { epoch.put(9, 0, 1); });
        require_error(errc::out_of_range, {job_rank, "world_rank"},
                      [&] { static_cast<void>(sub.world_rank(9)); });
        require_error(errc::wrong_order, {job_rank, "start"}, [&] { pgas::access a(w, {0}); });
        epoch.close();
        require_error(errc::wrong_order, {job_rank, "close"}, [&] { epoch.close(); });
        require_error(errc::invalid_argument, {job_rank, "start"}, [&] { pgas::access a(w, {0, 0}); });
      },
      {2, 3});
}

TEST_CASE("zero ranks, negative numbers of ranks and too many are refused before any rank starts") {
  leftovers const before;
  for_each_model([]<class Model>(Model) {
    for (rank_t const ranks : {0, -3}) {
      auto const e = error_of<Model>(ranks, [](auto&) {});
      CHECK_MESSAGE(e.has_value(), Model::name());
      if (e) {
        CHECK(e->code() == pgas::make_error_code(errc::invalid_argument));
        CHECK_MESSAGE(std::string(e->what()).find(std::to_string(ranks)) != std::string::npos,
                      std::string(e->what()));
      }
    }
  });
  auto const many = error_of<process_model>(1'000'000, [](auto&) {});
  CHECK((many && many->code() == pgas::make_error_code(errc::invalid_argument)));
  ::setenv("PGAS_RANKS", "several", 1);
  CHECK_THROWS_WITH_AS(pgas::run<pgas::backends::process_map>([](auto&) {}), doctest::Contains("several"),
                       pgas::error);
  ::unsetenv("PGAS_RANKS");
  before.check("refused");
}

TEST_CASE("an exception thrown by one rank ends the waits of all others, and run throws its text") {
  for (rank_t const thrower : {0, 1, 2}) {
    auto const who = "rank " + std::to_string(thrower) + " threw: lost interest";
    fails(3, errc::rank_failed, {who}, [thrower](auto& team) {
      if (team.rank() == thrower) throw std::runtime_error("lost interest");
      team.barrier();
    });
    fails(3, errc::rank_failed, {who}, [thrower](auto& team) {
      auto w = make_window<int>(team, 1);
      if (team.rank() == thrower) throw std::runtime_error("lost interest");
      pgas::exposure exposed{w, {thrower}};
      exposed.wait();
    });
    fails(3, errc::rank_failed, {who}, [thrower](auto& team) {
      if (team.rank() == thrower) throw std::runtime_error("lost interest");
      auto w = make_window<int>(team, 1);
    });
  }
  fails(2, errc::rank_failed, {"rank 1", "no std::exception"}, [](auto& team) {
    if (team.rank() == 1) throw 42;  // NOLINT
    team.barrier();
  });
}

TEST_CASE(
    "an exception that leaves an open epoch ends all ranks, and run throws the cause and not the symptom") {
  fails(3, errc::rank_failed, {"rank 1 threw: lost interest"}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    pgas::fence epoch{w};
    if (team.rank() == 1) throw std::runtime_error("lost interest");
    epoch.close();
  });
  fails(3, errc::rank_failed, {"rank 1 threw: lost interest"}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    rank_t const to = (team.rank() + 1) % team.size();
    rank_t const from = (team.rank() + 2) % team.size();
    pgas::exposure exposed{w, {from}};
    pgas::access epoch{w, {to}};
    epoch.put(to, 0, 1);
    if (team.rank() == 1) throw std::runtime_error("lost interest");
    epoch.complete();
    exposed.wait();
    team.barrier();
  });
  fails(3, errc::rank_failed, {"rank 1 threw: lost interest"}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    pgas::lock_all epoch{w};
    if (team.rank() == 1) throw std::runtime_error("lost interest");
    team.barrier();
  });
}

TEST_CASE("an uncaught error of this library keeps its code and its text") {
  fails(3, errc::out_of_range, {"rank 2: put: element 7 does not exist on rank 0, whose part has 5"},
        [](auto& team) {
          auto w = make_window<int>(team, 5);
          pgas::fence epoch{w};
          if (team.rank() == 2) epoch.put(0, 7, 1);
          epoch.close();
        });
}

TEST_CASE("an epoch that ends during a caught exception does not hang the other ranks") {
  fails(2, errc::rank_failed, {"rank 0 left fence"}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    try {
      pgas::fence epoch{w};
      if (team.rank() == 0) throw std::runtime_error("caught below");
    } catch (std::runtime_error const&) {}
    team.barrier();
  });
}

TEST_CASE("a lock that an exception leaves fails the job, even in a destructor during another exception") {
  fails(2, errc::rank_failed, {"rank 0 left lock"}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    struct leaves_a_lock {
      decltype(w)& on;
      ~leaves_a_lock() {
        try {
          pgas::lock const epoch{on, 0, pgas::exclusive};
          throw std::runtime_error("caught below");
        } catch (std::runtime_error const&) {}
      }
    };
    try {
      leaves_a_lock const leaves{w};
      if (team.rank() != 0) team.barrier();
      throw 1;
    } catch (int) {}
    team.barrier();
  });
}

TEST_CASE("a lock that an exception leaves in a thread without an exception before fails the job") {
  fails(2, errc::rank_failed, {"rank 0 left lock"}, [](auto& team) {
    auto w = make_window<int>(team, 1);
    if (team.rank() == 0) {
      std::thread([&] {
        try {
          pgas::lock const epoch{w, 0, pgas::exclusive};
          throw 1;
        } catch (int) {}
      }).join();
    }
    team.barrier();
  });
}

TEST_CASE("an epoch that opens and closes during unwinding behaves like any other") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 1);
    auto const put_to_next = [&] {
      pgas::fence epoch{w};
      epoch.put((team.rank() + 1) % team.size(), 0, 7);
    };
    struct at_the_end {
      decltype(put_to_next) const& act;
      ~at_the_end() { act(); }
    };
    try {
      at_the_end const puts{put_to_next};
      throw std::runtime_error("caught below");
    } catch (std::runtime_error const&) {}
    int const seen = w.local()[0];
    require(seen == 7, "the value put during unwinding arrives");
  });
}

TEST_CASE("an error in a destructor is thrown by the next call") {
  everywhere_and_clean([](auto& team) {
    auto w = make_window<int>(team, 1);
    {
      pgas::access epoch{w, {team.rank()}};
      {
        // The exposure ends while the access is open: an error, but a destructor cannot throw it.
        pgas::exposure exposed{w, {team.rank()}};
      }
      epoch.complete();
    }
    require_error(errc::wrong_order, {me(team), "wait", "access epoch"}, [&] { pgas::lock_all next{w}; });
    pgas::lock_all fine{w};  // the error is thrown once
  });
}

TEST_CASE("an error in a destructor is thrown when the rank ends, if no later call has thrown it") {
  fails(2, errc::wrong_order, {"rank 1: wait", "access epoch on the same window is still open"},
        [](auto& team) {
          auto w = make_window<int>(team, 1);
          if (team.rank() == 1) {
            pgas::access epoch{w, {1}};
            { pgas::exposure exposed{w, {1}}; }
            epoch.complete();
          }
        });
}

TEST_CASE("groups that never match are reported as a stable cycle of waits, with the ranks' numbers") {
  // Rank 0 waits for a post of rank 1, and rank 1 for one of rank 0: each takes the other for the target.
  fails<models_that_look>(
      2, errc::deadlock, {"rank 0 waits in", "rank 1 waits in", "window 0", "none of them can go on"},
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        rank_t const other = 1 - team.rank();
        pgas::access epoch{w, {other}};
        epoch.put(other, 0, 1);
      },
      8);
}

TEST_CASE("a wait for a rank that has returned ends with an error that says so") {
  fails<models_that_look>(
      3, errc::deadlock,
      {"rank 1 waits in run (start or end of the job)", "rank 2 waits in wait (window 0) for rank 1"},
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        if (team.rank() == 2) {
          pgas::exposure exposed{w, {1}};
          exposed.wait();
        }
      },
      8);
}

TEST_CASE("a rank that waits in a deadlock gets the error as its own") {
  using models_in_one_process = std::tuple<thread_model, scc_model>;
  for_each_model<models_in_one_process>([]<class Model>(Model) {
    std::string what;
    rank_t rank = -2;
    auto const failure = error_of<Model>(2, [&](auto& team) {
      if (team.rank() == 0) return;
      try {
        team.barrier();
      } catch (pgas::error const& e) {
        what = e.what();
        rank = e.rank();
        throw;
      }
    });
    CHECK(rank == 1);
    CHECK_MESSAGE(what.starts_with("rank 1: barrier: rank 0 waits in run"), Model::name(), ": ", what);
    REQUIRE(failure.has_value());
    CHECK_MESSAGE(std::string_view(failure->what()).starts_with("rank 0 waits in run"), Model::name(), ": ",
                  std::string(failure->what()));
  });
}

TEST_CASE("a fence that some ranks never reach is reported") {
  fails<models_that_look>(
      3, errc::deadlock, {"rank 0 waits in run (start or end of the job)", "waits in fence (window 0)"},
      [](auto& team) {
        auto w = make_window<int>(team, 1);
        if (team.rank() != 0) pgas::fence epoch{w};
      },
      8);
}

TEST_CASE("a rank whose process exits before its body returns is an error with its exit code") {
  leftovers const before;
  auto const e = error_of<process_model>(3, [](auto& team) {
    if (team.rank() == 1) std::_Exit(7);
    team.barrier();
  });
  REQUIRE(e.has_value());
  CHECK_MESSAGE(std::string(e->what()).find("rank 1 (process") != std::string::npos, std::string(e->what()));
  CHECK_MESSAGE(std::string(e->what()).find("exit code 7") != std::string::npos, std::string(e->what()));
  before.check("after the exit");
}
