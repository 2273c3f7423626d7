// SPDX-License-Identifier: BSL-1.0
// Misuse beside races, under the checker: right and wrong programs in pairs that differ by one call.
// test: addresses, threads in full, plain lines
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <pgas/backends/checked.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/backends/scc.hpp>
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
using on_processes = std::conditional_t<std::is_same_v<process_here, pgas_test::process_model>,
                                        b::checked<b::process_map>, b::checked<b::thread_map>>;

constexpr bool has_sanitizer = !std::is_same_v<process_here, pgas_test::process_model>;

/// Runs body(team, is_right) on two ranks of each backend that checks: the right program ends, and the wrong
/// one is refused with this code and a sentence that has all these pieces.
template <class... Backends, class Body>
void require_refusal_on(errc code, std::initializer_list<std::string> pieces, Body const& body,
                        std::source_location const& where) {
  auto const on = [&]<class Backend>(std::type_identity<Backend>) {
    if (!pgas_test::chosen(Backend::name)) return;
    pgas::run<Backend>(2, [&](auto& team) { body(team, true); });
    require_error(
        code, pieces, [&] { pgas::run<Backend>(2, [&](auto& team) { body(team, false); }); }, where);
  };
  (on(std::type_identity<Backends>{}), ...);
}
template <class Body>
void require_refusal(errc code, std::initializer_list<std::string> pieces, Body const& body,
                     std::source_location const& where = std::source_location::current()) {
  require_refusal_on<on_processes, b::scc>(code, pieces, body, where);
}

/// The line that a report names for a call `below` lines below this one. With a sanitizer it is any place: a
/// test with lines would take a minute there.
std::string line(unsigned below, std::source_location const& here = std::source_location::current()) {
  if (has_sanitizer) return "";
  return "misuse_test.cpp:" + std::to_string(here.line() + below);
}

}  // namespace

TEST_CASE("misuse: ranks that call broadcast and all_reduce get both ranks, names and lines") {
  require_refusal(errc::mismatch,
                  {"rank 0 calls broadcast of 4 bytes with root 0 at " + line(4),
                   "rank 1 calls all_reduce of 4 bytes by op::sum", "at " + line(5), "in the same order"},
                  [](auto& team, bool is_right) {
                    if (is_right || team.rank() == 0) {
                      static_cast<void>(team.broadcast(1, 0));
                    } else {
                      static_cast<void>(team.all_reduce(1));
                    }
                  });
}

