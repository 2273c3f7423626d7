// SPDX-License-Identifier: BSL-1.0
// Accesses of the library within a node and between nodes, beside a loop by hand and the same calls of MPI in
// the same processes. Between nodes each rank is a node of its own. Built with each MPI, whose launcher
// starts it.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <pgas/backends/cluster.hpp>
#include <pgas/backends/mpi.hpp>
#include <pgas/backends/process_map.hpp>
#include <pgas/exchange_halo.hpp>
#include <pgas/notified_halo.hpp>
#include <pgas/pgas.hpp>

#include "peers/mpi_stencil.hpp"

namespace {

using bench::mib;

template <class Team>
class far_accesses {
 public:
  far_accesses(Team& team, bench::meter& m, std::string name)
      : team_(team),
        m_(m),
        name_(std::move(name)),
        bytes_(pgas::make_window<std::byte>(team, mib)),
        words_(pgas::make_window<std::uint64_t>(team, bench::kib)),
        allocated_((team.barrier(), mib)),  // a rank that makes a window of MPI serves no other one
        created_(mib),
        other_(1 - team.rank()) {
    allocated_.clear(mib);
    team.barrier();
  }

  void all() {
    measure();
    team_.barrier();  // the same for a rank that frees one
  }

 private:
  void measure() {
    pgas::lock_all epoch{bytes_};
    pgas::lock_all word_epoch{words_};
    auto const block = epoch.to(other_);
    auto const word = word_epoch.to(other_);
    std::span<std::byte const> const from(private_.data(), mib);
    MPI_Win_lock_all(0, allocated_.get());
    MPI_Win_lock_all(0, created_.get());
    row(
        "far_put", 8,
        [=] {
          word.put(0, 7);
          word.flush();
        },
        [this](MPI_Win win) { put(8, win); });
    row(
        "far_get", 8, [=] { bench::keep(word.get(0)); },
        [this](MPI_Win win) {
          MPI_Get(&found_, 8, MPI_BYTE, other_, 0, 8, MPI_BYTE, win);
          MPI_Win_flush(other_, win);
        });
    row(
        "far_fetch_add", 8, [=] { bench::keep(word.fetch_add(0, 1)); },
        [this](MPI_Win win) {
          MPI_Fetch_and_op(&one_, &found_, MPI_UINT64_T, other_, 0, MPI_SUM, win);
          MPI_Win_flush(other_, win);
        });
    row(
        "far_put", mib,
        [=] {
          block.put(0, from);
          block.flush();
        },
        [this](MPI_Win win) { put(mib, win); });
    at_random([=](std::size_t i, std::uint64_t value) { word.put(i, value); }, [=] { word.flush(); });
    MPI_Win_unlock_all(created_.get());
    MPI_Win_unlock_all(allocated_.get());
  }
  /// Many puts to random places, and then one flush.
  template <class Put, class Flush>
  void at_random(Put put, Flush flush) {
    constexpr std::size_t puts = 10'000;
    auto const next = [this] {
      return (random_ = random_ * 6364136223846793005U + 1442695040888963407U) >> 33U;
    };
    m_.measure({.row = "far_random_puts", .mode = name_, .bytes = 8, .per_call = puts, .unit = "op/s"},
               {bench::origin_only(m_, "",
                                   [=] {
                                     for (std::size_t i = 0; i < puts; ++i) put(next() % bench::kib, i);
                                     flush();
                                   }),
                bench::origin_only(m_, "RMA", [=, this] {
                  MPI_Win const win = allocated_.get();
                  for (std::size_t i = 0; i < puts; ++i) {
                    MPI_Put(&one_, 8, MPI_BYTE, other_, static_cast<MPI_Aint>(next() % bench::kib * 8), 8,
                            MPI_BYTE, win);
                  }
                  MPI_Win_flush(other_, win);
                })});
  }
  void put(std::size_t bytes, MPI_Win win) const {
    MPI_Put(private_.data(), static_cast<int>(bytes), MPI_BYTE, other_, 0, static_cast<int>(bytes), MPI_BYTE,
            win);
    MPI_Win_flush(other_, win);
  }
  /// By hand in a window that MPI has allocated, and in one over the program's memory.
  template <class Ours, class ByHand>
  void row(char const* name, std::size_t bytes, Ours ours, ByHand by_hand) {
    m_.measure({.row = name, .mode = name_, .bytes = bytes},
               {bench::origin_only(m_, "", ours),
                bench::origin_only(m_, "RMA", [=, this] { by_hand(allocated_.get()); }),
                bench::origin_only(m_, "RMA, own memory", [=, this] { by_hand(created_.get()); })});
  }

  Team& team_;
  bench::meter& m_;
  std::string name_;
  decltype(pgas::make_window<std::byte>(std::declval<Team&>(), 1)) bytes_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 1)) words_;
  bench::mpi::allocated_window allocated_;
  bench::mpi::created_window created_;
  bench::buffer private_;
  int other_;
  std::uint64_t one_ = 1;
  std::uint64_t found_ = 0;
  std::uint64_t random_ = 1;
};

