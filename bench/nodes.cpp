// SPDX-License-Identifier: BSL-1.0
// Accesses of the library between two nodes, beside the same calls of MPI in the same processes. Each rank is
// a node of its own. Built with each MPI, whose launcher starts it.
#include <mpi.h>

#include <cstdlib>
#include <pgas/backends/mpi.hpp>
#include <pgas/pgas.hpp>

#include "peers/mpi_support.hpp"

namespace {

using bench::mib;

template <class Team>
class far_accesses {
 public:
  far_accesses(Team& team, bench::meter& m, std::string name)
      : m_(m),
        name_(std::move(name)),
        bytes_(pgas::make_window<std::byte>(team, mib)),
        words_(pgas::make_window<std::uint64_t>(team, bench::kib)),
        by_hand_(mib),
        win_(by_hand_.get()),
        other_(1 - team.rank()) {
    by_hand_.clear(mib);
    team.barrier();
  }

  void all() {
    pgas::lock_all epoch{bytes_};
    pgas::lock_all word_epoch{words_};
    auto const block = epoch.to(other_);
    auto const word = word_epoch.to(other_);
    std::span<std::byte const> const from(private_.data(), mib);
    MPI_Win_lock_all(0, win_);
    row(
        "far_put", 8,
        [=] {
          word.put(0, 7);
          word.flush();
        },
        [this] { put(8); });
    row(
        "far_get", 8, [=] { bench::keep(word.get(0)); },
        [this] {
          MPI_Get(&found_, 8, MPI_BYTE, other_, 0, 8, MPI_BYTE, win_);
          MPI_Win_flush(other_, win_);
        });
    row(
        "far_fetch_add", 8, [=] { bench::keep(word.fetch_add(0, 1)); },
        [this] {
          MPI_Fetch_and_op(&one_, &found_, MPI_UINT64_T, other_, 0, MPI_SUM, win_);
          MPI_Win_flush(other_, win_);
        });
    row(
        "far_put", mib,
        [=] {
          block.put(0, from);
          block.flush();
        },
        [this] { put(mib); });
    MPI_Win_unlock_all(win_);
  }

 private:
  void put(std::size_t bytes) const {
    MPI_Put(private_.data(), static_cast<int>(bytes), MPI_BYTE, other_, 0, static_cast<int>(bytes), MPI_BYTE,
            win_);
    MPI_Win_flush(other_, win_);
  }
  template <class Ours, class ByHand>
  void row(char const* name, std::size_t bytes, Ours ours, ByHand by_hand) {
    m_.measure({.row = name, .mode = name_, .bytes = bytes},
               {bench::origin_only(m_, "", ours), bench::origin_only(m_, "RMA", by_hand)});
  }

  bench::meter& m_;
  std::string name_;
  decltype(pgas::make_window<std::byte>(std::declval<Team&>(), 1)) bytes_;
  decltype(pgas::make_window<std::uint64_t>(std::declval<Team&>(), 1)) words_;
  bench::mpi::allocated_window by_hand_;
  MPI_Win win_;
  bench::buffer private_;
  int other_;
  std::uint64_t one_ = 1;
  std::uint64_t found_ = 0;
};

/// The rows of one backend, which runs in this program of MPI.
template <class Backend>
void measure_on(bench::settings const& given, bench::meeting_place const& place) {
  pgas::run<Backend>(given.ranks, [&](auto& team) {
    bench::meter m(
        given, place, team.rank(), team.size(), [&team] { team.barrier(); }, bench::mpi::poll);
    far_accesses<std::remove_reference_t<decltype(team)>>(team, m, std::string(Backend::name)).all();
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
  measure_on_each<pgas::backends::mpi>(argc, argv);
  MPI_Finalize();
  return 0;
}