TEST_CASE("misuse: ranks that call two collectives of elements in another order get both lines") {
  require_refusal(errc::mismatch, {"rank 0 calls gather of", line(4), "rank 1 calls reduce of", line(6)},
                  [](auto& team, bool is_right) {
                    std::array<int, 2> const mine{1, 2};
                    std::array<int, 4> all{};
                    auto const gather = [&] { team.gather(std::span(mine), std::span(all), 0); };
                    auto const reduce = [&] {
                      team.reduce(std::span(mine), std::span(all).template first<2>(), 0);
                    };
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

TEST_CASE("misuse: ranks that give elements of two sizes to one collective get both sizes") {
  require_refusal(errc::mismatch, {"calls broadcast of 8 bytes", "calls broadcast of 4 bytes", line(4)},
                  [](auto& team, bool is_right) {
                    std::array<int, 2> all{};
                    auto const values = std::span(all).first(is_right || team.rank() == 0 ? 2 : 1);
                    team.broadcast(values, 0);
                  });
}

TEST_CASE("misuse: ranks that name two roots of one broadcast get both roots") {
  require_refusal(errc::mismatch, {"rank 0 calls broadcast", "with root 0 at " + line(2), "with root 1"},
                  [](auto& team, bool is_right) {
                    static_cast<void>(team.broadcast(1, is_right ? 0 : team.rank()));
                    team.barrier();
                  });
}

TEST_CASE("misuse: a rank in a fence while another is in a barrier gets both lines") {
  require_refusal(errc::mismatch, {"calls fence on window 0 at " + line(5), "calls barrier at " + line(8)},
                  [](auto& team, bool is_right) {
                    auto w = pgas::make_window<int>(team, 10);
                    pgas::fence epoch{w};
                    if (is_right || team.rank() == 0) {
                      epoch.next();
                      team.barrier();
                    } else {
                      team.barrier();
                      epoch.next();
                    }
                    epoch.close();
                  });
}

TEST_CASE("misuse: ranks in fences of two windows get both windows") {
  require_refusal(errc::mismatch, {"calls fence on window 0", "calls fence on window 1"},
                  [](auto& team, bool is_right) {
                    auto v = pgas::make_window<int>(team, 10);
                    auto w = pgas::make_window<int>(team, 10);
                    pgas::fence a{is_right || team.rank() == 0 ? v : w};
                    a.close();
                    pgas::fence b{is_right || team.rank() == 0 ? w : v};
                    b.close();
                  });
}

TEST_CASE("misuse: a rank that makes a window while another reduces gets both lines") {
  require_refusal(errc::mismatch, {"calls make_window of", "at " + line(4), "calls reduce of", line(6)},
                  [](auto& team, bool is_right) {
                    int sum = 0;
                    if (is_right || team.rank() == 0) {
                      auto w = pgas::make_window<int>(team, 10);
                    } else {
                      team.reduce(std::span(&sum, 1), std::span(&sum, 1), 0);
                    }
                  });
}

TEST_CASE("misuse: ranks of a part of the job get their numbers in job and team") {
  require_refusal(errc::mismatch, {"rank 1 (rank 0 of the team) calls", "rank 0 (rank 1 of the team) calls"},
                  [](auto& team, bool is_right) {
                    auto const turned = team.split(0, -team.rank());
                    if (is_right || team.rank() == 0) {
                      turned.barrier();
                    } else {
                      static_cast<void>(turned.all_reduce(1));
                    }
                  });
}

TEST_CASE("misuse: a source that is unmapped before the put is complete is found") {
  if (has_sanitizer) return;  // which reports the read of freed memory itself
  require_refusal(errc::race, {"rank 0 has freed the", line(8)}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<int>(team, 1000);
    pgas::fence epoch{w};
    if (team.rank() == 0) {
      void* const made = ::mmap(nullptr, 4000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      auto const give_back = [made] { ::munmap(made, 4000); };
      std::span<int const> const source(static_cast<int*>(made), 1000);

      epoch.put(1, 0, source);
      if (!is_right) give_back();
      epoch.flush_local(1);
      if (is_right) give_back();
    }
    epoch.close();
  });
}

TEST_CASE("misuse: a small source that is freed before the put is complete is found") {
  if (has_sanitizer) return;
  require_refusal(errc::race, {"rank 0 has", "freed", line(7)}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<long>(team, 10);
    pgas::fence epoch{w};
    if (team.rank() == 0) {
      auto source = std::make_unique<std::array<long, 10>>();
      source->fill(7);

      epoch.put(1, 0, std::span<long const>(*source));
      if (!is_right) source.reset();
      epoch.flush_local(1);
    }
    epoch.close();
  });
}

TEST_CASE("misuse: a destination that is freed before the get is complete is found") {
  if (has_sanitizer) return;
  require_refusal(errc::race, {"rank 0 has", "freed", line(6)}, [](auto& team, bool is_right) {
    auto w = pgas::make_window<long>(team, 10);
    pgas::fence epoch{w};
    if (team.rank() == 0) {
      auto into = std::make_unique<std::array<long, 10>>();

      epoch.get(1, 0, std::span<long>(*into));
      if (!is_right) into.reset();
      epoch.flush_local(1);
    }
    epoch.close();
  });
}

TEST_CASE("misuse: a put after the close of its lock is refused, and its line is named") {
  require_refusal(errc::wrong_order, {"put", "closed already", "see " + line(5)},
                  [](auto& team, bool is_right) {
                    auto w = pgas::make_window<int>(team, 10);
                    pgas::lock epoch{w, 0, pgas::exclusive};
                    if (!is_right) epoch.close();
                    epoch.put(0, static_cast<std::size_t>(team.rank()), 1);
                  });
}

TEST_CASE("misuse: a put to a rank that an access epoch does not name is refused, and its line is named") {
  require_refusal(errc::outside_group, {"put", "rank 0", "see " + line(7)}, [](auto& team, bool is_right) {
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
  std::string const opens = "see " + line(7);
  require_refusal(errc::wrong_order,
                  {"lock_all", "an access epoch of this rank on the window is open", opens},
                  [](auto& team, bool is_right) {
                    auto w = pgas::make_window<int>(team, 10);
                    pgas::fence outer{w};
                    if (is_right) outer.close();
                    pgas::lock_all const inner{w};
                  });
}

TEST_CASE("misuse: a halo exchange that begins before the end of the last one is refused") {
  require_refusal(errc::wrong_order, {"begin_exchange", "finish its last exchange", "see " + line(5)},
                  [](auto& team, bool is_right) {
                    auto a = pgas::make_array<int>(team, {32}, pgas::halo{.width = 1});
                    auto first = pgas::begin_exchange(a);
                    if (is_right) first.finish();
                    auto second = pgas::begin_exchange(a);
                    second.finish();
                  });
}

TEST_CASE("misuse: a rank that returns while another waits for its collective ends the job") {
  require_refusal(errc::deadlock, {"barrier", "see rank 0", line(1)}, [](auto& team, bool is_right) {
    if (is_right || team.rank() == 0) team.barrier();
  });
}

TEST_CASE("misuse: ranks that wait for each other's post are named with both lines") {
  require_refusal(errc::deadlock, {"complete", "see rank 0", "at " + line(6), "at " + line(9)},
                  [](auto& team, bool is_right) {
                    auto w = pgas::make_window<int>(team, 10);
                    pgas::rank_t const other = 1 - team.rank();
                    if (team.rank() == 0) {
                      if (is_right) pgas::exposure(w, {other}).wait();
                      pgas::access(w, {other}).close();
                      if (!is_right) pgas::exposure(w, {other}).wait();
                    } else {
                      pgas::access(w, {other}).close();
                      pgas::exposure(w, {other}).wait();
                    }
                  });
}