/// Accesses to the other rank of the same node, beside a loop over plain memory.
class near_accesses {
 public:
  template <class Team>
  static void measure(Team& team, bench::meter& m, std::string const& name) {
    constexpr std::size_t elements = 1024;  // in the first level cache, so that instructions are measured
    auto words = pgas::make_window<std::uint64_t>(team, elements);
    auto bytes = pgas::make_window<std::byte>(team, mib);
    bench::buffer const own;
    std::span<std::byte const> const from(own.data(), mib);
    pgas::rank_t const other = 1 - team.rank();
    auto* const base = reinterpret_cast<std::uint64_t*>(part_of(words, other));
    std::byte* const byte_base = part_of(bytes, other);
    if (base == nullptr) return;  // to MPI each rank is a node
    auto const row = [&](char const* what, std::size_t size, std::size_t calls, auto ours, auto by_hand) {
      m.measure({.row = what, .mode = name, .bytes = size, .per_call = static_cast<double>(calls)},
                {bench::origin_only(m, "", repeated(ours, calls)),
                 bench::origin_only(m, "loop", repeated(by_hand, calls))});
    };
    {
      pgas::lock_all epoch{words};
      pgas::lock_all byte_epoch{bytes};
      auto const word = epoch.to(other);
      auto const block = byte_epoch.to(other);
      row(
          "near_put", 8, elements, [=](std::size_t i) { word.put(i, i); },
          [=](std::size_t i) { base[i] = i; });
      row(
          "near_get", 8, elements, [=](std::size_t i) { bench::keep(word.get(i)); },
          [=](std::size_t i) { bench::keep(std::uint64_t{base[i]}); });
      row(
          "near_fetch_add", 8, elements, [=](std::size_t i) { bench::keep(word.fetch_add(i, 1)); },
          [=](std::size_t i) {
            // relaxed: pairs with nothing; as the library's does
            bench::keep(std::atomic_ref(base[i]).fetch_add(1, std::memory_order_relaxed));
          });
      row(
          "near_put", mib, 1, [=](std::size_t) { block.put(0, from); },
          [=](std::size_t) { std::memcpy(byte_base, from.data(), from.size()); });
    }
    meetings(team, m, words, name);
  }

 private:
  template <class Window>
  static std::byte* part_of(Window const& w, pgas::rank_t rank) {
    auto const& parts = w.state().segment;
    if constexpr (requires { parts.part_if_near(rank); }) {
      return parts.part_if_near(rank);
    } else {
      return parts.part(rank);
    }
  }
  template <class Step>
  static auto repeated(Step step, std::size_t times) {
    return [step, times] {
      for (std::size_t i = 0; i < times; ++i) step(i);
      bench::forget();
    };
  }
  /// By hand, a rank stores to the other's line and looks at its own.
  template <class Team, class Window>
  static void meetings(Team& team, bench::meter& m, Window const& words, std::string const& name) {
    bench::raw::word_ref const mine = m.free_lines().at(static_cast<std::size_t>(team.rank()));
    bench::raw::word_ref const others = m.free_lines().at(static_cast<std::size_t>(1 - team.rank()));
    pgas::fence epoch{words};
    m.measure({.row = "near_fence", .mode = name}, {bench::everybody("", [&] { epoch.next(); }),
                                                    bench::everybody("loop", [=, round = 0UL]() mutable {
                                                      // release, acquire: pair with each other
                                                      others.store(++round, std::memory_order_release);
                                                      bench::raw::spin_until(mine, round);
                                                    })});
  }
};

/// Meetings of all ranks, each of which is a node.
template <class Team>
void measure_meetings(Team& team, bench::meter& m, std::string const& name) {
  auto const row = [&](char const* what, auto ours, auto by_hand) {
    m.measure({.row = what, .mode = name}, {bench::everybody("", ours), bench::everybody("RMA", by_hand)});
  };
  auto window = pgas::make_window<std::uint64_t>(team, bench::kib);
  team.barrier();
  bench::mpi::allocated_window const by_hand(bench::kib);
  row(
      "far_barrier", [&] { team.barrier(); }, [] { MPI_Barrier(MPI_COMM_WORLD); });
  pgas::fence epoch{window};
  MPI_Win_fence(MPI_MODE_NOPRECEDE, by_hand.get());
  row(
      "far_fence", [&] { epoch.next(); }, [&] { MPI_Win_fence(0, by_hand.get()); });
  MPI_Win_fence(MPI_MODE_NOSUCCEED, by_hand.get());
}

