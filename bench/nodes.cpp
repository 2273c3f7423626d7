// SPDX-License-Identifier: BSL-1.0
// Accesses of the library between two nodes, beside the same calls of MPI in the same processes. Each rank is
// a node of its own. Built with each MPI, whose launcher starts it.
#include <mpi.h>

#include <cstdlib>
#include <pgas/backends/cluster.hpp>
#include <pgas/backends/mpi.hpp>
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
template <class Team>
void measure_heat(Team& team, bench::meter& m, std::string const& name) {
  constexpr std::size_t side = 1024;
  constexpr std::size_t pitch = side + 8;
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
      edges.begin(copy);
      edges.finish(copy);
      bench::relax(edges.cells(1 - copy) + strip.origin, edges.cells(copy) + strip.origin, strip.count(),
                   side, strip.row);
      copy = 1 - copy;
    });
  };
  auto halos = pgas::make_notified_halo(now);
  auto const ours = [&](auto const& exchange) {
    return bench::everybody("", [&] {
      exchange();
      {
        auto const u = pgas::stage(now, pgas::read_only);
        auto const v = pgas::stage(next, pgas::write_only);
        bench::relax(v.data(), u.data(), now.local_rows(), side, now.shape().pitch());
      }
      std::swap(now, next);
    });
  };
  auto const in_epochs = [&] { pgas::exchange_halo(now); };
  auto const notified = [&] { halos.exchange(now); };
  m.measure({.row = "far_heat", .mode = name},
            {ours(in_epochs), by_hand("RMA", by_puts), by_hand("messages", by_messages)});
  m.measure({.row = "far_heat_notified", .mode = name},
            {ours(notified), by_hand("RMA", by_puts), by_hand("messages", by_messages)});
  team.barrier();
}

/// The rows of one backend, which runs in this program of MPI.
template <class Backend>
void measure_on(bench::settings const& given, bench::meeting_place const& place) {
  pgas::run<Backend>(given.ranks, [&](auto& team) {
    auto const poll = [backend = team.state()->backend]() mutable { backend.check("poll"); };
    bench::meter m(
        given, place, team.rank(), team.size(), [&team] { team.barrier(); }, poll);
    std::string const name(Backend::name);
    if (team.size() == 2) far_accesses(team, m, name).all();
    measure_meetings(team, m, name);
    if (team.size() == 2) measure_heat(team, m, name);
    if (team.rank() == 0) m.end();
  });
}

template <class... Backends>
void measure_on_each(int argc, char** argv) {
  bench::settings const given(argc, argv);
  bench::meeting_place const place(given);
  (measure_on<Backends>(given, place), ...);
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("PGAS_NODE_SIZE", "1", 1);
  MPI_Init(&argc, &argv);
  measure_on_each<pgas::backends::cluster, pgas::backends::mpi>(argc, argv);
  bench::mpi::end();
  return 0;
}
