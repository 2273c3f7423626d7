// SPDX-License-Identifier: BSL-1.0
// Misuse beside races, under the checker: right and wrong programs in pairs that differ by one call.
#include <doctest/doctest.h>

#include <array>
#include <initializer_list>
#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/pgas.hpp>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>

#include "support/models.hpp"
#include "support/ranks.hpp"

namespace {

using pgas::errc;
using pgas_test::require_error;
namespace b = pgas::backends;

/// A sanitizer sees one process, so its build has ranks that are threads only.
using process_here = pgas_test::PGAS_TEST_LIST::here<pgas_test::process_model>;
using checked_here = std::conditional_t<std::is_same_v<process_here, pgas_test::process_model>,
                                        b::checked<b::process_map>, b::checked<b::thread_map>>;

/// Runs body(team, is_right) on two ranks: the right program ends, and the wrong one is refused with this
/// code and a sentence that has all these pieces.
template <class Body>
void require_refusal(errc code, std::initializer_list<std::string> pieces, Body const& body,
                     std::source_location const& where = std::source_location::current()) {
  if (!pgas_test::chosen(checked_here::name)) return;
  pgas::run<checked_here>(2, [&](auto& team) { body(team, true); });
  require_error(
      code, pieces, [&] { pgas::run<checked_here>(2, [&](auto& team) { body(team, false); }); }, where);
}

}  // namespace

TEST_CASE("misuse: a rank that calls broadcast while another calls all_reduce gets both names") {
  require_refusal(errc::mismatch, {"broadcast", "all_reduce", "in the same order"},
                  [](auto& team, bool is_right) {
                    if (is_right || team.rank() == 0) {
                      static_cast<void>(team.broadcast(1, 0));
                    } else {
                      static_cast<void>(team.all_reduce(1));
                    }
                  });
}

TEST_CASE("misuse: ranks that call two collectives of elements in another order are refused") {
  require_refusal(
      errc::mismatch, {"this rank calls", "while rank", "in the same order"}, [](auto& team, bool is_right) {
        std::array<int, 2> const mine{1, 2};
        std::array<int, 4> all{};
        auto const gather = [&] { team.gather(std::span(mine), std::span(all), 0); };
        auto const reduce = [&] { team.reduce(std::span(mine), std::span(all).template first<2>(), 0); };
        if (is_right || team.rank() == 0) {
          gather();
          reduce();
        } else {
          reduce();
          gather();
        }
        team.barrier();
      });
}

TEST_CASE("misuse: ranks that name two roots of one broadcast are refused") {
  require_refusal(errc::mismatch, {"broadcast", "root"}, [](auto& team, bool is_right) {
    static_cast<void>(team.broadcast(1, is_right ? 0 : team.rank()));
    team.barrier();
  });
}

TEST_CASE("misuse: a put after the close of its lock is refused") {
  require_refusal(errc::wrong_order, {"put", "the epoch is closed already"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    pgas::lock epoch{w, 0, pgas::exclusive};
    if (!is_right) epoch.close();
    epoch.put(0, static_cast<std::size_t>(team.rank()), 1);
  });
}

TEST_CASE("misuse: a put to a rank that an access epoch does not name is refused") {
  require_refusal(errc::outside_group, {"put", "rank 0"}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 10);
    if (team.rank() == 1) {
      pgas::exposure epoch{w, {0}};
      epoch.wait();
    } else {
      pgas::access epoch{w, {1}};
      epoch.put(is_right ? 1 : 0, 0, 1);
    }
  });
}

TEST_CASE("misuse: an access epoch that opens inside a fence epoch of its window is refused") {
  require_refusal(errc::wrong_order, {"lock_all", "an access epoch of this rank on the window is open"},
                  [](auto& team, bool is_right) {
                    auto w = pgas::make_window<int>(team, 10);
                    pgas::fence outer{w};
                    if (is_right) outer.close();
                    pgas::lock_all const inner{w};
                  });
}

TEST_CASE("misuse: a halo exchange that begins before the end of the last one is refused") {
  require_refusal(errc::wrong_order, {"begin_exchange", "finish its last exchange"},
                  [](auto& team, bool is_right) {
                    auto a = pgas::make_array<int>(team, {32}, pgas::halo{.width = 1});
                    auto first = pgas::begin_exchange(a);
                    if (is_right) first.finish();
                    auto second = pgas::begin_exchange(a);
                    second.finish();
                  });
}

TEST_CASE("misuse: a rank that returns while another waits for its collective ends the job") {
  require_refusal(errc::deadlock, {"barrier"}, [](auto& team, bool is_right) {
    if (is_right || team.rank() == 0) team.barrier();
  });
}