/// The stencil of heat.cpp, by the library and in two ways of MPI. A strip of rows is a node's share.
///
/// Each way has arrays of its own, which the other ways drive out of the caches, as no program does that
/// steps on. The first sweep afterwards takes twice as long as later ones, so a sample is several steps.
template <class Team>
void measure_heat(Team& team, bench::meter& m, std::string const& name) {
  constexpr std::size_t side = 1024;
  constexpr std::size_t pitch = side + 8;
  constexpr int steps = 8;
  auto now = pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1});
  auto next = pgas::make_array<double>(team, {side, side}, pgas::halo{.width = 1});
  for (auto* each : {&now, &next}) {
    auto const cells = pgas::stage(*each, pgas::write_only);
    for (std::size_t i = 0; i < now.local_rows(); ++i) std::fill_n(&cells(i, 0), side, 1.0);
  }
  team.barrier();
  bench::mpi::strip const strip{m.rank(), m.ranks(), side, pitch, pitch + 8, 1, side};
  bench::mpi::put_and_fence by_puts(strip, 2);
  bench::mpi::send_and_receive by_messages(strip, 2);
  auto const by_hand = [&](std::string_view way, auto& edges) {
    return bench::everybody(way, [&edges, &strip, copy = std::size_t{0}]() mutable {
      for (int step = 0; step < steps; ++step) {
        edges.begin(copy);
        edges.finish(copy);
        bench::relax(edges.cells(1 - copy) + strip.origin, edges.cells(copy) + strip.origin, strip.count(),
                     side, strip.row);
        copy = 1 - copy;
      }
    });
  };
  auto halos = pgas::make_notified_halo(now);
  auto const ours = [&](auto const& exchange) {
    return bench::everybody("", [&] {
      for (int step = 0; step < steps; ++step) {
        exchange();
        {
          auto const u = pgas::stage(now, pgas::read_only);
          auto const v = pgas::stage(next, pgas::write_only);
          bench::relax(v.data(), u.data(), now.local_rows(), side, now.shape().pitch());
        }
        std::swap(now, next);
      }
    });
  };
  auto const in_epochs = [&] { pgas::exchange_halo(now); };
  auto const notified = [&] { halos.exchange(now); };
  m.measure({.row = "far_heat", .mode = name, .per_call = steps},
            {ours(in_epochs), by_hand("RMA", by_puts), by_hand("messages", by_messages)});
  m.measure({.row = "far_heat_notified", .mode = name, .per_call = steps},
            {ours(notified), by_hand("RMA", by_puts), by_hand("messages", by_messages)});
  team.barrier();
}

/// Runs measure(team, meter) on the ranks of one backend, which are this program of MPI.
template <class Backend, class Measure>
void measure_by(bench::settings const& given, bench::meeting_place const& place, Measure const& measure) {
  pgas::run<Backend>(given.ranks, [&](auto& team) {
    auto const poll = [backend = team.state()->backend]() mutable { backend.check("poll"); };
    bench::meter m(
        given, place, team.rank(), team.size(), [&team] { team.barrier(); }, poll);
    measure(team, m);
  });
}

/// The rows of one backend between nodes.
template <class Backend>
void measure_on(bench::settings const& given, bench::meeting_place const& place) {
  measure_by<Backend>(given, place, [](auto& team, bench::meter& m) {
    std::string const name(Backend::name);
    if (team.size() == 2) far_accesses(team, m, name).all();
    measure_meetings(team, m, name);
    if (team.size() == 2) measure_heat(team, m, name);
    if (team.rank() == 0) m.end();
  });
}

/// The rows within a node: on `cluster`, and on `process_map`, which process 0 starts while process 1 sleeps.
void measure_on_a_node(bench::settings const& given, bench::meeting_place const& place) {
  auto const measure = [](auto& team, bench::meter& m) {
    near_accesses::measure(team, m, std::string(team.state()->backend.name));
  };
  ::cpu_set_t all_cores;
  ::sched_getaffinity(0, sizeof all_cores, &all_cores);
  measure_by<pgas::backends::cluster>(given, place, measure);
  ::sched_setaffinity(0, sizeof all_cores, &all_cores);  // a meter gives each rank a core
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Request over = MPI_REQUEST_NULL;
  if (process == 0) measure_by<pgas::backends::process_map>(given, place, measure);
  MPI_Ibarrier(MPI_COMM_WORLD, &over);
  for (int is_over = 0; is_over == 0; ::usleep(10'000)) MPI_Test(&over, &is_over, MPI_STATUS_IGNORE);
}

template <class... Backends>
void measure_on_each(int argc, char** argv) {
  bench::settings const given(argc, argv);
  bench::meeting_place const place(given);
  if (given.ranks == 2) measure_on_a_node(given, place);
  ::setenv("PGAS_NODE_SIZE", "1", 1);
  (measure_on<Backends>(given, place), ...);
}

}  // namespace

int main(int argc, char** argv) {
  ::unsetenv("PGAS_NODE_SIZE");
  MPI_Init(&argc, &argv);
  measure_on_each<pgas::backends::cluster, pgas::backends::mpi>(argc, argv);
  bench::mpi::end();
  return 0;
}
