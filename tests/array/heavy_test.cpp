// SPDX-License-Identifier: BSL-1.0
// The checks of assertion level heavy, beyond those of the level of all other tests. The level is a part of
// each name of the library, so this unit launches ranks by itself.
// test: addresses
#define PGAS_ASSERTIONS heavy
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <pgas/backends/scc.hpp>
#include <pgas/global_array.hpp>
#include <pgas/pgas.hpp>
#include <pgas/stage.hpp>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

/// Ends the rank unless act() throws errc::out_of_range with each of these pieces in its message.
template <class Act>
void require_refused(std::initializer_list<char const*> pieces, Act&& act) {
  try {
    act();
  } catch (pgas::error const& e) {
    if (e.code() != pgas::make_error_code(pgas::errc::out_of_range)) throw;
    for (std::string const piece : pieces) {
      if (std::string(e.what()).find(piece) == std::string::npos) {
        throw std::runtime_error("the message lacks '" + piece + "': " + e.what());
      }
    }
    return;
  }
  throw std::runtime_error("an index past the staged cells was not refused");
}

template <class Body>
void on_two_ranks(Body const& body) {
  CHECK_NOTHROW(pgas::run<pgas::backends::thread_map>(2, body));  // cells in place
  CHECK_NOTHROW(pgas::run<pgas::backends::scc>(2, body));         // copies of cells
}

}  // namespace

TEST_CASE(
    "heavy: an index of a staged array past its ghost cells throws, and the message names the valid "
    "indices") {
  on_two_ranks([](auto& team) {
    auto a = pgas::make_array<int>(team, {8, 6}, pgas::halo{.width = 1});
    auto const cells = pgas::stage(a, pgas::read_write);
    cells(-1, 0) = 1;
    cells(4, 5) = 2;
    std::string const rank = "rank " + std::to_string(team.rank());
    require_refused({rank.c_str(), "index -2 of dimension 0", "0 to 3", "1 before and 1 after"},
                    [&] { static_cast<void>(cells(-2, 0)); });
    require_refused({"index 5 of dimension 0", "wider halo"}, [&] { static_cast<void>(cells(5, 0)); });
    require_refused({"index 8 of dimension 1", "0 to 5"}, [&] { static_cast<void>(cells(0, 8)); });
  });
}

TEST_CASE("heavy: an index of a staged array of one dimension is checked in both notations") {
  on_two_ranks([](auto& team) {
    auto a = pgas::make_array<int>(team, 10);
    auto const cells = pgas::stage(a, pgas::read_write);
    cells[4] = 1;
    require_refused({"index 5 of dimension 0", "0 to 4"}, [&] { static_cast<void>(cells[5]); });
    require_refused({"index -1 of dimension 0"}, [&] { static_cast<void>(cells(-1)); });
  });
}

TEST_CASE("heavy: a copy that is staged to be overwritten has no ghost cells to index") {
  CHECK_NOTHROW(pgas::run<pgas::backends::scc>(2, [](auto& team) {
    auto a = pgas::make_array<int>(team, {8, 6}, pgas::halo{.width = 1});
    auto const cells = pgas::stage(a, pgas::write_only);
    cells(0, 0) = 1;
    require_refused({"index -1 of dimension 0", "0 before and 0 after"},
                    [&] { static_cast<void>(cells(-1, 0)); });
  }));
}

TEST_CASE("heavy: an access is refused while another thread of the rank is in a fence") {
  std::atomic<bool> is_refused = false;
  CHECK_NOTHROW(pgas::run<pgas::backends::thread_map>(2, [&is_refused](auto& team) {
    auto w = pgas::make_window<int>(team, 2);
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    pgas::fence epoch{w};
    if (team.rank() == 1) {  // it keeps the first thread of rank 0 in its fence until the second is refused
      while (!is_refused && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      epoch.next();
      return;
    }
    std::thread other([&] {
      while (!is_refused && std::chrono::steady_clock::now() < deadline) {
        try {
          epoch.put(0, 0, 1);
        } catch (pgas::error const& e) {
          is_refused = std::string(e.what()).find("put: another thread of this rank") != std::string::npos;
        }
      }
    });
    epoch.next();
    other.join();
  }));
  CHECK(is_refused.load());
}
