// SPDX-License-Identifier: BSL-1.0
// Calls of functions at the other rank: a round trip beside two hand-overs of a line, calls in flight, calls
// of one way, long arguments, and updates of elements beside atomic operations.
#include <pgas/async/calls.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

/// Two ranks hand a line to each other by hand: the least that a round trip can cost.
template <class Meter>
bench::way hand_overs(Meter const& m) {
  auto const there = m.free_lines().at(0);
  auto const back = m.free_lines().at(1);
  return bench::everybody("two hand-overs", [there, back, rank = m.rank(), i = std::uint64_t{0}]() mutable {
    ++i;
    if (rank == 0) {
      there.store(i, std::memory_order_release);
      bench::raw::spin_until(back, i);
    } else if (rank == 1) {
      bench::raw::spin_until(there, i);
      back.store(i, std::memory_order_release);
    }
  });
}

template <class Team>
void measure(Team& team, bench::meter& m) {
  auto calls = pgas::make_calls(team);
  std::uint64_t count = 0;
  auto const shared = calls.share(count);
  constexpr auto add = [](std::uint64_t& sum, std::uint64_t x) { return sum += x; };
  pgas::rank_t const other = team.size() - 1;
  std::uint64_t const one = 1;

  m.measure({.row = "call", .mode = "", .bytes = 8},
            {bench::origin_only(m, "", [&] { bench::keep(calls.call(other, add, shared, one).value()); }),
             hand_overs(m)});
  m.measure({.row = "call_64", .mode = "", .bytes = 8, .per_call = 64}, {bench::origin_only(m, "", [&] {
              std::vector<pgas::call_request<std::uint64_t>> all;
              all.reserve(64);
              for (int i = 0; i < 64; ++i) all.push_back(calls.call(other, add, shared, one));
              for (auto& each : all) bench::keep(each.value());
            })});
  // The functions of a run have ended when the answer of a last call is here: calls keep their order.
  m.measure({.row = "call_one_way", .mode = "", .bytes = 8}, {{"", [&](std::size_t n) {
                                                                 if (m.rank() != 0) return;
                                                                 constexpr auto first = [](std::uint64_t x) {
                                                                   bench::keep(x);
                                                                 };
                                                                 for (; n > 0; --n)
                                                                   calls.send(other, first, one);
                                                                 calls.call(other, [] {}).wait();
                                                               }}});
  m.measure({.row = "call_one_way_shared", .mode = "", .bytes = 8}, {{"", [&](std::size_t n) {
                                                                        if (m.rank() != 0) return;
                                                                        for (; n > 0; --n)
                                                                          calls.send(other, add, shared, one);
                                                                        calls.call(other, [] {}).wait();
                                                                      }}});
  std::vector<double> const values(bench::mib / sizeof(double));
  for (std::size_t const bytes :
       {64 * std::size_t{1}, bench::kib, 4 * bench::kib, 64 * bench::kib, 256 * bench::kib}) {
    auto const some = std::span(values).first(bytes / sizeof(double));
    m.measure({.row = "call_span", .mode = "", .bytes = bytes}, {bench::origin_only(m, "", [&] {
                bench::keep(calls
                                .call(
                                    other, [](std::span<double const> all) { return all.back(); }, some)
                                .value());
              })});
  }
  auto window = pgas::make_window<std::uint64_t>(team, 1024);
  auto const elements = calls.share(window);
  std::size_t at = 0;
  auto const part = window.part(other);
  m.measure({.row = "call_update", .mode = "", .bytes = 8},
            {bench::origin_only(m, "",
                                [&] {
                                  calls.update(elements, {other, static_cast<std::int64_t>(++at & 1023U)},
                                               [](std::uint64_t x) { return x + 1; });
                                }),
             bench::origin_only(m, "compare_exchange", [&] {
               std::atomic_ref const element(part[++at & 1023U]);
               std::uint64_t before = element.load(std::memory_order_relaxed);
               while (!element.compare_exchange_weak(before, before + 1, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed)) {}
             })});
  calls.finish();
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { measure(team, m); });
}
