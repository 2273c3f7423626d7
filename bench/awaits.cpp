// SPDX-License-Identifier: BSL-1.0
// Operations of 8 bytes that a coroutine awaits, and that a completion token ends: beside the plain access,
// and beside a handler that is posted by hand.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <pgas/async/asio.hpp>
#include <pgas/async/scheduler.hpp>

#include "program.hpp"
#include "shapes.hpp"

namespace {

constexpr std::size_t elements = 512;

template <class Epoch>
pgas::task<> await_gets(Epoch& epoch, pgas::rank_t from, std::size_t n) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < n; ++i) {
    co_await epoch.rget(from, i % elements, value);
    bench::keep(value);
  }
}
template <class Epoch>
pgas::task<> await_puts(Epoch& epoch, pgas::rank_t to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) co_await epoch.rput(to, i % elements, std::uint64_t{i});
}

template <class Team>
void measure(Team& team, bench::meter& m) {
  auto window = pgas::make_window<std::uint64_t>(team, elements);
  pgas::lock_all epoch{window};
  pgas::rank_t const other = team.size() - 1;
  bool const works = team.rank() == 0;

  m.measure({.row = "await_get", .mode = "", .bytes = 8}, {{"",
                                                            [&](std::size_t n) {
                                                              if (works)
                                                                pgas::sync_wait(team,
                                                                                await_gets(epoch, other, n));
                                                            }},
                                                           {"get", [&](std::size_t n) {
                                                              if (!works) return;
                                                              for (std::size_t i = 0; i < n; ++i)
                                                                bench::keep(epoch.get(other, i % elements));
                                                            }}});
  m.measure({.row = "await_put", .mode = "", .bytes = 8},
            {{"",
              [&](std::size_t n) {
                if (works) pgas::sync_wait(team, await_puts(epoch, other, n));
              }},
             {"put", [&](std::size_t n) {
                if (!works) return;
                for (std::size_t i = 0; i < n; ++i) epoch.put(other, i % elements, std::uint64_t{i});
                epoch.flush(other);
              }}});

  boost::asio::io_context context;
  pgas::scheduler tasks(team);
  pgas::progress_in loop(context, tasks);
  std::uint64_t value = 0;
  std::uint64_t handled = 0;
  auto const run = [&context] {
    context.restart();
    context.run();
  };
  constexpr std::size_t at_once = 64;
  m.measure({.row = "token_get", .mode = "", .bytes = 8, .per_call = at_once},
            {bench::origin_only(m, "",
                                [&] {
                                  for (std::size_t i = 0; i < at_once; ++i) {
                                    pgas::complete(loop, epoch.rget(other, i, value),
                                                   [&handled](std::exception_ptr const&) { ++handled; });
                                  }
                                  run();
                                }),
             bench::origin_only(m, "get and post", [&] {
               for (std::size_t i = 0; i < at_once; ++i) {
                 value = epoch.get(other, i);
                 boost::asio::post(context, [&handled] { ++handled; });
               }
               run();
             })});
  bench::keep(handled);
}

}  // namespace

int main(int argc, char** argv) {
  bench::measure_on_ranks(argc, argv, [](auto& team, bench::meter& m) { measure(team, m); });
  return 0;
}
